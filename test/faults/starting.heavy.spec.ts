// The same for every process.
import './starting.spec';
