import { ConnectionError, ServiceError, withRetries, type RetryPolicy } from '#client';

const busy = (retryAfter?: number): ServiceError =>
  new ServiceError(
    new Response(null, { status: 503, ...(retryAfter && { headers: { 'retry-after': `${retryAfter}` } }) }),
    '',
  );

describe('withRetries', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  /** Returns the times of the attempts in milliseconds, if all of them fail. */
  async function attemptsAt(error: Error, policy: RetryPolicy, random: number): Promise<number[]> {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    const start = Date.now();
    const times: number[] = [];
    const ended = withRetries(() => {
      times.push(Date.now() - start);
      return Promise.reject(error);
    }, policy).catch((reason: unknown) => reason);
    await jest.advanceTimersByTimeAsync(3_600_000);
    expect(await ended).toBe(error);
    return times;
  }

  it('waits up to 250 ms, and up to twice as long before each further attempt, but at most 20 s', async () => {
    const times = await attemptsAt(new ConnectionError('gone'), { maxRetries: 9 }, 1);
    const waits = times.slice(1).map((time, index) => time - times[index]!);
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]);
    expect(await attemptsAt(new ConnectionError('gone'), {}, 0.5)).toEqual([0, 125, 375, 875, 1875]);
  });

  it('never waits for less than Retry-After, and not at all for one of more than two minutes', async () => {
    expect(await attemptsAt(busy(3), { maxRetries: 2 }, 0)).toEqual([0, 3000, 6000]);
    expect(await attemptsAt(busy(3), { maxRetries: 1 }, 1)).toEqual([0, 3000]);
    expect(await attemptsAt(busy(121), {}, 0)).toEqual([0]);
  });

  it('begins no attempt after retryForMs', async () => {
    expect(await attemptsAt(busy(10), { retryForMs: 30_000 }, 0)).toEqual([0, 10_000, 20_000, 30_000]);
    expect(await attemptsAt(busy(200), { retryForMs: 300_000 }, 0)).toEqual([0, 200_000]);
  });

  it('retries only what `isRetryable` admits', async () => {
    expect(await attemptsAt(new TypeError('a bug'), {}, 0)).toEqual([0]);
    expect(await attemptsAt(busy(), { isRetryable: () => false }, 0)).toEqual([0]);
  });
});
