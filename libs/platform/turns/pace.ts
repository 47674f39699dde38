import { performance } from 'node:perf_hooks';
import { setImmediate as immediate } from 'node:timers/promises';

/** Milliseconds of computing after which others have their turn. Several computations may each have one in a row. */
const SLICE_MS = 4;

/**
 * Keeps a long computation from holding the event loop, and ends it where nobody waits for it any more: one for the
 * whole of it, with `if (pace.isDue()) await pace.rest()` in its loops. What is computed does not depend on when that is.
 */
export class Pace {
  private until = performance.now() + SLICE_MS;

  constructor(readonly signal?: AbortSignal) {}

  isDue(): boolean {
    return performance.now() >= this.until;
  }

  /** @throws the signal's reason when it is aborted */
  async rest(): Promise<void> {
    await immediate();
    this.signal?.throwIfAborted();
    this.until = performance.now() + SLICE_MS;
  }
}
