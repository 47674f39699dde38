import { setImmediate as settle } from 'node:timers/promises';
import { FairLimiter, type FairLimiterOptions, type Owner, type Permit } from './fair-limiter';

/** Returns an owner in the organization of the first letter, in a new workspace for each call. */
let workspaces = 0;
const ownerOf = (name: string): Owner => ({
  orgId: name.charAt(0),
  workspaceId: `${name.charAt(0)}${workspaces++}`,
});

const NEVER = new AbortController().signal;

/** Creates a limiter with work that ends or fails on request. */
function controlledLimiter(options: FairLimiterOptions) {
  const limiter = new FairLimiter(options);
  const started: string[] = [];
  const ends = new Map<string, (fault?: Error) => void>();
  const run = (name: string, signal = NEVER, owner = ownerOf(name)): Promise<string> =>
    limiter.run(owner, signal, async () => {
      started.push(name);
      await new Promise<void>((resolve, reject) => {
        ends.set(name, (fault) => (fault ? reject(fault) : resolve()));
      });
      return name;
    });
  const end = async (name: string, fault?: Error): Promise<void> => {
    ends.get(name)!(fault);
    await settle();
  };
  return { limiter, started, run, end };
}

describe('FairLimiter', () => {
  it('keeps slots free for other organizations when one has its share', async () => {
    const { started, run, end } = controlledLimiter({ concurrency: 3, share: 2 });
    const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map((name) => run(name));
    await settle();
    expect(started).toEqual(['a1', 'a2', 'b1']);
    await end('b1');
    expect(started).toEqual(['a1', 'a2', 'b1', 'b2']);
    await end('b2');
    await end('a1');
    await end('a2');
    expect(started.slice(4)).toEqual(['a3', 'a4']);
    await end('a3');
    await end('a4');
    expect(await Promise.all(all)).toHaveLength(6);
  });

  it('runs a limited number at once, and lets organizations take turns', async () => {
    const { started, run, end } = controlledLimiter({ concurrency: 2 });
    const all = ['a1', 'a2', 'a3', 'a4', 'b1'].map((name) => run(name));
    await settle();
    expect(started).toEqual(['a1', 'a2']);
    await end('a1');
    await end('a2');
    expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
    for (const name of ['b1', 'a3', 'a4']) await end(name);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1']);
  });

  it('gives an organization that has half of the slots no further one while others wait that have less', async () => {
    const { started, run, end } = controlledLimiter({ concurrency: 4 });
    const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'b3'].map((name) => run(name));
    await settle();
    // The work of a is long, that of b is short.
    await end('a1');
    await end('a2');
    await end('b1');
    await end('b2');
    expect(started).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'a5']);
    for (const name of ['a3', 'a4', 'b3', 'a5']) await end(name);
    expect(await Promise.all(all)).toHaveLength(8);
  });

  it('lets the workspaces of an organization take turns', async () => {
    const { started, run, end } = controlledLimiter({ concurrency: 1 });
    const [x, y] = ['x', 'y'].map((workspaceId) => ({ orgId: 'a', workspaceId }));
    const all = [run('x1', NEVER, x), run('x2', NEVER, x), run('x3', NEVER, x), run('y1', NEVER, y)];
    for (const name of ['x1', 'x2', 'y1', 'x3']) await end(name);
    await Promise.all(all);
    expect(started).toEqual(['x1', 'x2', 'y1', 'x3']);
  });

  it('serves the waiters of one owner in order', async () => {
    const { started, run, end } = controlledLimiter({ concurrency: 1 });
    const names = ['1', '2', '3'];
    const all = names.map((name) => run(name, NEVER, 'all'));
    for (const name of names) await end(name);
    expect(await Promise.all(all)).toEqual(started);
  });

  it('continues after work that fails', async () => {
    const { started, run, end } = controlledLimiter({ concurrency: 1 });
    const failing = expect(run('a1')).rejects.toThrow('no database');
    const next = run('a2');
    await settle();
    await end('a1', new Error('no database'));
    await failing;
    expect(started).toEqual(['a1', 'a2']);
    await end('a2');
    expect(await next).toBe('a2');
  });

  it('removes an aborted waiter immediately, and never runs its work', async () => {
    const { started, run, end } = controlledLimiter({ concurrency: 1, maxWaiting: 2 });
    const first = run('a1');
    const leaving = new AbortController();
    const left = run('b1', leaving.signal);
    const third = run('c1');
    leaving.abort(new Error('the client has gone'));
    await expect(left).rejects.toThrow('the client has gone');
    // exactly one place in the queue is free again
    const fourth = run('c2');
    await expect(run('c3')).rejects.toMatchObject({ code: 'service_overloaded' });
    for (const name of ['a1', 'c1', 'c2']) await end(name);
    expect(await Promise.all([first, third, fourth])).toEqual(['a1', 'c1', 'c2']);
    expect(started).toEqual(['a1', 'c1', 'c2']);
  });

  it('does not run work whose signal is already aborted, and uses no slot for it', async () => {
    const { started, run, end } = controlledLimiter({ concurrency: 1, maxWaiting: 2 });
    await expect(run('a1', AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
    const next = run('a2');
    await end('a2');
    await next;
    expect(started).toEqual(['a2']);
  });

  it('keeps the slot of aborted work until the work ends', async () => {
    const { started, run, end } = controlledLimiter({ concurrency: 1, maxWaiting: 2 });
    const leaving = new AbortController();
    const first = run('a1', leaving.signal);
    const second = run('a2');
    leaving.abort(new Error('the client has gone'));
    await settle();
    expect(started).toEqual(['a1']);
    await end('a1');
    expect(started).toEqual(['a1', 'a2']);
    await end('a2');
    await Promise.all([first, second]);
  });

  it('rejects work when its queue is full', async () => {
    const { run, end } = controlledLimiter({ concurrency: 1, maxWaiting: 2 });
    const all = ['a1', 'a2', 'a3'].map((name) => run(name));
    await expect(run('a4')).rejects.toMatchObject({
      status: 503,
      code: 'service_overloaded',
      headers: { 'Retry-After': '1' },
    });
    for (const name of ['a1', 'a2', 'a3']) await end(name);
    await Promise.all(all);
    // the queue is empty
    const more = [run('a5'), run('a6'), run('a7')];
    for (const name of ['a5', 'a6', 'a7']) await end(name);
    await Promise.all(more);
  });

  it('rejects the newest work of the organization that fills the queue, in favour of another organization', async () => {
    const { run, end } = controlledLimiter({ concurrency: 1, maxWaiting: 3 });
    const first = run('a1');
    const all = ['a2', 'a3', 'a4'].map((name) => run(name));
    const outcomes = Promise.allSettled(all);
    const other = run('b1');
    await expect(run('a5')).rejects.toMatchObject({ code: 'service_overloaded' });
    for (const name of ['a1', 'a2', 'b1', 'a3']) await end(name);
    expect(await Promise.all([first, other])).toEqual(['a1', 'b1']);
    expect((await outcomes).map((one) => one.status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });
});

describe('a lent slot', () => {
  /** Starts work that lends its only slot until a test calls `answer`, and then ends. */
  function lending(waiting?: (until: AbortController) => Promise<string>) {
    const limited = controlledLimiter({ concurrency: 1 });
    const until = new AbortController();
    let answer: (text: string) => void = () => undefined;
    const answered = (): Promise<string> => new Promise((resolve) => (answer = resolve));
    const work = (permit: Permit): Promise<string> =>
      permit.lend(until.signal, () => (waiting ?? answered)(until));
    const lent = limited.limiter.run(ownerOf('a'), NEVER, work);
    return { ...limited, until, lent, answer: (text: string) => answer(text) };
  }

  /** Fails if a slot is lost or doubled. */
  async function expectOneSlot({ started, run, end }: ReturnType<typeof controlledLimiter>): Promise<void> {
    started.length = 0;
    const both = [run('z1'), run('z2')];
    await settle();
    expect(started).toEqual(['z1']);
    for (const name of ['z1', 'z2']) await end(name);
    await Promise.all(both);
  }

  it('runs other work, and is taken back in turn before its own work continues', async () => {
    const limited = lending();
    const { started, run, end, lent, answer } = limited;
    const others = [run('a1'), run('a2'), run('b1')];
    let isOver = false;
    void lent.then(() => (isOver = true));
    await settle();
    expect(started).toEqual(['a1']);
    answer('answer');
    for (const name of ['a1', 'a2', 'b1']) {
      await settle();
      expect(isOver).toBe(false);
      await end(name);
    }
    expect(await lent).toBe('answer');
    await Promise.all(others);
    await expectOneSlot(limited);
  });

  it('is freed exactly once if the call that its work waits for fails', async () => {
    const limited = lending(() => Promise.reject(new Error('no answer')));
    await expect(limited.lent).rejects.toThrow('no answer');
    await expectOneSlot(limited);
  });

  it('is not taken back if its work is aborted before the answer', async () => {
    const limited = lending((until) => {
      until.abort(new Error('too late'));
      return Promise.resolve('answer');
    });
    await expect(limited.lent).rejects.toThrow('too late');
    await expectOneSlot(limited);
  });

  type Finish = (abort: () => void, end: () => Promise<void>, other: Promise<string>) => Promise<void>;
  it.each<[string, Finish]>([
    ['while other work has it', async (abort, end) => (abort(), await end())],
    ['as it is passed on', async (abort, end, other) => (void other.then(abort), await end())],
    ['long before it is free', async (abort, end) => (abort(), await settle(), await end())],
  ])('is freed exactly once if its work is aborted %s', async (_, finish) => {
    const { until, ...limited } = lending(() => Promise.resolve('answer'));
    const other = limited.run('b1');
    await settle();
    const abort = (): void => until.abort(new Error('too late'));
    await finish(abort, () => limited.end('b1'), other);
    await Promise.allSettled([limited.lent, other]);
    await expectOneSlot(limited);
  });
});
