import { setMaxListeners } from 'node:events';

/** A signal of one's own that follows others. */
export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Lets go of the others, which may live much longer than this one. */
  unlink(): void;
}

/** A signal that is aborted with the first of these, for its reason. */
export function linkedSignal(...signals: AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // one for each target under way, which is no leak
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
