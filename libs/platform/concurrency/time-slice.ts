import { performance } from 'node:perf_hooks';
import { setImmediate as immediate } from 'node:timers/promises';

/** Lets the event loop handle other work before the caller continues. */
export const yieldToEventLoop = (): Promise<void> => immediate();

/** Length of a time slice in milliseconds. Several computations may each use one slice in a row. */
const SLICE_MS = 4;

/**
 * The current time slice of a long computation. Keeps the computation from blocking the event loop, and stops it when its
 * signal is aborted. Use one instance for the whole computation, with `if (slice.isOver()) await slice.yield()` in its
 * loops.
 */
export class TimeSlice {
  private until: number;

  constructor(
    readonly signal?: AbortSignal,
    private readonly sliceMs = SLICE_MS,
  ) {
    this.until = performance.now() + sliceMs;
  }

  /** Returns whether the computation should yield. */
  isOver(): boolean {
    return performance.now() >= this.until;
  }

  /**
   * Lets the event loop handle other work, and then begins the next slice.
   *
   * @throws the signal's reason when it is aborted
   */
  async yield(): Promise<void> {
    await yieldToEventLoop();
    this.signal?.throwIfAborted();
    this.until = performance.now() + this.sliceMs;
  }
}

/** Runs the steps of a computation that pauses often, and lets the event loop handle other work in between. */
export async function inSlices<Result>(steps: Generator<void, Result>): Promise<Result> {
  const slice = new TimeSlice();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (slice.isOver()) await slice.yield();
  }
}
