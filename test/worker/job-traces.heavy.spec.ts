// Runs the same tests with the queue in Redis as well.
import './job-traces.spec';
