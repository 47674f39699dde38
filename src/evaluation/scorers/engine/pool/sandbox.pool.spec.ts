import { SUBJECT_MEMBERS } from '../../definitions/limits';
import { SandboxPool } from './sandbox.pool';
import type { TaskOptions } from './sandbox.pool';

const members = SUBJECT_MEMBERS.map(() => 'null');

describe('SandboxPool', () => {
  const pools: SandboxPool[] = [];
  function open(threads: number): SandboxPool {
    const pool = new SandboxPool({ threads });
    pools.push(pool);
    return pool;
  }
  afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.close())));

  function run(
    pool: SandboxPool,
    source: string,
    options: Partial<TaskOptions> = {},
  ): ReturnType<typeof pool.run> {
    const timeoutMs = options.timeoutMs ?? 10_000;
    const task = { kind: 'script' as const, source, timeoutMs, memoryMb: 32, members };
    return pool.run(task, { owner: 'a', ...options, timeoutMs });
  }
  const returning = (value: number): string => `const score = () => ${value}`;

  it('answers many runs at once, each with its own result', async () => {
    const pool = open(2);
    const ends = await Promise.all(Array.from({ length: 200 }, (_, i) => run(pool, returning(i))));
    expect(ends).toEqual(Array.from({ length: 200 }, (_, i) => ({ answer: { score: i } })));
  });

  it('lets an owner with one run not wait for all runs of another', async () => {
    const pool = open(1);
    const order: string[] = [];
    const note = (owner: string) => async (): Promise<void> => {
      await run(pool, returning(1), { owner });
      order.push(owner);
    };
    await Promise.all(
      [...Array.from({ length: 20 }, () => note('many')), note('one')].map((start) => start()),
    );
    expect(order.indexOf('one')).toBeLessThan(3);
  });

  it('does not count the time in the queue as time of the run', async () => {
    const pool = open(1);
    const slow = 'const score = () => { while (true) {} }';
    const [first, second] = await Promise.all([
      run(pool, slow, { timeoutMs: 1_500 }),
      run(pool, returning(1), { timeoutMs: 1_000 }),
    ]);
    expect(first).toMatchObject({ answer: { error: expect.any(String) } });
    expect(second).toEqual({ answer: { score: 1 } });
  });

  it('replaces a thread that had to be ended', async () => {
    const pool = open(1);
    const join = 'const score = () => Array(2 ** 32 - 1).join("").length';
    expect(await run(pool, join, { timeoutMs: 50 })).toEqual({ ended: 'deadline' });
    expect(await run(pool, returning(1))).toEqual({ answer: { score: 1 } });
  });

  it('rejects an aborted run with the reason, waiting or running, and goes on with the rest', async () => {
    const pool = open(1);
    const controller = new AbortController();
    const { signal } = controller;
    const running = run(pool, 'while (true) {}', { signal });
    const waiting = run(pool, returning(1), { signal, owner: 'b' });
    const other = run(pool, returning(2), { owner: 'c' });
    setTimeout(() => controller.abort(new Error('given up')), 300);
    const rejected = { status: 'rejected', reason: new Error('given up') };
    expect(await Promise.allSettled([running, waiting])).toEqual([rejected, rejected]);
    expect(await other).toEqual({ answer: { score: 2 } });
    await expect(run(pool, returning(1), { signal })).rejects.toThrow('given up');
  });

  it('ends what runs and waits when it is closed', async () => {
    const pool = open(1);
    const running = run(pool, 'while (true) {}');
    const waiting = run(pool, returning(1));
    setTimeout(() => void pool.close(), 300);
    const rejected = { status: 'rejected', reason: new Error('the sandbox is closed') };
    expect(await Promise.allSettled([running, waiting])).toEqual([rejected, rejected]);
    await expect(run(pool, returning(1))).rejects.toThrow('closed');
  });
});
