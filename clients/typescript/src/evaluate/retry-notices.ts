import { isTransient, retryListeners } from '../core/retry.js';

/** Retries in a row that are not worth a notice: about a second. */
const SILENT_RETRIES = 3;
const INTERVAL_MS = 10_000;

/** Says what is being retried, at most every 10 s. @returns a function that ends this */
export function sayRetries(say: (notice: string) => void): () => void {
  let saidAt = 0;
  const listener = (error: unknown, retries: number): void => {
    if (retries < SILENT_RETRIES || Date.now() - saidAt < INTERVAL_MS || !isTransient(error)) return;
    saidAt = Date.now();
    say(`${(error as Error).message.replace(/\.?$/, '.')} Retrying.`);
  };
  retryListeners.add(listener);
  return () => retryListeners.delete(listener);
}
