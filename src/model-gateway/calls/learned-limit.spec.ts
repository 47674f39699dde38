import { setImmediate as turn } from 'node:timers/promises';
import { FairLimiter, type Owner } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';
import { decreased, LearnedLimit } from './learned-limit';
import type { LearnedLimitRepository, ReadLimit, SharedLimit } from './learned-limit.repository';

/** The row that processes share. Each read or write takes a turn of the event loop. */
class SharedRow {
  limit: SharedLimit | null = null;
  now = Date.now();
  isUnavailable = false;

  find(): Promise<ReadLimit> {
    return this.access((limit) => limit);
  }

  change(
    _: string,
    rule: (limit: SharedLimit | null, now: number) => SharedLimit | null,
  ): Promise<ReadLimit> {
    return this.access(rule);
  }

  private async access(
    rule: (limit: SharedLimit | null, now: number) => SharedLimit | null,
  ): Promise<ReadLimit> {
    await turn();
    if (this.isUnavailable) throw new Error('The database is unavailable.');
    this.limit = rule(this.limit, this.now);
    return { limit: this.limit, now: this.now };
  }
}

const settled = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await turn();
};
const callOf = (signal = new AbortController().signal, owner: Owner = 'w') => ({
  signal,
  owner,
  hasStarted: false,
  queue: <Result>(waiting: (until: AbortSignal) => Promise<Result>) => waiting(signal),
});
const ended = (outcome: 'answered' | 'limited' | 'failed', retryAfterMs?: number) => ({
  ...{ outcome, elapsedMs: 0, retryAfterMs },
});

describe('LearnedLimit', () => {
  let row: SharedRow;
  const newProcess = (): LearnedLimit => new LearnedLimit('llm:m', row as unknown as LearnedLimitRepository);
  let limit: LearnedLimit;
  beforeEach(() => {
    row = new SharedRow();
    limit = newProcess();
  });

  /** Sends this many requests at once. The judge returns 429 for the first, and the others fail. */
  const meetLimit = async (count: number, retryAfterMs?: number): Promise<void> => {
    for (let one = 0; one < count; one++) await limit.acquire(callOf());
    row.now += 1;
    limit.release(ended('limited', retryAfterMs));
    for (let one = 1; one < count; one++) limit.release(ended('failed'));
    await settled();
  };
  /** Queues a request, and records its name when it is admitted. */
  const queued = (order: string[], name: string, call: object = {}): Promise<void> =>
    limit.acquire({ ...callOf(), ...call }).then(() => void order.push(name));

  it('admits every request until the judge returns 429', async () => {
    for (let one = 0; one < 100; one++) await limit.acquire(callOf());
    expect(row.limit).toBeNull();
  });

  it('limits all processes to half of the requests in flight at the first 429', async () => {
    await meetLimit(8);
    expect(row.limit).toMatchObject({ maxInFlight: 4 });
    const other = newProcess();
    for (let one = 0; one < 4; one++) await other.acquire(callOf());
    let isAdmitted = false;
    void other.acquire(callOf()).then(() => (isAdmitted = true));
    await settled();
    expect(isAdmitted).toBe(false);
    other.release(ended('failed'));
    await settled();
    expect(isAdmitted).toBe(true);
  });

  it('grows by one with each round of answers while requests wait', async () => {
    await meetLimit(4);
    await limit.acquire(callOf());
    await limit.acquire(callOf());
    const order: string[] = [];
    for (const name of ['a', 'b', 'c']) void queued(order, name);
    await settled();
    expect(order).toEqual([]);
    limit.release(ended('answered'));
    limit.release(ended('answered'));
    await settled();
    expect(row.limit).toMatchObject({ maxInFlight: 3 });
    expect(order).toEqual(['a', 'b', 'c']);
  });

  it('does not grow while no request waits', async () => {
    await meetLimit(4);
    for (let one = 0; one < 10; one++) {
      await limit.acquire(callOf());
      limit.release(ended('answered'));
    }
    await settled();
    expect(row.limit).toMatchObject({ maxInFlight: 2 });
  });

  it('admits started targets first, and lets organizations and their workspaces take turns', async () => {
    await meetLimit(2);
    await limit.acquire(callOf());
    const order: string[] = [];
    const a1 = { orgId: 'a', workspaceId: 'a1' };
    for (const name of ['a1-1', 'a1-2']) void queued(order, name, { owner: a1 });
    void queued(order, 'a2-1', { owner: { orgId: 'a', workspaceId: 'a2' } });
    for (const name of ['b-1', 'b-2']) void queued(order, name, { owner: { orgId: 'b', workspaceId: 'b' } });
    void queued(order, 'started', { owner: a1, hasStarted: true });
    for (let one = 1; one <= 6; one++) {
      await settled();
      limit.release(ended('failed'));
    }
    await settled();
    expect(order).toEqual(['started', 'a1-1', 'b-1', 'a2-1', 'b-2', 'a1-2']);
  });

  it('leaves the queue when the signal is aborted, and frees its place', async () => {
    await meetLimit(2);
    await limit.acquire(callOf());
    const controller = new AbortController();
    const leaving = limit.acquire(callOf(controller.signal));
    await settled();
    controller.abort(new Error('no longer wanted'));
    await expect(leaving).rejects.toThrow('no longer wanted');
    await expect(limit.acquire(callOf(AbortSignal.abort(new Error('before'))))).rejects.toThrow('before');
    limit.release(ended('failed'));
    await limit.acquire(callOf());
  });

  it('frees a place that was granted while the worker had no slot to continue', async () => {
    await meetLimit(2);
    await limit.acquire(callOf());
    const limiter = new FairLimiter({ concurrency: 1 });
    const late = new AbortController();
    const { signal } = late;
    const lent = limiter.run('worker', signal, (slot) =>
      limit.acquire({
        ...callOf(signal),
        queue: (waiting) => slot.lend(signal, () => waiting(signal)),
      }),
    );
    void limiter.run('worker', undefined, () => new Promise<void>(() => undefined));
    await settled();
    limit.release(ended('failed'));
    await settled();
    late.abort(new Error('too late'));
    await expect(lent).rejects.toThrow('too late');
    await limit.acquire(callOf());
  });

  it('admits no request before `Retry-After` is over, and keeps no process alive meanwhile', async () => {
    const setTimer = jest.spyOn(globalThis, 'setTimeout');
    await meetLimit(1, 60_000);
    const controller = new AbortController();
    const waiting = [limit, newProcess()].map((one) => one.acquire(callOf(controller.signal)));
    await settled();
    const timers = setTimer.mock.results.map(({ value }) => value as NodeJS.Timeout);
    expect(timers.map((timer) => timer.hasRef())).toEqual([false, false]);
    controller.abort(new Error('enough'));
    for (const one of waiting) await expect(one).rejects.toThrow('enough');
    setTimer.mockRestore();
  });

  it('keeps its last known state while the database is unavailable', async () => {
    jest.spyOn(rootLogger, 'warn').mockReturnValue(undefined);
    row.isUnavailable = true;
    await limit.acquire(callOf());
    limit.release(ended('limited'));
    await settled();
    await limit.acquire(callOf());
    expect(row.limit).toBeNull();
  });
});

describe('decreased', () => {
  const limit: SharedLimit = { maxInFlight: 8, blockedUntil: 0, decreasedAt: 1_000, limitedAt: 1_000 };
  const request = { inFlight: 3, elapsedMs: 100, blockedMs: 0 };

  it('halves once per congestion', () => {
    expect(decreased(limit, request, 1_050)).toMatchObject({ maxInFlight: 8, limitedAt: 1_050 });
    expect(decreased(limit, request, 1_200)).toMatchObject({ maxInFlight: 4, decreasedAt: 1_200 });
  });

  it('never goes below one', () => {
    expect(decreased({ ...limit, maxInFlight: 1 }, request, 2_000).maxInFlight).toBe(1);
    expect(decreased(null, { ...request, inFlight: 1 }, 2_000).maxInFlight).toBe(1);
  });

  it('never shortens the `Retry-After` of another request', () => {
    const blocked = decreased(limit, { ...request, blockedMs: 5_000 }, 2_000);
    expect(blocked.blockedUntil).toBe(7_000);
    expect(decreased(blocked, request, 3_000).blockedUntil).toBe(7_000);
  });
});
