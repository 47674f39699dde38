// The same crash, in an export of a million records.
import './telemetry-crash.spec';
