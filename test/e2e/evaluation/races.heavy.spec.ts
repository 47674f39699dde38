// The same races, more often.
import './races.spec';
