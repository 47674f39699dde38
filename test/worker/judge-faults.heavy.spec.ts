// Runs the same tests with an outage of a minute.
import './judge-faults.spec';
