// Runs the same tests with an export of a million records.
import './telemetry-crash.spec';
