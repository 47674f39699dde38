/** Tasks of a thread that takes a second to load. */
export { double } from './worker-pool.thread.fixture';

Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
