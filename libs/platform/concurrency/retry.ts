import { setTimeout as sleep } from 'node:timers/promises';

/** Maximum random extension of a wait that the server requests, as a share of it, so that callers do not return at once. */
const RETRY_AFTER_JITTER = 0.25;

/** Bounds of the waits between attempts, in ms. */
export interface BackOff {
  /** Longest wait after the first attempt; the bound doubles with each attempt. 0 retries at once. Default 500. */
  firstDelayMs?: number;
  /** Longest wait after any attempt. Default 30 s. */
  maxDelayMs?: number;
}

export interface RetryPolicy extends BackOff {
  /** Maximum number of attempts, including the first. Unlimited by default: then pass a signal. */
  attempts?: number;
  /** Tells whether another attempt may succeed. By default every error is retryable. */
  isRetryable?: (error: unknown) => boolean;
  /** Ends the wait between attempts. */
  signal?: AbortSignal;
}

/**
 * Runs `work` until it succeeds. `work` must be safe to repeat.
 *
 * @throws the last error when it is not retryable or no attempts are left; the signal's reason when it is aborted
 */
export async function retry<Result>(work: () => Promise<Result>, policy: RetryPolicy): Promise<Result> {
  const { attempts = Infinity, isRetryable = () => true, signal } = policy;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= attempts || !isRetryable(error)) throw error;
      if (policy.firstDelayMs !== 0) await pause(backOffMs(attempt, policy), signal);
    }
  }
}

/**
 * Returns how long to wait before the next attempt, in ms: a random time up to a bound that doubles with each attempt
 * ("full jitter"), and never less than the server requests.
 *
 * @param attempt number of attempts made so far, from 1
 */
export function backOffMs(
  attempt: number,
  {
    firstDelayMs = 500,
    maxDelayMs = 30_000,
    retryAfterMs = 0,
    random = Math.random,
  }: BackOff & {
    /** Wait that the server requests (`Retry-After`), in ms. */
    retryAfterMs?: number | undefined;
    /** Source of random numbers from 0 to 1. */
    random?: () => number;
  } = {},
): number {
  const bound = Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1));
  if (retryAfterMs <= 0) return random() * bound;
  return retryAfterMs + random() * Math.min(bound, retryAfterMs * RETRY_AFTER_JITTER + firstDelayMs);
}

/** Waits for `ms` milliseconds. Throws the signal's own reason when it is aborted, unlike Node's timer. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}
