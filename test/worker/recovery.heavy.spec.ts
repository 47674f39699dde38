// The same with leases that expire by themselves.
import './recovery.spec';
