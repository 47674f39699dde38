import { ConnectionError, ServiceError } from './errors.js';

/** Longest wait between two attempts, in milliseconds, unless Retry-After asks for more. */
const MAX_DELAY_MS = 20_000;
const FIRST_DELAY_MS = 250;
/** Longest Retry-After that is waited for without `retryForMs`, in seconds. */
const MAX_RETRY_AFTER_S = 120;

export interface RetryPolicy {
  /** Retries after the first attempt. Without effect if `retryForMs` is set. */
  maxRetries?: number;
  /** Time limit of the retries, from the first attempt on, in milliseconds. An attempt that has begun may end later. */
  retryForMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Tells whether to try again after this error. By default after all that {@link isTransient} names. */
  isRetryable?: (error: unknown) => boolean;
  /** Called before each retry, with the error and the number of retries before it. */
  onRetry?: ((error: unknown, retries: number) => void) | undefined;
}

/** Tells whether the same request can succeed later: no answer, 408, 429, 5xx, and 409 with Retry-After. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  if (!(error instanceof ServiceError)) return false;
  const { status, retryAfter } = error;
  return status === 408 || status === 429 || status >= 500 || (status === 409 && retryAfter !== null);
}

/**
 * Calls `attempt` until it succeeds, with exponential back-off and full jitter between the attempts, and never sooner than
 * Retry-After says. Rejects with the last error, or with the signal's reason.
 */
export async function withRetries<T>(attempt: () => Promise<T>, policy: RetryPolicy = {}): Promise<T> {
  const { maxRetries = 4, retryForMs, signal, isRetryable = isTransient } = policy;
  const start = Date.now();
  for (let retries = 0; ; retries += 1) {
    signal?.throwIfAborted();
    try {
      return await attempt();
    } catch (error) {
      signal?.throwIfAborted();
      if (!isRetryable(error)) throw error;
      const asked = (error instanceof ServiceError && error.retryAfter) || 0;
      const left = retryForMs === undefined ? Infinity : start + retryForMs - Date.now();
      const isOver =
        retryForMs === undefined
          ? retries >= maxRetries || asked > MAX_RETRY_AFTER_S
          : left <= 0 || asked * 1000 > left;
      if (isOver) throw error;
      policy.onRetry?.(error, retries);
      await sleep(Math.max(asked * 1000, Math.min(left, Math.random() * backOff(retries))), signal);
    }
  }
}

const backOff = (retries: number): number => Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** retries);

/** Waits for a promise. Rejects with the signal's reason if it aborts first. */
export async function withSignal<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Waits. Rejects with the signal's reason if it aborts first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
