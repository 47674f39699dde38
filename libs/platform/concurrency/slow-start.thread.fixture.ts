/** Tasks of a thread that takes three seconds to load. */
export { double } from './worker-pool.thread.fixture';

Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_000);
