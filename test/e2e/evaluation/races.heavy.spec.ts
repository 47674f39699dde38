// Runs the same races more often.
import './races.spec';
