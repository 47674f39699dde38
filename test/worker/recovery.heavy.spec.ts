// Runs the same tests with leases that expire by themselves.
import './recovery.spec';
