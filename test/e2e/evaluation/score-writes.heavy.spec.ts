import { newId } from '#platform/ids';
import {
  type Answer,
  createTestWorker,
  jsonExport,
  newSpan,
  ownApp,
  sharedApp,
  type TestWorker,
} from '#testing';
import { RunExecutionRepository } from '../../../src/evaluation/scoring/score-runs/run-execution.repository';
import { EvaluationWorkspace } from './evaluation.harness';
import { SCORES } from './human-scores.fixture';
import { ScoringFixture, script } from './scoring.fixture';
import { workOf } from './work.harness';

/** How many other scores the scorer, the author and the workspace have. */
const MANY = 3_000;
/** How many rows one statement may read. */
const FEW = 100;

describe.each([
  ['a table that was never analyzed', false],
  ['statistics that do not include the workspace', true],
])('score writes with %s', (_, isAnalyzed) => {
  const app = ownApp({ autovacuum: false });
  let space: EvaluationWorkspace;
  let scorerId: string;
  let traceId: string;
  let author: string;

  const fill = (workspaceId: string): Promise<unknown> =>
    app.database.query(
      `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_version, scorer_name, source, target_kind, trace_id, score,
                           created_at, created_by)
       SELECT 'score_0' || lpad(n::text, 25, '0'), $1, $2, 1, 'kind',
              CASE WHEN n > ${MANY} THEN 'hosted' ELSE (ARRAY['client', 'end_user', 'human'])[n % 3 + 1] END,
              'trace', md5($1 || n), 1, now(), $3
       FROM generate_series(1, 3 * ${MANY}) n`,
      [workspaceId, scorerId, author],
    );
  const score = (fields: object) =>
    space.evaluator.post<{ created_by: string; supersedes_score_id: string | null }>(SCORES, {
      workspace_id: space.id,
      scorer_id: scorerId,
      score: true,
      ...fields,
    });
  const maxRowsOf = async (write: () => Promise<{ status: number }>): Promise<number> => {
    const works = await workOf(app.database, async () => expect((await write()).status).toBeLessThan(300));
    return Math.max(...works.map(({ rows }) => rows));
  };

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
    const definition = { rubric: 'Kind?', output: { type: 'boolean' } };
    const scorer = { name: 'kind', scorer_kind: 'human', definition };
    scorerId = (await space.post<{ scorer_id: string }>('/eval/v1/scorers', scorer)).body.scorer_id;
    const span = newSpan({});
    traceId = span.traceId;
    expect((await space.evaluator.post('/telemetry/v1/traces', jsonExport([span]))).status).toBe(200);
    author = (await score({ trace_id: traceId })).body.created_by;
    if (isAnalyzed) {
      await fill('wsp_other');
      await app.database.query('ANALYZE scores');
    }
    await fill(space.id);
  });

  it.each([
    ['a person', {}],
    ['an end user', { source: 'end_user', author: 'user' }],
    ['a client, without a scorer', { scorer_id: undefined, scorer_name: 'free' }],
  ])('read only the scores of the target for a score by %s', async (_who, fields) => {
    await score({ trace_id: traceId, ...fields });
    let superseded: string | null = null;
    const rows = await maxRowsOf(async () => {
      const answer = await score({ trace_id: traceId, ...fields });
      superseded = answer.body.supersedes_score_id;
      return answer;
    });
    expect(superseded).not.toBeNull();
    expect(rows).toBeLessThan(FEW);
  });

  it('read only the scores of the result for a score of a result', async () => {
    const { experiment_id } = await space.experiment();
    const { result_id } = await space.result(experiment_id, {});
    expect(await maxRowsOf(() => score({ result_id }))).toBeLessThan(FEW);
  });

  it('read only the scores of its trace for a result that is uploaded, replaced or patched', async () => {
    const { experiment_id } = await space.experiment();
    const results = `/eval/v1/experiments/${experiment_id}/results`;
    const upload = (on_conflict: string) => () =>
      space.post(results, { case_id: 'c', trace_id: traceId, scores: { own: 1 }, on_conflict });
    expect(await maxRowsOf(upload('error'))).toBeLessThan(FEW);
    expect(await maxRowsOf(upload('replace'))).toBeLessThan(FEW);
    const [result] = await space.list<{ result_id: string; scores: object }>(results);
    expect(result!.scores).toEqual({ own: 1, kind: 1 });
    const patched = () => space.evaluator.patch(`${results}/${result!.result_id}`, { scores: { own: 0 } });
    expect(await maxRowsOf(patched)).toBeLessThan(FEW);
  });

  it('read only the superseded score for a hosted score', async () => {
    const [trace] = await app.database.query<{ trace_id: string }>(
      `SELECT trace_id FROM scores WHERE workspace_id = $1 AND source = 'hosted' ORDER BY score_id DESC LIMIT 1`,
      [space.id],
    );
    const [run, scoreId] = [newId('run'), newId('score')];
    await app.database.query(
      `INSERT INTO score_runs (score_run_id, org_id, workspace_id, scorer_id, scorer_version, grain, run_status,
                               concurrency, total, created_at, updated_at, created_by)
       SELECT $1, org_id, workspace_id, $2, 1, 'trace', 'running', 4, 1, now(), now(), 'test'
       FROM workspaces WHERE workspace_id = $3`,
      [run, scorerId, space.id],
    );
    await app.database.query(
      'INSERT INTO score_targets (score_run_id, ordinal, trace_id) VALUES ($1, 0, $2)',
      [run, trace!.trace_id],
    );
    const other = { session_id: null, result_experiment_id: null, result_id: null, result_version: null };
    const target = { ordinal: 0, trace_id: trace!.trace_id, case_id: null, ...other };
    const scored = { target, scoreId, item: { score: 1, elapsed_ms: 0 } };
    const store = async () => {
      const key = {
        ...{ score_run_id: run, workspace_id: space.id },
        ...{ scorer_id: scorerId, scorer_version: 1, created_by: 'test' },
      };
      const [isStored] = await app.get(RunExecutionRepository).store(key, [scored]);
      return { status: isStored ? 200 : 409 };
    };
    expect(await maxRowsOf(store)).toBeLessThan(FEW);
    const superseded = await app.database.query(
      'SELECT trace_id FROM scores WHERE workspace_id = $1 AND superseded_by_score_id = $2',
      [space.id, scoreId],
    );
    expect(superseded).toEqual([trace]);
  });
});

describe('hosted scores', () => {
  const app = ownApp({ autovacuum: false });
  let worker: TestWorker;
  beforeAll(async () => {
    worker = await createTestWorker(app);
  });
  afterAll(async () => {
    await worker.close();
  });

  // The plan of the statement that stores them depends on the size of the table.
  it.each([3, 20, 100])('supersede those before them, with statistics of %i more scores', async (count) => {
    const on = await ScoringFixture.create(app);
    const experiment = await on.experiment();
    await on.results(
      experiment,
      Array.from({ length: count }, () => ({ scores: { judged: -1 } })),
    );
    const scorer = await on.scorer({ name: 'judged' });
    for (const score of [0.25, 0.5, 0.75]) {
      await app.database.query('ANALYZE scores');
      const changed = script(`function score() { return ${score}; }`);
      await on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, changed);
      for (const _again of [1, 2]) {
        const { body: run } = await on.score(scorer, { experiment_id: experiment.experiment_id });
        expect(await on.finished(run.score_run_id)).toMatchObject({
          ...{ run_status: 'succeeded', completed_count: count, not_written_back_count: 0 },
        });
        const { body } = await on.evaluator.get(`/eval/v1/experiments/${experiment.experiment_id}`);
        expect(body.current_scores).toEqual({ judged: { mean: score, count } });
      }
    }
  });
});

describe('a query for score statistics', () => {
  const app = sharedApp();

  it('reads no scores by other scorers if limited to one scorer and source', async () => {
    const space = await EvaluationWorkspace.open(app);
    await app.database.query(
      `INSERT INTO scores (score_id, workspace_id, scorer_id, scorer_name, source, target_kind, trace_id, score, created_at, created_by)
       SELECT 'score_' || lpad(n::text, 26, '0'), $1, 'scr_' || name, name, 'human', 'trace', md5($1 || n), 1, now(), 'test'
       FROM generate_series(1, ${MANY}) n, LATERAL (SELECT CASE n WHEN 1 THEN 'rare' ELSE 'other' END AS name) named`,
      [space.id],
    );
    let answer: Answer | undefined;
    const work = await workOf(app.database, async () => {
      answer = await space.viewer.post(`${SCORES}/stats/query`, { scorer_name: 'rare', source: 'human' });
    });
    expect(answer!.body.rows[0].values.count).toBe(1);
    expect(Math.max(...work.map((one) => one.rows))).toBeLessThan(FEW);
  });
});
