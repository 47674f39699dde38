import { setImmediate as turn } from 'node:timers/promises';
import { rootLogger } from '#platform/logging';
import { Slot, Slots } from '../../scoring/worker-slots';
import { JudgeLimit } from './judge-limit';
import type { JudgeLimitRepository, LimitState } from './judge-limit.repository';
import { type Asked, decreased, exchanged, type Limited, type SharedLimit } from './limit-rules';

const never = new AbortController().signal;

/** The row that processes share, by the same rules as the one in the database, each exchange a turn of the loop. */
class SharedRow {
  limit: SharedLimit | null = null;
  now = Date.now();
  isAway = false;
  /** What happens while an exchange is under way. */
  meanwhile = (): void => undefined;

  async exchange(_: string, asked: Asked): Promise<LimitState> {
    await this.turn();
    if (!this.limit) return this.state(asked.wanted);
    const { limit, granted } = exchanged(this.limit, asked, this.now);
    this.limit = limit;
    return this.state(granted);
  }

  async decrease(_: string, limited: Limited): Promise<LimitState> {
    await this.turn();
    this.limit = decreased(this.limit, limited, this.now);
    return this.state(0);
  }

  get held(): number {
    return Object.values(this.limit?.holders ?? {}).reduce((sum, one) => sum + one.held, 0);
  }

  private async turn(): Promise<void> {
    this.meanwhile();
    await turn();
    if (this.isAway) throw new Error('The database is away.');
  }

  private state(granted: number): LimitState {
    const blockedMs = this.limit ? Math.max(0, this.limit.blockedUntil - this.now) : 0;
    return { limit: this.limit && this.limit.maxInFlight, granted, blockedMs };
  }
}

const settled = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns++) await turn();
};
const callOf = (signal = new AbortController().signal) => ({
  signal,
  hasBegun: false,
  queue: <Result>(waiting: (until: AbortSignal) => Promise<Result>) => waiting(signal),
});
const left = (outcome: 'answered' | 'limited' | 'failed', retryAfterMs?: number) => ({
  ...{ outcome, elapsedMs: 0, retryAfterMs },
});

describe('the limit of a judge, in two processes', () => {
  let row: SharedRow;
  let a: JudgeLimit;
  let b: JudgeLimit;
  beforeEach(() => {
    row = new SharedRow();
    [a, b] = ['a', 'b'].map((name) => new JudgeLimit('llm:m', name, row as unknown as JudgeLimitRepository)) as [JudgeLimit, JudgeLimit]; // prettier-ignore
  });

  /** Lets a process be limited with so many requests under way, which end. */
  const limitTo = async (limit: JudgeLimit, count: number): Promise<void> => {
    await Promise.all(Array.from({ length: count }, () => limit.enter(callOf())));
    limit.leave(left('limited'));
    for (let more = 1; more < count; more++) limit.leave(left('failed'));
    await settled();
  };

  it('is not raised by what was answered before it was felt', async () => {
    for (let count = 0; count < 100; count++) {
      await a.enter(callOf());
      a.leave(left('answered'));
    }
    await Promise.all(Array.from({ length: 16 }, () => a.enter(callOf())));
    a.leave(left('limited'));
    await settled();
    expect(row.limit!.maxInFlight).toBe(8);
    a.leave(left('answered'));
    await settled();
    expect(row.limit!.maxInFlight).toBeLessThanOrEqual(9);
  });

  it('lets what was begun go before what was not', async () => {
    await limitTo(a, 2);
    await a.enter(callOf());
    const entered: string[] = [];
    const enter = (name: string, hasBegun: boolean): void =>
      void a.enter({ ...callOf(), hasBegun }).then(() => entered.push(name));
    enter('new', false);
    enter('begun', true);
    enter('begun later', true);
    while (entered.length < 3) {
      a.leave(left('failed'));
      await settled();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(entered).toEqual(['begun', 'begun later', 'new']);
  });

  it('is none, and no request waits, until the judge answers 429', async () => {
    await Promise.all([a, b].flatMap((one) => Array.from({ length: 50 }, () => one.enter(callOf()))));
    expect(row.limit).toBeNull();
  });

  it('is kept by both together once one of them has met it, and every request has its turn', async () => {
    await limitTo(a, 8);
    await b.enter(callOf());
    b.leave(left('failed'));
    let [underWay, most, done] = [0, 0, 0];
    const ask = async (limit: JudgeLimit): Promise<void> => {
      await limit.enter(callOf());
      most = Math.max(most, ++underWay - row.limit!.maxInFlight);
      await turn();
      underWay -= 1;
      done += 1;
      limit.leave(left('answered'));
    };
    await Promise.all(Array.from({ length: 60 }, (_, index) => ask(index % 2 ? a : b)));
    await settled();
    expect([done, underWay, row.held]).toEqual([60, 0, 0]);
    expect(most).toBeLessThanOrEqual(0);
    expect(row.limit!.maxInFlight).toBeGreaterThan(8);
  });

  it('gives back the place of one who gives up waiting, and his permit where it came too late', async () => {
    await limitTo(a, 2);
    await a.enter(callOf());
    const controller = new AbortController();
    const leaving = a.enter(callOf(controller.signal));
    const slots = new Slots(1);
    const slot = new Slot(slots, never);
    await slot.take();
    // the permit comes, and then there is no slot of the worker to go on with until the time is over
    const late = new AbortController();
    const lent = a.enter({
      signal: late.signal,
      hasBegun: false,
      queue: (waiting) => slot.lend(late.signal, waiting),
    });
    await slots.acquire(never);
    controller.abort(new Error('nobody wants it'));
    await expect(leaving).rejects.toThrow('nobody wants it');
    a.leave(left('answered'));
    await settled();
    expect(row.held).toBe(1);
    late.abort(new Error('too late'));
    await expect(lent).rejects.toThrow('too late');
    await settled();
    expect(row.held).toBe(0);
    await b.enter(callOf());
    await expect(a.enter(callOf(AbortSignal.abort(new Error('before'))))).rejects.toThrow('before');
    b.leave(left('answered'));
  });

  it('keeps nothing of what was given to one who has left in the meantime', async () => {
    await limitTo(a, 2);
    const controller = new AbortController();
    const leaving = a.enter(callOf(controller.signal));
    row.meanwhile = () => controller.abort(new Error('nobody wants it'));
    await expect(leaving).rejects.toThrow('nobody wants it');
    await settled();
    expect(row.held).toBe(0);
  });

  it('lets nobody begin before the time that the judge asked for, and holds up no process that ends', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    await a.enter(callOf());
    a.leave(left('limited', 60_000));
    await settled();
    const controller = new AbortController();
    const waiting = [a, b].map((one) => one.enter(callOf(controller.signal)));
    await settled();
    expect(row.held).toBe(0);
    controller.abort(new Error('enough'));
    for (const one of waiting) await expect(one).rejects.toThrow('enough');
    expect(timers()).toBe(before);
  });

  it('is no reason to stop where it was never met and cannot be read, and goes on to be kept where it was', async () => {
    jest.spyOn(rootLogger, 'warn').mockReturnValue(undefined);
    row.isAway = true;
    await a.enter(callOf());
    a.leave(left('answered'));
    row.isAway = false;
    await limitTo(a, 2);
    row.isAway = true;
    const controller = new AbortController();
    const waiting = a.enter(callOf(controller.signal));
    await settled();
    expect(row.held).toBe(0);
    row.isAway = false;
    await waiting;
    expect(row.held).toBe(1);
    const { maxInFlight } = row.limit!;
    row.isAway = true;
    a.leave(left('answered'));
    await settled();
    row.isAway = false;
    await a.enter(callOf());
    expect(row.limit!.maxInFlight).toBeGreaterThan(maxInFlight);
    a.leave(left('answered'));
    await settled();
    expect(row.held).toBe(0);
  });
});
