import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '#platform/ids';
import {
  RunExecutionRepository,
  type ScoredTarget,
} from '../../src/evaluation/scoring/score-runs/run-execution.repository';
import type { ScoringRun } from '../../src/evaluation/scores';
import { ScoreRunRepository } from '../../src/evaluation/scoring/score-runs/score-run.repository';
import { script } from '../e2e/evaluation/scoring.fixture';
import { type GatedService, JUDGE, withGate } from './gate.fixture';

const indexes = (count: number) => Array.from({ length: count }, (_, index) => ({ input: index }));

/** Targets that finish at the same time share a transaction. */
describe('a run', () => {
  let app: GatedService['app'];
  let worker: GatedService['worker'];
  let gate: GatedService['gate'];
  let on: GatedService['on'];
  withGate((service) => ({ app, worker, gate, on } = service));
  afterEach(() => jest.restoreAllMocks());

  const cancel = (id: string) => on.evaluator.post(`/eval/v1/score-runs/${id}/cancel`);
  const writtenTo = async (experiment: { experiment_id: string }): Promise<number> =>
    (await on.resultsOfExperiment(experiment)).filter(({ scores }) => Object.keys(scores).length > 0).length;
  /** Records the ordinals that each transaction stores. The first transaction starts when all other targets are scored. */
  const groupsAfterFirst = (count: number): number[][] => {
    const results = worker.get(RunExecutionRepository);
    const store = results.store.bind(results);
    const groups: number[][] = [];
    jest.spyOn(results, 'store').mockImplementation(async (run, scored) => {
      groups.push(scored.map(({ target }) => target.ordinal));
      if (groups.length === 1) await allScored(count);
      return store(run, scored);
    });
    return groups;
  };
  const allScored = async (count: number): Promise<void> => {
    while (gate.requests.length < count || gate.heldCount > 0) await delay(20);
    const judged = 'SELECT count(*)::int AS count FROM judge_answers WHERE workspace_id = $1';
    const countOf = async () =>
      (await app.database.query<{ count: number }>(judged, [on.workspaceId]))[0]!.count;
    while ((await countOf()) < count) await delay(20);
    await delay(300); // until the worker knows that the last answers are stored
  };
  /** Counts the transactions that store results. One that is repeated after a deadlock counts again. */
  const countStores = (): jest.SpyInstance =>
    jest.spyOn(
      worker.get(RunExecutionRepository) as unknown as { insertOutcomes(): unknown },
      'insertOutcomes',
    );
  /** Returns the key of a run, and scores for some of its targets. */
  const scoredOf = async ({ score_run_id }: { score_run_id: string }) => {
    const [key] = await app.database.query<ScoringRun>('SELECT * FROM score_runs WHERE score_run_id = $1', [
      score_run_id,
    ]);
    const targets = await worker.get(RunExecutionRepository).targetsLeft(key!);
    const scored = (from: number, to: number, score: number): ScoredTarget[] =>
      targets.slice(from, to).map((target) => ({
        target,
        scoreId: newId('score'),
        item: { score, elapsed_ms: 1 },
      }));
    return { key: key!, scored };
  };

  it('stores many targets in few transactions', async () => {
    const groups = groupsAfterFirst(32);
    const { run, experiment } = await on.runOver(indexes(32), JUDGE, { concurrency: 32 });
    await gate.holds(32);
    gate.release();
    await on.finished(run.score_run_id);
    expect(groups.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 32 }, (_, n) => n));
    expect(groups.length).toBeLessThanOrEqual(3);
    expect(await writtenTo(experiment)).toBe(32);
  });

  it('stores more results of code together than are scored at once', async () => {
    const store = jest.spyOn(worker.get(RunExecutionRepository), 'store');
    const scorer = script('const score = ({ input }) => input');
    const { run, experiment } = await on.runOver(indexes(40), scorer, { concurrency: 2 });
    await on.finished(run.score_run_id);
    const sizes = store.mock.calls.map(([, scored]) => scored.length);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(40);
    expect(Math.max(...sizes)).toBeGreaterThan(4);
    expect(await writtenTo(experiment)).toBe(40);
  });

  it('stores each target once', async () => {
    const { run, experiment } = await on.runOver(indexes(6), JUDGE, { concurrency: 1 });
    await gate.holds(1);
    const { key, scored } = await scoredOf(run);
    const results = worker.get(RunExecutionRepository);
    const stores = countStores();
    const outcomes = await Promise.all([
      results.store(key, scored(0, 4, 0.25)),
      results.store(key, scored(2, 6, 0.75)),
      results.store(key, scored(0, 6, 0.5)),
    ]);
    expect(stores).toHaveBeenCalledTimes(3);
    expect(outcomes.flat().filter((isStored) => isStored)).toHaveLength(6);
    expect(await results.store(key, scored(0, 6, 1))).toEqual(Array<boolean>(6).fill(false));
    const stored = await on.resultsOf(run.score_run_id);
    expect(stored).toHaveLength(6);
    const inResults = (await on.resultsOfExperiment(experiment)).map(({ result_id, scores }) => [
      result_id,
      Object.values(scores)[0],
    ]);
    expect(Object.fromEntries(inResults)).toEqual(
      Object.fromEntries(stored.map(({ result_id, score }) => [result_id, score])),
    );
    await cancel(run.score_run_id);
  });

  it('stores the rest of a group if one target cannot be stored', async () => {
    const { run, experiment } = await on.runOver(indexes(8), JUDGE, { concurrency: 8, cache: false });
    await gate.holds(8);
    const groups = groupsAfterFirst(8);
    gate.release({ open: true });
    while (groups.length === 0) await delay(5);
    const bad = groups[0]!.includes(3) ? 4 : 3;
    await app.database.query('DELETE FROM score_targets WHERE score_run_id = $1 AND ordinal = $2', [
      run.score_run_id,
      bad,
    ]);
    while ((await on.resultsOf(run.score_run_id)).length < 7) await delay(20);
    expect(groups.find((group) => group.includes(bad))!.length).toBeGreaterThan(1);
    expect(await writtenTo(experiment)).toBe(7);
    expect(gate.requests).toHaveLength(8);
    await cancel(run.score_run_id);
  });

  it('does not deadlock with a cancellation', async () => {
    const { run } = await on.runOver(indexes(6), JUDGE, { concurrency: 1 });
    await gate.holds(1);
    const { key, scored } = await scoredOf(run);
    const [stores, ends] = [countStores(), jest.spyOn(app.get(ScoreRunRepository), 'end')];
    let outcomes: Promise<[boolean[], { status: number }]> | undefined;
    const undone = app.database.transaction(async (tx) => {
      await tx.query(
        `INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                      target_id, elapsed_ms)
         SELECT score_run_id, 3, $2, workspace_id, scorer_id, scorer_version, grain, 'x', 0
         FROM score_runs WHERE score_run_id = $1`,
        [run.score_run_id, newId('score')],
      );
      const storing = worker.get(RunExecutionRepository).store(key, scored(0, 6, 1));
      await blocked(1);
      outcomes = Promise.all([storing, cancel(run.score_run_id)]);
      outcomes.catch(() => undefined);
      await blocked(2);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    const [stored, { status }] = await outcomes!;
    expect(stored).toEqual(Array<boolean>(6).fill(true));
    expect(status).toBe(200);
    expect([stores.mock.calls.length, ends.mock.calls.length]).toEqual([1, 1]);
  });

  it('stores nothing after a cancellation', async () => {
    const { run, experiment } = await on.runOver(indexes(4), JUDGE);
    await gate.holds(4);
    const { experiment_id } = experiment;
    await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM results WHERE experiment_id = $1 FOR UPDATE', [experiment_id]);
      gate.release();
      await blocked(1);
      expect((await cancel(run.score_run_id)).body).toMatchObject({ completed_count: 0, failed_count: 4 });
    });
    const leased = 'SELECT 1 FROM score_runs WHERE score_run_id = $1 AND lease_token IS NOT NULL';
    while ((await app.database.query(leased, [run.score_run_id])).length > 0) await delay(20);
    await blocked(0);
    const results = await on.resultsOf(run.score_run_id);
    expect(results.map(({ score, error }) => [score, typeof error])).toEqual(
      Array<unknown>(4).fill([undefined, 'string']),
    );
    expect(await writtenTo(experiment)).toBe(0);
  });

  it('supersedes the scores of concurrent runs over the same traces', async () => {
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

  /** Waits until this many statements wait for a lock. */
  async function blocked(count: number): Promise<void> {
    for (;;) {
      const waiting = await app.database.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      if (waiting.length === count) return;
      await delay(20);
    }
  }
});
