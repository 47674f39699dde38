import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sharedApp } from '#testing';
import type { ChildEval } from './evaluate.child';
import { EvalProcess } from './evaluate-process.fixture';
import { Evals, itemsOf } from './evaluate.fixture';

describe('evaluate, its process and its spool', () => {
  const app = sharedApp();
  let evals: Evals;

  beforeAll(async () => {
    evals = await Evals.open(app);
  });
  afterAll(() => evals.close());

  const childOf = (options: Partial<ChildEval['options']> = {}, more: Partial<ChildEval> = {}): ChildEval => {
    const name = evals.name();
    return {
      options: { name, data: itemsOf(4), spoolDir: evals.spoolDir, ...options },
      log: path.join(evals.dir, `${name}.calls`),
      taskMs: 0,
      ...more,
    };
  };
  const start = (child: ChildEval, fileBlocks?: number) =>
    EvalProcess.start(app.url, evals, child, fileBlocks);

  it('prints the result, and ends with the status of the gate', async () => {
    const passing = { gate: [{ scorer: 'exact', min_mean: 1 }] };
    const [passed, failed] = await Promise.all([
      start(childOf(passing)).end(),
      start(childOf(passing, { output: 'wrong' })).end(),
    ]);
    expect([passed.status, passed.stderr]).toEqual([0, '']);
    expect(passed.stdout).toContain('4 cases: 4 done, 0 failed, 0 pending. Calls of the task: 4.');
    expect(failed.status).toBe(3);
    expect(failed.stdout).toMatch(/^eval \d+: failed\n/);
  });

  it('survives `kill -9`: the next process repeats no call that has ended', async () => {
    const child = childOf({ data: itemsOf(60), concurrency: 3 }, { taskMs: 10 });
    const first = start(child);
    await first.made(20);
    first.process.kill('SIGKILL');
    expect((await first.end()).signal).toBe('SIGKILL');
    const { finished } = first;
    expect(finished.size).toBeGreaterThan(10);

    const second = start(child);
    const { summary, status } = await second.end();
    expect(status).toBe(0);
    expect(second.calls.filter((id) => finished.has(id))).toEqual([]);
    expect(summary).toMatchObject({ status: 'completed', resumed: true, cases: { done: 60, pending: 0 } });
    const results = await evals.results(summary!.experimentId);
    expect(results.map((one) => one.case_id).sort()).toEqual(
      itemsOf(60)
        .map(({ id }) => id)
        .sort(),
    );
    expect(evals.spools()).toEqual([]);
  });

  it('takes over what several processes have left', async () => {
    const child = childOf({ data: itemsOf(60), runKey: 'commit-1' }, { taskMs: 10 });
    const jobs = [start(child), start(child)];
    await Promise.all(jobs.map((job) => job.made(25)));
    for (const job of jobs) job.process.kill('SIGKILL');
    await Promise.all(jobs.map((job) => job.end()));
    expect(evals.spools()).toHaveLength(2);
    const { finished } = jobs[0]!;
    expect(finished.size).toBeGreaterThan(10);

    const last = start(child);
    const { summary } = await last.end();
    expect(last.calls.filter((id) => finished.has(id))).toEqual([]);
    expect(summary).toMatchObject({ status: 'completed', cases: { done: 60 } });
    expect(evals.spools()).toEqual([]);
  });

  it('leaves the spool of a process that is running alone', async () => {
    const child = childOf({ data: itemsOf(20) }, { taskMs: 10 });
    const [one, other] = await Promise.all([start(child).end(), start(child).end()]);
    expect([one.summary, other.summary]).toEqual([
      expect.objectContaining({ status: 'completed', resumed: false }),
      expect.objectContaining({ status: 'completed', resumed: false }),
    ]);
    expect(one.summary!.experimentId).not.toBe(other.summary!.experimentId);
  });

  it('goes on without its spool when the disk is full, and says so', async () => {
    const { summary, status } = await start(childOf({ data: itemsOf(60) }), 4).end();
    expect(status).toBe(0);
    expect(summary).toMatchObject({
      status: 'completed',
      cases: { done: 60, called: 60 },
      uploads: { stored: 60 },
    });
    expect(summary!.problems).toEqual([
      expect.stringMatching(/^Finished calls were not kept in .*: Error: EFBIG/),
    ]);
    expect(evals.spools()).toEqual([]);
  });

  it('continues no run that is older than one that has ended', async () => {
    const name = evals.name();
    const run = (isInterrupted: boolean) => {
      const stop = new AbortController();
      const task = ({ input }: { input: number }) => {
        if (input === 1) stop.abort(new Error('Ctrl-C'));
        return input;
      };
      return evals.run({ name, task, ...(isInterrupted && { signal: stop.signal }) });
    };
    await Promise.all([run(true), run(true)]);
    expect(evals.spools(name)).toHaveLength(2);
    expect(await run(false)).toMatchObject({ resumed: true });
    expect(await run(false)).toMatchObject({ resumed: false, cases: { called: 3 } });
  });

  it('takes over the spool of another host once nobody touches it', async () => {
    const stop = new AbortController();
    const task = ({ input }: { input: number }) => {
      if (input === 1) stop.abort(new Error('Ctrl-C'));
      return input;
    };
    const options = { name: evals.name(), task };
    await evals.run({ ...options, signal: stop.signal });
    const [spool] = evals.spools(options.name);
    const where = path.join(evals.spoolDir, spool!);
    writeFileSync(where, readFileSync(where, 'utf8').replace(/"host":"[^"]*"/, '"host":"elsewhere"'));
    const touchedAgo = (seconds: number) => utimesSync(where, 0, Date.now() / 1000 - seconds);
    touchedAgo(15);
    expect(await evals.run(options)).toMatchObject({ resumed: false });
    touchedAgo(40);
    expect(await evals.run(options)).toMatchObject({ resumed: true });
  });

  it('has its result although its spool cannot be deleted', async () => {
    const name = evals.name();
    const summary = await evals.run({
      name,
      task: () => {
        const [spool] = evals.spools(name);
        const where = path.join(evals.spoolDir, spool!);
        rmSync(where, { force: true, recursive: true });
        mkdirSync(where);
      },
    });
    expect(summary.status).toBe('completed');
  });
});
