import { performance } from 'node:perf_hooks';
import { setImmediate as immediate } from 'node:timers/promises';

/** Milliseconds of computing after which others have their turn. */
const SLICE_MS = 8;

/**
 * Keeps a long computation from holding the event loop: `if (pace.isDue()) await pace.rest()` in its loop lets
 * everything else go on. What is computed does not depend on when that is.
 */
export class Pace {
  private until = performance.now() + SLICE_MS;

  isDue(): boolean {
    return performance.now() >= this.until;
  }

  async rest(): Promise<void> {
    await immediate();
    this.until = performance.now() + SLICE_MS;
  }
}
