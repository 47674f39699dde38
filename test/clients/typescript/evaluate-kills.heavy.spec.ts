import { statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sharedApp } from '#testing';
import { EvalProcess } from './evaluate-process.fixture';
import { Evals, itemsOf } from './evaluate.fixture';

const CASES = 1319;
const KILLS = 20;

describe('evaluate, killed again and again', () => {
  const app = sharedApp();
  let evals: Evals;

  beforeAll(async () => {
    evals = await Evals.open(app);
  });
  afterAll(() => evals.close());

  it('ends with each case once, and repeats no call that has ended', async () => {
    const data = path.join(evals.dir, 'cases.csv');
    const ids = Array.from({ length: CASES }, (_, index) => `c${index}`);
    writeFileSync(data, ['id,input,expected', ...ids.map((id) => `${id},${id},${id}`)].join('\n'));
    const options = { name: evals.name(), data, spoolDir: evals.spoolDir, concurrency: 8 };
    const child = { options, log: path.join(evals.dir, 'calls'), taskMs: 10 };

    let finished = new Set<string>();
    for (let kill = 0; kill < KILLS; kill += 1) {
      const attempt = EvalProcess.start(app.url, evals, child);
      // one attempt in five is killed while it starts
      if (kill % 5 !== 4) await attempt.made(Math.ceil(Math.random() * 90));
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 100));
      attempt.process.kill('SIGKILL');
      expect((await attempt.end()).signal).toBe('SIGKILL');
      expect(attempt.calls.filter((id) => finished.has(id))).toEqual([]);
      ({ finished } = attempt);
    }
    expect(finished.size).toBeGreaterThan(0);
    const last = EvalProcess.start(app.url, evals, child);
    const { summary, status } = await last.end();
    expect(status).toBe(0);
    expect(last.calls.filter((id) => finished.has(id))).toEqual([]);
    expect(summary).toMatchObject({
      status: 'completed',
      cases: { total: CASES, done: CASES, failed: 0, pending: 0 },
      scores: { exact: { mean: 1, count: CASES } },
      traces: { missing: 0 },
    });
    const results = await evals.results(summary!.experimentId);
    expect(results.map((one) => one.case_id)).toEqual([...ids].sort());
    expect(results.every(({ case_id, output }) => case_id === output)).toBe(true);
    expect(evals.spools()).toEqual([]);
  }, 180_000);

  it('keeps only what is not uploaded in its spool', async () => {
    const bytes = 1_000_000;
    const sizes: number[] = [];
    const summary = await evals.run({
      data: itemsOf(45),
      task: () => 'x'.repeat(bytes),
      onProgress: () =>
        sizes.push(...evals.spools().map((name) => statSync(path.join(evals.spoolDir, name)).size)),
    });
    expect(summary.cases.done).toBe(45);
    expect(Math.max(...sizes)).toBeLessThan(40 * bytes);
    expect(sizes.some((size, index) => size < (sizes[index - 1] ?? 0))).toBe(true);
  });
});
