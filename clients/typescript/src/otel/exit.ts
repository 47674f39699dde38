import type { SpanQueue } from './span-queue.js';

/** Longest time that the end of the process waits for the service, in milliseconds. */
const EXIT_FLUSH_MS = 5_000;

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Sends what waits before the process ends: when nothing is left to do, and on SIGTERM and SIGINT. The exit status stays the
 * same: without other listeners, the process then ends by the same signal. A second signal ends it at once.
 *
 * @returns a function that undoes this
 */
export function flushAtExit(queue: SpanQueue): () => void {
  if (typeof process === 'undefined' || typeof process.on !== 'function') return () => undefined;
  const flush = (): Promise<void> =>
    queue.stats.queued > 0 ? queue.flushOrDrop(EXIT_FLUSH_MS) : Promise.resolve();
  const onBeforeExit = (): void => void flush();
  const onSignal = (signal: NodeJS.Signals): void => {
    process.removeListener(signal, onSignal);
    const isOurs = process.listenerCount(signal) === 0;
    void flush().then(() => {
      if (isOurs) process.kill(process.pid, signal);
    });
  };
  process.on('beforeExit', onBeforeExit);
  // first, while the listeners that others have for once are still registered
  for (const signal of SIGNALS) process.prependListener(signal, onSignal);
  return () => {
    process.removeListener('beforeExit', onBeforeExit);
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  };
}
