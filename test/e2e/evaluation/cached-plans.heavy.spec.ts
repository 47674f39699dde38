import { newId } from '#platform/ids';
import { ownApp } from '#testing';
import { RunExecutionRepository } from '../../../src/evaluation/scoring/score-runs/run-execution.repository';
import type { ScoringTarget } from '../../../src/evaluation/scoring/targets/target.entity';
import { AnnotationFixture, type Queue } from './annotation.fixture';
import type { Experiment } from './evaluation.harness';
import { SCORES, type Scorer } from './human-scores.fixture';

/** PostgreSQL caches the plan of a named statement from its sixth execution on a connection. */
const CONNECTIONS = 2;
const EXECUTIONS = 10 * CONNECTIONS;
const FLUSH = 'SELECT pg_stat_force_next_flush(), pg_sleep(0.1)';
/** Number of rows that each table gets after the plans were cached. */
const MANY = 5_000;
/** Maximum number of rows and index entries that one write can read. */
const FEW = 500;

/**
 * A connection caches the plans of named statements until the tables are analyzed. Plans from when the tables were almost
 * empty must still be good when the tables are full.
 */
describe('writes with plans that were cached while the tables were empty', () => {
  const app = ownApp({ env: { DATABASE_POOL_SIZE: String(CONNECTIONS) }, autovacuum: false });
  let on: AnnotationFixture;
  let scorer: Scorer;
  // A human score is copied to every result of its trace. The trace that is scored repeatedly has only one result.
  let traceId: string;
  let traceOfMany: string;
  let experiment: Experiment;
  let queue: Queue;
  let hosted: string;

  /** Returns the number of rows and index entries that the connections have read so far. */
  const rowsRead = async (): Promise<number> => {
    // a query outside the transaction uses the other connection
    await app.database.transaction((tx) => Promise.all([tx.query(FLUSH), app.database.query(FLUSH)]));
    const [row] = await app.database.query<{ read: number }>(
      `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)::int8
            + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)::int8 AS read`,
    );
    return row!.read;
  };

  const writes: Record<string, () => Promise<unknown>> = {
    'a human score': () => scoreOf({ trace_id: traceId, scorer_id: scorer.scorer_id, score: true }),
    'a client score of a result': async () =>
      scoreOf({ result_id: await upload({}), scorer_name: 'free', score: 1 }),
    'a result with scores': () => upload({ scores: { own: 1, other: 0 } }),
    'a result of a trace that people have scored': () => upload({ trace_id: traceOfMany }),
    'a result that is replaced': async () => {
      const case_id = newId('item');
      await upload({ case_id, scores: { own: 1 } });
      await upload({ case_id, scores: { own: 0 }, on_conflict: 'replace' });
    },
    'the scores of a queue item': async () => {
      const answer = await on.score(queue, await on.claim(queue));
      expect(answer.status).toBeLessThan(300);
    },
    'the skip of a queue item': async () => {
      const answer = await on.skip(queue, await on.claim(queue));
      expect(answer.status).toBeLessThan(300);
    },
    'the results of two consecutive runs': async () => {
      const target = await newTarget();
      await storeRun(target);
      await storeRun(target);
    },
  };

  const scoreOf = async (fields: object): Promise<void> => {
    const answer = await on.space.evaluator.post(SCORES, { workspace_id: on.space.id, ...fields });
    expect(answer.status).toBe(201);
  };
  const upload = async (fields: object): Promise<string> => {
    const path = `/eval/v1/experiments/${experiment.experiment_id}/results`;
    const answer = await on.space.post<{ result_id: string }>(path, { case_id: newId('item'), ...fields });
    expect(answer.status).toBeLessThan(300);
    return answer.body.result_id;
  };
  const newTarget = async (): Promise<ScoringTarget> => ({
    ordinal: 0,
    trace_id: null,
    session_id: null,
    result_experiment_id: experiment.experiment_id,
    result_id: await upload({}),
    result_version: 1,
    case_id: null,
  });

  /** Stores the results of a running run like its worker. */
  async function storeRun(target: ScoringTarget): Promise<void> {
    const score_run_id = newId('run');
    await app.database.query(
      `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status,
                               concurrency, total, created_at, updated_at, created_by)
       VALUES ($1, 'org', $2, $3, 1, 'trace', 'running', 4, 1, now(), now(), 'test')`,
      [score_run_id, on.space.id, hosted],
    );
    await app.database.query(
      `INSERT INTO score_targets (score_run_id, ordinal, result_experiment_id, result_id, result_version)
       VALUES ($1, 0, $2, $3, 1)`,
      [score_run_id, target.result_experiment_id, target.result_id],
    );
    const item = { score: 1, elapsed_ms: 1 };
    const scored = { target, scoreId: newId('score'), item };
    const run = {
      ...{ score_run_id, workspace_id: on.space.id },
      ...{ scorer_id: hosted, scorer_version: 1, created_by: 'test' },
    };
    expect(await app.get(RunExecutionRepository).store(run, [scored])).toEqual([true]);
  }

  /** Fills every table with rows of the workspace and of the scorers, without updating the planner's statistics. */
  async function fill(): Promise<void> {
    const { id } = on.space;
    const { experiment_id } = experiment;
    const values = [id, experiment_id, hosted, scorer.scorer_id, queue.queue_id];
    const generated = `generate_series(1, ${MANY}) n WHERE num_nonnulls($1::text, $2::text, $3::text, $4::text, $5::text) = 5`;
    for (const statement of [
      `INSERT INTO results (experiment_id, result_id, workspace_id, case_id, created_at, updated_at, created_by)
       SELECT $2, 'res_0' || lpad(n::text, 25, '0'), $1, 'filled ' || n, now(), now(), 'test' FROM ${generated}`,
      `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_name, source, target_kind, trace_id,
                           score, created_at, created_by)
       SELECT 'score_0' || lpad(n::text, 25, '0'), $1, CASE n % 2 WHEN 0 THEN $3 ELSE $4 END, 1, 'filled',
              CASE n % 2 WHEN 0 THEN 'hosted' ELSE 'human' END, 'trace', md5(n::text), 1, now(), 'test' FROM ${generated}`,
      `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status,
                               concurrency, total, created_at, updated_at, created_by)
       SELECT 'run_0' || lpad(n::text, 25, '0'), 'org', $1, $3, 1, 'trace', 'running', 4, 1, now(), now(), 'test'
       FROM ${generated}`,
      `INSERT INTO score_targets (score_run_id, ordinal, trace_id)
       SELECT 'run_0' || lpad(n::text, 25, '0'), 0, md5(n::text) FROM ${generated}`,
      `INSERT INTO target_outcomes (score_run_id, ordinal, score_id, workspace_id, scorer_id, scorer_version, grain,
                                    target_id, elapsed_ms)
       SELECT 'run_0' || lpad(n::text, 25, '0'), 0, 'score_' || n, $1, $3, 1, 'trace', md5(n::text), 1
       FROM ${generated}`,
      `INSERT INTO experiments (experiment_id, workspace_id, name, experiment_name, experiment_status, created_at,
                                updated_at, created_by)
       SELECT 'exp_0' || lpad(n::text, 25, '0'), $1, 'filled', 'filled', 'running', now(), now(), 'test'
       FROM ${generated}`,
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models)
       SELECT $1, md5(n::text), now(), now(), 1, 0, '{}' FROM ${generated}`,
      `INSERT INTO annotation_items (item_id, workspace_id, queue_id, trace_id, created_at, updated_at)
       SELECT 'item_z' || lpad(n::text, 25, '0'), $1, $5, md5(n::text), now(), now() FROM ${generated}`,
      `INSERT INTO annotation_places (item_id, place, workspace_id, queue_id)
       SELECT 'item_z' || lpad(n::text, 25, '0'), 0, $1, $5 FROM ${generated}`,
      `INSERT INTO annotation_answers (item_id, principal_id, author, workspace_id, queue_id, outcome, score_ids, created_at)
       SELECT 'item_z' || lpad(n::text, 25, '0'), 'usr_other', '', $1, $5, 'scored', '{}', now() FROM ${generated}`,
      `INSERT INTO annotation_annotators (workspace_id, queue_id, principal_id, author, created_at, last_active_at)
       SELECT $1, $5, 'usr_' || n, '', now(), now() FROM ${generated}`,
    ]) {
      await app.database.query(statement, values);
    }
  }

  beforeAll(async () => {
    on = await AnnotationFixture.open(app);
    scorer = await on.scorer();
    const trace_ids = await on.traces(4 * EXECUTIONS);
    [traceId, traceOfMany] = trace_ids as [string, string];
    experiment = await on.space.experiment();
    await upload({ trace_id: traceId });
    await scoreOf({ trace_id: traceOfMany, scorer_id: scorer.scorer_id, score: true });
    queue = await on.queue(scorer, { trace_ids });
    const definition = { language: 'javascript', source: 'function score() { return 1; }' };
    const code = { name: 'hosted', scorer_kind: 'code', definition };
    hosted = (await on.space.post<{ scorer_id: string }>('/eval/v1/scorers', code)).body.scorer_id;
    for (const write of Object.values(writes)) {
      for (let executed = 0; executed < EXECUTIONS; executed++) await write();
    }
    await fill();
  });

  it.each(Object.keys(writes))('read few rows: %s', async (name) => {
    const before = await rowsRead();
    await writes[name]!();
    expect((await rowsRead()) - before).toBeLessThan(FEW);
  });
});
