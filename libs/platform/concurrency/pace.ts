import { performance } from 'node:perf_hooks';
import { setImmediate as immediate } from 'node:timers/promises';

/** Lets the event loop handle other work before the caller continues. */
export const yieldToEventLoop = (): Promise<void> => immediate();

/** Milliseconds of computing before a yield. Several computations may each use one slice in a row. */
const SLICE_MS = 4;

/**
 * Keeps a long computation from blocking the event loop, and stops it when its signal is aborted. Use one instance for
 * the whole computation, with `if (pace.isDue()) await pace.rest()` in its loops.
 */
export class Pace {
  private until = performance.now() + SLICE_MS;

  constructor(readonly signal?: AbortSignal) {}

  isDue(): boolean {
    return performance.now() >= this.until;
  }

  /** @throws the signal's reason when it is aborted */
  async rest(): Promise<void> {
    await yieldToEventLoop();
    this.signal?.throwIfAborted();
    this.until = performance.now() + SLICE_MS;
  }
}

/** Runs the steps of a computation that pauses often, and lets the event loop handle other work in between. */
export async function inSlices<Result>(steps: Generator<void, Result>): Promise<Result> {
  const pace = new Pace();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (pace.isDue()) await pace.rest();
  }
}
