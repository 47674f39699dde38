import { execFile } from 'node:child_process';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { ResourceLimits } from 'node:worker_threads';
import { type TaskFile, WorkerPool } from './worker-pool';
import type * as tasks from './worker-pool.thread.fixture';

const NEVER = new AbortController().signal;
const A = { orgId: 'a', workspaceId: 'a' };

describe('WorkerPool', () => {
  const fileOf = (name: string, deadlineMs = 30_000): TaskFile<typeof tasks> => ({
    path: path.join(__dirname, `${name}.thread.fixture.js`),
    deadlineMs,
  });
  const TASKS = fileOf('worker-pool');

  const pools: WorkerPool[] = [];
  const open = (
    threads: number,
    maxWaiting = 10,
    resourceLimits: ResourceLimits = { maxOldGenerationSizeMb: 32 },
  ): WorkerPool => {
    const pool = new WorkerPool({ threads, share: threads, maxWaiting, resourceLimits });
    pools.push(pool);
    return pool;
  };
  afterEach(() => Promise.all(pools.splice(0).map((pool) => pool.close())));

  it('runs tasks in threads, and returns their results and errors', async () => {
    const pool = open(2);
    expect(await Promise.all([1, 2, 3, 4].map((n) => pool.run(A, NEVER, TASKS, 'double', n)))).toEqual([
      2, 4, 6, 8,
    ]);
    await expect(pool.run(A, NEVER, TASKS, 'fail', 'no such thing')).rejects.toThrow('no such thing');
    expect(await pool.run(A, NEVER, TASKS, 'double', 5)).toBe(10);
  });

  it('moves the buffers of the input that the caller names, and typed arrays of the result', async () => {
    const values = Float64Array.of(1, 2, 3);
    const { sum, negated } = await open(1).reserve(A, NEVER, TASKS, (runTask) =>
      runTask('sum', values, [values.buffer]),
    );
    expect([sum, [...negated]]).toEqual([6, [-1, -2, -3]]);
    expect(values).toHaveLength(0);
  });

  it('runs the tasks of several files in the same thread', async () => {
    const pool = open(1);
    expect(await pool.run(A, NEVER, fileOf('slow-start'), 'double', 2)).toBe(4);
    expect(await pool.run(A, NEVER, TASKS, 'double', 3)).toBe(6);
  });

  it('lets organizations take turns, and rejects a task of the one with the most when the queue is full', async () => {
    const pool = open(1, 3);
    const order: string[] = [];
    const run = async (orgId: string): Promise<void> => {
      await pool.run({ orgId, workspaceId: orgId }, NEVER, TASKS, 'double', 1);
      order.push(orgId);
    };
    const outcomes = await Promise.allSettled(['a', 'a', 'a', 'a', 'b'].map(run));
    expect(order).toEqual(['a', 'a', 'b', 'a']);
    expect(outcomes[3]).toMatchObject({ status: 'rejected', reason: { code: 'service_overloaded' } });
  });

  it('terminates a task when its signal is aborted, waiting or running, and continues with the others', async () => {
    const pool = open(1);
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error('the client has gone');
    const running = pool.run(A, signal, TASKS, 'loop', null);
    const waiting = pool.run(A, signal, TASKS, 'double', 1);
    const other = pool.run(A, NEVER, TASKS, 'double', 2);
    const outcomes = Promise.allSettled([running, waiting]);
    await delay(300);
    controller.abort(reason);
    expect(await outcomes).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    expect(await other).toBe(4);
    await expect(pool.run(A, signal, TASKS, 'double', 1)).rejects.toBe(reason);
  });

  it('terminates a task at its deadline', async () => {
    const pool = open(1);
    const late = pool.run(A, NEVER, fileOf('worker-pool', 300), 'loop', null);
    await expect(late).rejects.toMatchObject({ name: 'TaskTimeout', message: expect.stringContaining('300 ms') });
    expect(await pool.run(A, NEVER, TASKS, 'double', 3)).toBe(6);
  }); // oxfmt-ignore

  it('does not count the start of a thread in the time of its task', async () => {
    expect(await open(1).run(A, NEVER, fileOf('slow-start', 800), 'double', 3)).toBe(6);
  });

  it('fails a task that exceeds the heap of its thread, and replaces the thread', async () => {
    const pool = open(1);
    await expect(pool.run(A, NEVER, TASKS, 'hoard', null)).rejects.toMatchObject({
      code: 'ERR_WORKER_OUT_OF_MEMORY',
    });
    expect(await pool.run(A, NEVER, TASKS, 'double', 4)).toBe(8);
  });

  it('accepts a result that arrived in time while this process was blocked', async () => {
    const pool = open(1);
    await pool.run(A, NEVER, TASKS, 'double', 1);
    const result = pool.run(A, NEVER, fileOf('worker-pool', 300), 'double', 2);
    await delay(50);
    const until = performance.now() + 1_000;
    while (performance.now() < until);
    expect(await result).toBe(4);
  });

  it('fails a task whose thread cannot start', async () => {
    const pool = open(1, 10, { maxOldGenerationSizeMb: 1, maxYoungGenerationSizeMb: 1 });
    await expect(pool.run(A, NEVER, TASKS, 'double', 4)).rejects.toMatchObject({
      name: 'ThreadStartError',
      cause: { code: 'ERR_WORKER_OUT_OF_MEMORY' },
    });
  });

  it('does not keep the process alive with an idle thread', async () => {
    const script = `
      const { WorkerPool } = require(${JSON.stringify(path.join(__dirname, 'worker-pool.js'))});
      const pool = new WorkerPool({ threads: 1, share: 1, maxWaiting: 1, idleMs: 60000 });
      pool.run('a', new AbortController().signal, ${JSON.stringify(TASKS)}, 'double', 4).then((result) => console.log(result));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { timeout: 20_000 });
    expect(stdout).toBe('8\n');
  });

  it('holds a thread while the input of its tasks is loaded', async () => {
    const pool = open(1);
    const order: string[] = [];
    const first = pool.reserve(A, NEVER, TASKS, async (runTask) => {
      await delay(20);
      order.push('loaded');
      return runTask('double', 1);
    });
    const second = pool.run(A, NEVER, TASKS, 'double', 2).then(() => order.push('second'));
    await Promise.all([first, second]);
    expect(order).toEqual(['loaded', 'second']);
  });

  it('fails running and later tasks when it is closed', async () => {
    const pool = open(1);
    const running = expect(pool.run(A, NEVER, TASKS, 'loop', null)).rejects.toThrow();
    await delay(300);
    await pool.close();
    await running;
    await expect(pool.run(A, NEVER, TASKS, 'double', 1)).rejects.toThrow('closed');
  });
});
