// Runs the same tests with both formats.
import './record-export.spec';
