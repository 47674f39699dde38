import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '#platform/ids';
import { createTestApp, createTestWorker, type TestApp, type TestWorker } from '#testing';
import { RunExecutionRepository } from '../../src/evaluation/scoring/execution/run-execution.repository';
import {
  type ScoredTarget,
  TargetResultRepository,
} from '../../src/evaluation/scoring/execution/target-result.repository';
import { ScoringFixture, script } from '../e2e/evaluation/scoring.fixture';
import { Gate, JUDGE } from './gate.fixture';

const indexes = (count: number) => Array.from({ length: count }, (_, index) => ({ input: index }));

/** Targets that finish together share a transaction. */
describe('the results of a run that are stored together', () => {
  let app: TestApp;
  let worker: TestWorker;
  let gate: Gate;
  let on: ScoringFixture;

  beforeAll(async () => {
    gate = await Gate.listen();
    app = await createTestApp({ env: gate.env });
    worker = await createTestWorker(app);
  });
  afterAll(async () => {
    await gate.close();
    await worker.close();
    await app.close();
  });
  beforeEach(async () => {
    gate.reset();
    on = await ScoringFixture.create(app);
  });
  afterEach(() => jest.restoreAllMocks());

  const cancel = (id: string) => on.evaluator.post(`/eval/v1/score-runs/${id}/cancel`);
  const writtenTo = async (experiment: { experiment_id: string }): Promise<number> =>
    (await on.resultsOfExperiment(experiment)).filter(({ scores }) => Object.keys(scores).length > 0).length;
  /** Sizes of the transactions that store results. */
  const groupSizes = (): number[] => {
    const results = worker.get(TargetResultRepository);
    const store = results.store.bind(results);
    const sizes: number[] = [];
    jest.spyOn(results, 'store').mockImplementation((run, scored) => {
      sizes.push(scored.length);
      return store(run, scored);
    });
    return sizes;
  };

  it('are few transactions for many targets', async () => {
    const sizes = groupSizes();
    const { run, experiment } = await on.runOver(indexes(32), JUDGE, { concurrency: 32 });
    await gate.holds(32);
    gate.release();
    await on.finished(run.score_run_id);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(32);
    expect(Math.max(...sizes)).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(32);
    expect(await writtenTo(experiment)).toBe(32);
  });

  it('are stored once, whatever is stored again and beside others', async () => {
    const { run, experiment } = await on.runOver(indexes(6), JUDGE, { concurrency: 1 });
    await gate.holds(1);
    const [row] = await app.database.query<{ workspace_id: string }>(
      'SELECT workspace_id FROM score_runs WHERE score_run_id = $1',
      [run.score_run_id],
    );
    const key = { score_run_id: run.score_run_id, workspace_id: row!.workspace_id };
    const targets = await worker.get(RunExecutionRepository).targetsLeft(key);
    const scored = (from: number, to: number, score: number): ScoredTarget[] =>
      targets.slice(from, to).map((target) => ({
        target,
        scoreId: newId('score'),
        item: { score, elapsed_ms: 1 },
        writeBack: { name: 'hosted', score, detail: { metadata: { score_run_id: run.score_run_id } } },
      }));
    const results = worker.get(TargetResultRepository);
    const outcomes = await Promise.all([
      results.store(key, scored(0, 4, 0.25)),
      results.store(key, scored(2, 6, 0.75)),
      results.store(key, scored(0, 6, 0.5)),
    ]);
    expect(outcomes.flat().filter((isStored) => isStored)).toHaveLength(6);
    expect(await results.store(key, scored(0, 6, 1))).toEqual(Array<boolean>(6).fill(false));
    const stored = await on.resultsOf(run.score_run_id);
    expect(stored).toHaveLength(6);
    const inResults = (await on.resultsOfExperiment(experiment)).map(({ result_id, scores }) => [
      result_id,
      scores.hosted,
    ]);
    expect(Object.fromEntries(inResults)).toEqual(
      Object.fromEntries(stored.map(({ result_id, score }) => [result_id, score])),
    );
    await cancel(run.score_run_id);
  });

  it('do not fail because one of them cannot be stored', async () => {
    const { run, experiment } = await on.runOver(indexes(8), JUDGE, { concurrency: 8 });
    await gate.holds(8);
    const sizes = groupSizes();
    await app.database.query('DELETE FROM score_targets WHERE score_run_id = $1 AND ordinal = 3', [
      run.score_run_id,
    ]);
    gate.release({ open: true });
    while ((await on.resultsOf(run.score_run_id)).length < 7) await delay(20);
    expect(Math.max(...sizes)).toBeGreaterThan(1);
    expect(await writtenTo(experiment)).toBe(7);
    await cancel(run.score_run_id);
  });

  it('are stored by nobody once the run is cancelled, also if they were about to be', async () => {
    const { run, experiment } = await on.runOver(indexes(4), JUDGE);
    await gate.holds(4);
    const { experiment_id } = experiment;
    await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM results WHERE experiment_id = $1 FOR UPDATE', [experiment_id]);
      gate.release();
      await blocked(true);
      expect((await cancel(run.score_run_id)).body).toMatchObject({ completed_count: 0, failed_count: 4 });
    });
    const held = 'SELECT 1 FROM score_runs WHERE score_run_id = $1 AND lease_token IS NOT NULL';
    while ((await app.database.query(held, [run.score_run_id])).length > 0) await delay(20);
    await blocked(false);
    const results = await on.resultsOf(run.score_run_id);
    expect(results.map(({ score, error }) => [score, typeof error])).toEqual(
      Array<unknown>(4).fill([undefined, 'string']),
    );
    expect(await writtenTo(experiment)).toBe(0);
  });

  it('supersede the scores of an earlier run over the same traces, one by one, also at once', async () => {
    const trace_ids = await Promise.all(Array.from({ length: 20 }, () => on.trace({ output: 'x' })));
    const scorer = await on.scorer(script('function score() { return 1; }'));
    const order = () => on.score(scorer, { trace_ids, concurrency: 16 });
    const runs = await Promise.all([order(), order(), order()]);
    for (const { body } of runs) {
      expect(await on.finished(body.score_run_id)).toMatchObject({
        run_status: 'succeeded',
        completed_count: 20,
      });
    }
    const path = `/eval/v1/scores?scorer_id=${scorer.scorer_id}&limit=500`;
    const current = (await on.evaluator.get(path)).body.items as { trace_id: string; score_id: string }[];
    expect(new Set(current.map(({ trace_id }) => trace_id)).size).toBe(20);
    expect(current).toHaveLength(20);
    const all = (await on.evaluator.get(`${path}&include_superseded=true`)).body.items as {
      superseded_by_score_id: string | null;
    }[];
    expect(all).toHaveLength(60);
    expect(all.filter(({ superseded_by_score_id }) => superseded_by_score_id !== null)).toHaveLength(40);
  });

  /** Waits until a statement waits for a lock, or until none does. */
  async function blocked(isBlocked: boolean): Promise<void> {
    for (;;) {
      const waiting = await app.database.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      if (waiting.length > 0 === isBlocked) return;
      await delay(20);
    }
  }
});
