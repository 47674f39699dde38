// Runs the same races more often.
import './human-score-write-back-races.spec';
