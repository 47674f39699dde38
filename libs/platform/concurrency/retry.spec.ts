import fc from 'fast-check';
import { backOffMs, pause, retry } from './retry';

const OUTAGE = new Error('unavailable');
const isOutage = (error: unknown): boolean => error === OUTAGE;

/** Fails with these errors, one after another, and then succeeds. */
const failing = (...errors: unknown[]) =>
  jest.fn(() => (errors.length > 0 ? Promise.reject(errors.shift() as Error) : Promise.resolve('done')));

describe('retry', () => {
  it('repeats the work until it succeeds', async () => {
    const work = failing(OUTAGE, OUTAGE);
    expect(await retry(work, { isRetryable: isOutage, firstDelayMs: 1 })).toBe('done');
    expect(work).toHaveBeenCalledTimes(3);
  });

  it('immediately throws an error that a retry cannot fix', async () => {
    const work = failing(OUTAGE, new TypeError('a mistake'));
    await expect(retry(work, { isRetryable: isOutage, firstDelayMs: 0 })).rejects.toThrow('a mistake');
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('throws the last error when no attempts are left', async () => {
    const work = failing(new Error('first'), new Error('second'), new Error('third'));
    await expect(retry(work, { attempts: 2, firstDelayMs: 0 })).rejects.toThrow('second');
  });

  it("stops waiting, and throws the signal's reason, on an abort", async () => {
    const controller = new AbortController();
    const reason = new Error('cancelled');
    const waiting = retry(failing(OUTAGE), { firstDelayMs: 1e9, maxDelayMs: 1e9, signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await expect(waiting).rejects.toBe(reason);
    await expect(pause(1e9, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

describe('the wait before a retry', () => {
  it.each([
    [1, 500],
    [2, 1_000],
    [6, 16_000],
    [7, 30_000],
    [5_000, 30_000],
  ])('has a bound that doubles: attempt %i, %i ms', (attempt, bound) => {
    expect(backOffMs(attempt, { random: () => 0 })).toBe(0);
    expect(backOffMs(attempt, { retryAfterMs: undefined, random: () => 0.5 })).toBe(bound / 2);
    expect(backOffMs(attempt, { retryAfterMs: 0, random: () => 1 })).toBe(bound);
  });

  it('has the bounds of the policy', () => {
    const bounds = { firstDelayMs: 10, maxDelayMs: 25, random: () => 1 };
    expect([1, 2, 3, 4].map((attempt) => backOffMs(attempt, bounds))).toEqual([10, 20, 25, 25]);
  });

  it('is never shorter than Retry-After, and differs between callers', () => {
    const attempts = fc.integer({ min: 1, max: 10_000 });
    const retryAfterMs = fc.double({ min: 0.001, max: 1e12, noNaN: true });
    fc.assert(
      fc.property(
        attempts,
        retryAfterMs,
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (attempt, ms, chance) => {
          const least = backOffMs(attempt, { retryAfterMs: ms, random: () => 0 });
          const more = backOffMs(attempt, { retryAfterMs: ms, random: () => chance });
          expect(least).toBe(ms);
          expect(more).toBeGreaterThan(ms);
          expect(more).toBeLessThanOrEqual(ms * 1.25 + 500);
          expect(more - ms).toBeLessThanOrEqual(30_001);
        },
      ),
    );
  });

  it('is infinite when Retry-After is', () => {
    expect(backOffMs(1, { retryAfterMs: Infinity, random: () => 0 })).toBe(Infinity);
  });
});
