// The same in both formats.
import './record-export.spec';
