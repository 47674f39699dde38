// The same faults, for a minute.
import './judge-faults.spec';
