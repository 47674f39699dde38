import { setMaxListeners } from 'node:events';

export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Detaches the signal from the others, which may live much longer. */
  unlink(): void;
}

/**
 * Creates a signal that is aborted with the first of the given signals, for the same reason. Ignores undefined signals.
 * Call `unlink` when done: unlike with `AbortSignal.any`, the given signals then no longer keep this one alive.
 */
export function linkedSignal(...sources: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const signals = sources.filter((signal) => signal !== undefined);
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // each piece of work adds a listener: this is not a leak
  const abort = (event: Event): void => controller.abort((event.target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    else signal.addEventListener('abort', abort);
  }
  return {
    signal: controller.signal,
    unlink: () => signals.forEach((signal) => signal.removeEventListener('abort', abort)),
  };
}

/**
 * Waits for work until the signal is aborted. The work continues, and its errors are ignored.
 *
 * @throws the signal's reason, at once, when it is aborted; else the error of the work
 */
export function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}
