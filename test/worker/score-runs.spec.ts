import { Environment } from '#platform/config';
import { RunExecutionRepository } from '../../src/evaluation/scoring/score-runs/run-execution.repository';
import type { ScoringRun } from '../../src/evaluation/scores';
import { ScoreRunExecutor } from '../../src/evaluation/scoring/score-runs/score-run.executor';
import { script } from '../e2e/evaluation/scoring.fixture';
import { type GatedService, JUDGE, withGate } from './gate.fixture';

const indexes = (count: number) => Array.from({ length: count }, (_, index) => ({ input: index }));

describe('a scoring run', () => {
  let app: GatedService['app'];
  let worker: GatedService['worker'];
  let gate: GatedService['gate'];
  let on: GatedService['on'];
  withGate((service) => ({ app, worker, gate, on } = service));

  const cancel = (id: string) => on.evaluator.post(`/eval/v1/score-runs/${id}/cancel`);

  it('scores every target, stores each outcome, and succeeds', async () => {
    const { run, results } = await on.runOver([
      { output: 'a', expected: 'a' },
      { output: 'a', expected: 'b' },
    ]);
    const finished = await on.finished(run.score_run_id);
    expect(finished).toMatchObject({
      run_status: 'succeeded',
      total: 2,
      completed_count: 2,
      failed_count: 0,
      failure_code: null,
      failure_detail: null,
    });
    expect(Date.parse(finished.started_at)).toBeLessThanOrEqual(Date.parse(finished.finished_at));
    const scores = await on.resultsOf(run.score_run_id);
    const byTrace = new Map(scores.map((one) => [one.trace_id, one.score]));
    expect(results.map((result: any) => byTrace.get(result.trace_id))).toEqual([1, 0]);
    expect(scores[0]).toMatchObject({
      score_id: expect.stringMatching(/^score_/),
      score_run_id: run.score_run_id,
      scorer_id: run.scorer_id,
      scorer_version: 1,
      elapsed_ms: expect.any(Number),
    });
  });

  it.each(['run', 'batch'])(
    'scores a trace by its own content in a %s, although a result names it',
    async (kind) => {
      const trace_id = await on.trace({ input: 'in', output: 'out' });
      const theirs = { session_id: 'theirs', input: 'theirs', output: 'theirs', expected: 'out' };
      await on.result(await on.experiment(), { trace_id, ...theirs, metadata: { m: 1 } });
      const source =
        'function score({ trace, ...seen }) { return { score: 1, answers: { ...seen, of: trace.trace_id } }; }';
      const scorer = await on.scorer(script(source));
      const body = { trace_ids: [trace_id] };
      const sent = (await (kind === 'batch' ? on.batch(scorer, body) : on.score(scorer, body))).body;
      const run = kind === 'batch' ? (await on.runsOfBatch(sent))[0] : sent;
      await on.finished(run.score_run_id);
      const [result] = await on.resultsOf(run.score_run_id);
      const nothing = { expected: null, metadata: null, session: null };
      expect(result).toMatchObject({
        trace_id,
        answers: { input: 'in', output: 'out', ...nothing, of: trace_id },
      });
      expect(result).not.toHaveProperty('session_id');
    },
  );

  it('has an error, and no score, for a trace that only a result names', async () => {
    const { trace_id } = await on.result(await on.experiment(), { output: 'a', expected: 'a' });
    const { body: run } = await on.score(await on.scorer(), { trace_ids: [trace_id] });
    expect(await on.finished(run.score_run_id)).toMatchObject({
      failure_code: 'all_targets_failed',
      failure_detail: expect.stringContaining('The spans of this trace never arrived'),
    });
  });

  it('fails when every target failed', async () => {
    const { run } = await on.runOver(indexes(3), script('function score() { throw new Error("broken") }'));
    const finished = await on.finished(run.score_run_id);
    expect(finished).toMatchObject({
      run_status: 'failed',
      failure_code: 'all_targets_failed',
      completed_count: 0,
      failed_count: 3,
    });
    expect(finished.failure_detail).toMatch(/^All 3 targets of the run failed\. First error: .*broken/s);
    for (const one of await on.resultsOf(run.score_run_id)) {
      expect(one.error).toContain('broken');
      expect(one).not.toHaveProperty('score');
    }
  });

  it('fails when no target was scored', async () => {
    const source = 'function score({ input }) { if (input) throw new Error("x"); return null; }';
    const { run } = await on.runOver(indexes(2), script(source));
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'failed',
      failure_code: 'no_scores',
      completed_count: 1,
      failed_count: 1,
    });
  });

  it('succeeds when one target was scored', async () => {
    const source = 'function score({ input }) { if (input) throw new Error("x"); return 0; }';
    const { run } = await on.runOver(indexes(3), script(source));
    expect(await on.finished(run.score_run_id)).toMatchObject({
      run_status: 'succeeded',
      completed_count: 1,
      failed_count: 2,
    });
  });

  it('uses the scorer version at the time of the request', async () => {
    // The first execution must not notice that it has lost the run before the second one has called the judge.
    const renewed = jest.spyOn(worker.get(RunExecutionRepository), 'renew').mockResolvedValue(true);
    const { scorer, run } = await on.runOver(indexes(5), JUDGE);
    await gate.holds(4);
    const changed = { definition: { ...JUDGE.definition, prompt: 'other' } };
    await on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, changed);
    await on.evaluator.post(`/eval/v1/scorers/${scorer.scorer_id}/archive`);
    // The execution that takes over the run reads the scorer again.
    const sql = `UPDATE score_runs SET lease_expires_at = now() - interval '1 minute' WHERE score_run_id = $1`;
    await app.database.query(sql, [run.score_run_id]);
    const execution = worker.get(ScoreRunExecutor).executeNext();
    while (gate.requests.length < 6) await gate.holds(gate.heldCount + 1);
    renewed.mockRestore();
    gate.release({ open: true });
    await execution;
    await on.finished(run.score_run_id);
    gate.release();
    expect(gate.requests.length).toBeGreaterThan(5);
    for (const { prompt } of gate.requests) expect(prompt).toMatch(/^judge: /);
    for (const one of await on.resultsOf(run.score_run_id)) expect(one.scorer_version).toBe(1);
  });

  it('scores sessions', async () => {
    for (const session_id of ['a', 'b']) await on.trace({ sessionId: session_id, input: 'q', output: 'r' });
    const source = 'function score({ input, output }) { return input === "q" && output === "r"; }';
    const scorer = await on.scorer({ grain: 'session', ...script(source) });
    const { body: run } = await on.score(scorer, { session_ids: ['a', 'b'] });
    await on.finished(run.score_run_id);
    const results = await on.resultsOf(run.score_run_id);
    expect(results.map((one) => [one.session_id, one.score, one.trace_id]).sort()).toEqual([
      ['a', 1, undefined],
      ['b', 1, undefined],
    ]);
  });

  it('continues with unscored_only after the previous run', async () => {
    const experiment = await on.experiment();
    const results = await on.results(experiment, indexes(5));
    const scorer = await on.scorer(JUDGE);
    const body = { experiment_id: experiment.experiment_id, unscored_only: true, limit: 2 };
    const first = (await on.score(scorer, body)).body;
    await gate.holds(2);
    const second = (await on.score(scorer, body)).body;
    await gate.holds(4);
    gate.release({ open: true });
    await Promise.all([on.finished(first.score_run_id), on.finished(second.score_run_id)]);
    const third = (await on.score(scorer, body)).body;
    expect(third.total).toBe(1);
    await on.finished(third.score_run_id);
    gate.release();
    const exhausted = await on.score(scorer, body);
    expect(exhausted.body).toMatchObject({ total: 0, run_status: 'queued' });
    const runs = [first, second, third];
    const scored = await Promise.all(runs.map((run) => on.resultsOf(run.score_run_id)));
    expect(
      scored
        .flat()
        .map((one) => one.trace_id)
        .sort(),
    ).toEqual(results.map((one) => one.trace_id).sort());
    await on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { description: 'the same version' });
    expect((await on.score(scorer, body)).body.total).toBe(0);
    const definition = { ...JUDGE.definition, samples: 1 };
    await on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { definition });
    expect((await on.score(scorer, body)).body.total).toBe(2);
    await gate.holds(2);
    gate.release();
  });

  it('tries new targets before failed ones with unscored_only', async () => {
    const experiment = await on.experiment();
    await on.results(experiment, indexes(2));
    const source = 'function score({ input }) { if (input < 3) throw new Error("x"); return 1; }';
    const scorer = await on.scorer(script(source));
    const { experiment_id } = experiment;
    const failed = (await on.score(scorer, { experiment_id })).body;
    await on.finished(failed.score_run_id);
    const older = await on.result(experiment, { input: 3 });
    const next = (await on.score(scorer, { experiment_id, unscored_only: true, limit: 2 })).body;
    await on.finished(next.score_run_id);
    const traces = (await on.resultsOf(next.score_run_id)).map((one) => one.trace_id);
    expect(traces).toContain(older.trace_id);
    expect(next.total).toBe(2);
  });

  it('has no more targets in flight than its concurrency', async () => {
    const { run } = await on.runOver(indexes(9), JUDGE, { concurrency: 3 });
    for (let done = 0; done < 9; done += 3) {
      await gate.holds(3);
      gate.release();
    }
    await on.finished(run.score_run_id);
    expect(gate.peak).toBe(3);
    expect(gate.requests).toHaveLength(9);
  });

  it('has no more targets in flight than its worker allows for all runs together', async () => {
    const share = worker.get(Environment).WORKER_CONCURRENCY;
    const options = { concurrency: share / 2, cache: false };
    const runs = await Promise.all([0, 1, 2].map(() => on.runOver(indexes(share / 2), JUDGE, options)));
    await gate.holds(share);
    gate.release();
    await gate.holds(share / 2);
    gate.release();
    for (const { run } of runs) await on.finished(run.score_run_id);
    expect(gate.peak).toBe(share);
  });

  it('runs once, however often it is delivered', async () => {
    const { run } = await on.runOver(indexes(4), JUDGE);
    await gate.holds(4);
    const executor = worker.get(ScoreRunExecutor);
    await Promise.all([executor.executeNext(), executor.executeNext()]);
    expect((await on.run(run.score_run_id)).run_status).toBe('running');
    gate.release();
    await on.finished(run.score_run_id);
    await executor.executeNext();
    expect(gate.requests).toHaveLength(4);
    expect(await on.resultsOf(run.score_run_id)).toHaveLength(4);
  });

  it('is not renewed, released or ended by a worker that has lost it', async () => {
    const { run } = await on.runOver(indexes(1), JUDGE);
    await gate.holds(1);
    const sql = 'SELECT * FROM score_runs WHERE score_run_id = $1';
    const [{ workspace_id, lease_token }] = await app.database.query<any>(sql, [run.score_run_id]);
    const executions = worker.get(RunExecutionRepository);
    const own: any = { score_run_id: run.score_run_id, workspace_id };
    const lost = '00000000-0000-4000-8000-000000000000';
    const outcome = { status: 'succeeded', failure_code: null, failure_detail: null } as const;
    expect(await executions.renew(own, lost, 10_000)).toBe(false);
    expect(await executions.release(own, lost, 1)).toBe(0);
    const finish = (tx: any) => executions.finish(tx, own, lost, outcome);
    expect(await app.database.transaction(finish)).toBe(false);
    expect(await executions.renew(own, lease_token, 10_000)).toBe(true);
    gate.release();
    expect((await on.finished(run.score_run_id)).run_status).toBe('succeeded');
  });

  it('runs only within its workspace', async () => {
    const { run } = await on.runOver(indexes(1), JUDGE);
    await gate.holds(1);
    const sql = 'SELECT * FROM score_runs WHERE score_run_id = $1';
    const [{ lease_token, ...row }] = await app.database.query<any>(sql, [run.score_run_id]);
    const executions = worker.get(RunExecutionRepository);
    const own = row as ScoringRun;
    const foreign = { ...own, workspace_id: 'wsp_other' };
    const [target] = await executions.targetsLeft(own);
    expect(await executions.targetsLeft(foreign)).toEqual([]);
    expect(await executions.renew(foreign, lease_token, 10_000)).toBe(false);
    const scored = { target: target!, scoreId: 'score_x', item: { elapsed_ms: 1 } };
    expect(await executions.store(foreign, [scored])).toEqual([false]);
    await executions.release(foreign, lease_token, 0);
    expect(await executions.renew(own, lease_token, 10_000)).toBe(true);
    gate.release();
    expect((await on.finished(run.score_run_id)).run_status).toBe('succeeded');
  });

  it('can be cancelled in flight: scored targets stay, the rest fail', async () => {
    const { run, experiment } = await on.runOver(indexes(6), JUDGE, { concurrency: 3 });
    await gate.holds(3);
    gate.release();
    await gate.holds(3);
    const cancelled = await cancel(run.score_run_id);
    expect(cancelled.status).toBe(200);
    expect(cancelled.body).toMatchObject({
      run_status: 'failed',
      failure_code: 'cancelled',
      completed_count: 3,
      failed_count: 3,
    });
    gate.release();
    await executed(run.score_run_id);
    // the cost of answers that arrive after the cancellation is added to the run
    const { cost_usd, ...ended } = await on.run(run.score_run_id);
    const { cost_usd: costBefore, ...expected } = cancelled.body;
    expect(ended).toEqual(expected);
    expect(cost_usd).toBeGreaterThanOrEqual(costBefore);
    const results = await on.resultsOf(run.score_run_id);
    expect(results.filter((one) => one.score === 1)).toHaveLength(3);
    expect(results.filter((one) => one.error)).toHaveLength(3);
    const written = (await on.resultsOfExperiment(experiment)).filter(
      (result) => Object.keys(result.scores).length > 0,
    );
    expect(written).toHaveLength(3);
    expect(gate.requests).toHaveLength(6);
  });

  it('cannot be cancelled once it has ended', async () => {
    const { run } = await on.runOver(indexes(1));
    await on.finished(run.score_run_id);
    const answer = await cancel(run.score_run_id);
    expect(answer.status).toBe(409);
    expect(answer.body.code).toBe('conflict');
  });

  it('stores texts that PostgreSQL does not support in an escaped form', async () => {
    const source = String.raw`function score() {
      return { score: 1, label: 'a\0b', reasoning: 'c\ud800d', answers: { 'e\0': '\udfff' } };
    }`;
    const { run } = await on.runOver(indexes(1), script(source));
    expect(await on.finished(run.score_run_id)).toMatchObject({ run_status: 'succeeded' });
    const [result] = await on.resultsOf(run.score_run_id);
    expect(result).toMatchObject({
      choice: 'a\uFFFDb',
      reasoning: 'c\uFFFDd',
      answers: { 'e\uFFFD': '\uFFFD' },
    });
  });

  /** Waits until no worker holds the run any more. */
  const executed = async (runId: string): Promise<void> => {
    for (;;) {
      const sql = 'SELECT lease_token FROM score_runs WHERE score_run_id = $1';
      const [row] = await app.database.query<{ lease_token: string | null }>(sql, [runId]);
      if (row!.lease_token === null && gate.heldCount === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
});
