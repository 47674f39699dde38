import { setTimeout as delay } from 'node:timers/promises';
import { Database } from '#platform/db';
import { type Answer, ownApp, createTestWorker } from '#testing';
import type { EvaluationWorkspace, Experiment } from './evaluation.harness';
import {
  externalId,
  type FilledWorkspace,
  filledWorkspace,
  fillRecords,
  LARGE_TRACE,
  recordId,
  SHARED_SESSION,
} from './filled-workspace.fixture';
import { SCORES } from './human-scores.fixture';
import { statsPath } from './trace-stats.fixture';
import { type Work, workOf } from './work.harness';

/** Number of objects of each kind in the workspace. */
const MANY = 1_500;
/** Maximum number of rows that a statement can process per object. A bad plan processes all rows for each object. */
const ROWS_PER_OBJECT = 60;
/** Number of records of a large dataset, and maximum number of rows that a statement can process for a hundred of them. */
const LARGE = 50_000;
const ROWS_PER_HUNDRED = 5_000;

const TELEMETRY = '/telemetry/v1';
const EXPERIMENTS = '/eval/v1/experiments';
const traceId = (n: number): string => n.toString(16).padStart(32, '0');

/** A filled workspace with an experiment that pins a CSV version, and one that is backed by a large dataset. */
type Filled = FilledWorkspace & { pinnedId: string; largeId: string; recordsId: string };
type Ask = (on: Filled) => Promise<Answer>;

/**
 * Requests stay quick in a workspace that was filled after the last ANALYZE. The statistics of PostgreSQL say that such a
 * workspace has no rows, and a join that is planned for no rows can take quadratic time.
 */
describe('statements in a workspace without statistics', () => {
  const app = ownApp({ autovacuum: false });
  let on: Filled;

  beforeAll(async () => {
    await pinned((await filledWorkspace(app, 20)).space, 20);
    await app.database.query('ANALYZE');
    const filled = await filledWorkspace(app, MANY);
    const { space } = filled;
    const largeId = (await space.dataset()).dataset_id;
    const recordsId = (await space.experiment({ dataset_id: largeId })).experiment_id;
    await fillRecords(app, space, largeId, LARGE, 'large_');
    on = { ...filled, pinnedId: await pinned(space, MANY), largeId, recordsId };
  });

  /** Creates an experiment that pins a CSV version with this many rows. */
  async function pinned(space: EvaluationWorkspace, rows: number): Promise<string> {
    const { dataset_id } = await space.dataset();
    const content = `id\n${Array.from({ length: rows }, (_, n) => `case ${n}`).join('\n')}\n`;
    expect((await space.post(`/eval/v1/datasets/${dataset_id}/versions`, { content })).status).toBe(201);
    return (await space.experiment({ dataset_id, dataset_version: 1 })).experiment_id;
  }

  const list =
    (path: (of: typeof on) => string): Ask =>
    (of) =>
      of.space.viewer.get(path(of));
  const results = (query: string): Ask => list((of) => `${EXPERIMENTS}/${of.experimentId}/results?${query}`);
  const stats =
    (body: object): Ask =>
    (of) =>
      of.space.viewer.post(statsPath(of.experimentId), body);
  const search =
    (body: object): Ask =>
    ({ space }) =>
      space.viewer.post(`${EXPERIMENTS}/search`, { workspace_id: space.id, ...body });
  const score =
    (body: (of: typeof on) => object): Ask =>
    (of) =>
      of.space.evaluator.post(`/eval/v1/scorers/${of.scorers.code}/score`, body(of));
  const recordScore =
    (body: object): Ask =>
    ({ space, scorers }) =>
      space.evaluator.post(SCORES, {
        workspace_id: space.id,
        scorer_id: scorers.human,
        score: true,
        ...body,
      });
  const upload =
    (to: 'experimentId' | 'pinnedId' | 'recordsId', item: (n: number) => object): Ask =>
    (of) =>
      of.space.post(`${EXPERIMENTS}/${of[to]}/results/bulk`, {
        items: Array.from({ length: 100 }, (_, n) => item(n)),
      });
  const replaceResults: Ask = ({ space, experimentId }) =>
    space.post(`${EXPERIMENTS}/${experimentId}/results/bulk`, {
      on_conflict: 'replace',
      items: Array.from({ length: 100 }, (_, n) => ({ case_id: `case ${n + 1}`, scores: { code: 1 } })),
    });
  const records =
    (on_conflict: string): Ask =>
    ({ space, largeId }) =>
      space.post(`/eval/v1/datasets/${largeId}/records/bulk`, {
        on_conflict,
        items: Array.from({ length: 100 }, (_, n) => ({
          external_id: externalId(n + 1),
          input: on_conflict,
        })),
      });
  const lines: Ask = ({ space, largeId }) => {
    const items = Array.from({ length: 100 }, (_, n) => ({
      external_id: externalId(n + 1),
      input: `again ${n}`,
    }));
    return space.editor.post(
      `/eval/v1/datasets/${largeId}/records/import?on_conflict=update`,
      Buffer.from(items.map((item) => JSON.stringify(item)).join('\n')),
      { 'Content-Type': 'application/jsonl' },
    );
  };
  const finalize =
    (id: (of: typeof on) => string): Ask =>
    (of) =>
      of.space.editor.patch<Experiment>(`${EXPERIMENTS}/${id(of)}`, { experiment_status: 'completed' });

  const since = '2020-01-01T00:00:00Z';
  // The last requests change the data.
  const requests: [string, string, number, Ask][] = [
    ['the results of an experiment', 'results', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/results?limit=500`)],
    ['failed results', 'results', 200, results('has_error=true')],
    ['results with a tag', 'results', 200, results('tag=t&limit=500')],
    ['results with a score', 'scores', 200, results('score=other:gte:1&limit=500')],
    ['results sorted by a score', 'scores', 200, results('sort=-score:other&limit=500&score=code:eq:1')],
    ['results sorted by a score that none has', 'scores', 200, results('sort=score:human&limit=500')],
    ['results sorted by duration', 'results', 200, results('sort=-duration_ms&limit=500')],
    ['an export of results', 'results', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/results/export?score=other:gte:1`)],
    ['the traces of an experiment', 'traces', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/traces?limit=500`)],
    ['the spans of a trace', 'spans', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/traces/${LARGE_TRACE}/spans?limit=500&offset=900`)],
    ['the traces of the workspace', 'traces', 200, list(() => `${TELEMETRY}/traces?limit=500`)],
    ['traces with a root name', 'traces', 200, list(() => `${TELEMETRY}/traces?root_name=root%207&min_duration_ms=1`)],
    ['traces with a model', 'traces', 200, list(() => `${TELEMETRY}/traces?model=m`)],
    ['traces with an attribute', 'spans', 200, list(() => `${TELEMETRY}/traces?attribute=a:b`)],
    ['traces with a text', 'spans', 200, list(() => `${TELEMETRY}/traces?q=nowhere`)],
    ['a trace', 'spans', 200, list(() => `${TELEMETRY}/traces/${LARGE_TRACE}`)],
    ['an export of its spans', 'spans', 200, list(() => `${TELEMETRY}/traces/${LARGE_TRACE}/spans/export`)],
    ['the sessions', 'traces', 200, list(() => `${TELEMETRY}/sessions?limit=500`)],
    ['the traces of a session', 'traces', 200, list(() => `${TELEMETRY}/sessions/ses%207/traces`)],
    ['statistics of traces', 'traces', 200, stats({})],
    ['statistics by model and case', 'spans', 200, stats({ group_by: ['model', 'case_id'] })],
    ['statistics of a model', 'trace_models', 200, stats({ filters: [{ field: 'model', op: 'eq', value: 'm' }] })],
    ['an agreement', 'scores', 200, list((of) => `/eval/v1/scorers/${of.scorers.code}/agreement?reference_scorer_id=${of.scorers.other}`)],
    ['an agreement with people', 'scores', 200, list((of) => `/eval/v1/scorers/${of.scorers.code}/agreement?reference_scorer_id=${of.scorers.human}&experiment_id=${of.experimentId}`)],
    ['the scores of an experiment', 'scores', 200, list((of) => `${SCORES}?experiment_id=${of.experimentId}&limit=500&offset=500&sort=created_at`)],
    ['human scores', 'scores', 200, list(() => `${SCORES}?source=human&limit=500`)],
    ['the lowest scores of a scorer', 'scores', 200, list(() => `${SCORES}?scorer_name=other&sort=score&since=2020-01-01T00:00:00Z&source=client`)],
    ['the highest scores', 'scores', 200, list(() => `${SCORES}?sort=-score&limit=500`)],
    ['scores with a comment', 'scores', 200, list(() => `${SCORES}?comment=x&metadata=${encodeURIComponent('{"a": 1}')}`)],
    ['experiments by a score', 'experiment_scores', 200, search({ name: 'many', score: { scorer: 's', gte: 1 } })],
    ['records by a word', 'records', 200, list((of) => `/eval/v1/datasets/${of.datasetId}/records?limit=500&q=question`)],
    ['an export of records', 'records', 200, list((of) => `/eval/v1/datasets/${of.datasetId}/records/export`)],
    ['a preview of targets', 'results', 200, score((of) => ({ mode: 'preview', experiment_id: of.experimentId, limit: 5 }))],
    ['a preview of unscored targets', 'target_outcomes', 200, score((of) => ({ mode: 'preview', experiment_id: of.experimentId, limit: 5, unscored_only: true }))],
    ['a selection of too many traces', 'traces', 422, score(() => ({ since, unscored_only: true }))],
    ['a selection of too many sessions', 'traces', 422, score(() => ({ since, unscored_only: true, grain: 'session' }))],
    ['a test run', 'results', 200, score((of) => ({ mode: 'test', experiment_id: of.experimentId, limit: 5 }))],
    ['a scoring run', 'score_targets', 202, score((of) => ({ experiment_id: of.experimentId, limit: 100, unscored_only: true }))],
    ['a human score of a trace', 'scores', 201, recordScore({ trace_id: traceId(7) })],
    ['a human score of a session that many results reference', 'results', 201, recordScore({ session_id: SHARED_SESSION })],
    ['an upload of results whose traces people have scored', 'scores', 207, upload('experimentId', (n) => ({ case_id: `new ${n}`, trace_id: traceId(n + 1) }))],
    ['an upload that replaces results', 'scores', 207, replaceResults],
    ['an upload of results for the cases of a CSV version', 'dataset_cases', 207, upload('pinnedId', (n) => ({ case_id: `case ${n}` }))],
    ['finalizing a baseline', 'results', 200, finalize((of) => of.baselineId)],
    ['a comparison', 'results', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/compare`)],
    ['finalizing an experiment', 'results', 200, finalize((of) => of.experimentId)],
    ['a comparison of finalized experiments', 'results', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/compare`)],
  ]; // oxfmt-ignore
  const requestsOnLarge: typeof requests = [
    ['an upload of results for records', 'records', 207, upload('recordsId', (n) => ({ case_id: `record ${n}`, dataset_record_id: recordId('large_', n + 1) }))],
    ['a bulk create that skips records', 'records', 207, records('skip')],
    ['a bulk create that updates records', 'records', 207, records('update')],
    ['an import that updates records', 'records', 200, lines],
  ]; // oxfmt-ignore

  /** Expects that all statements processed few rows, and that some of them used this table. */
  function expectLight(works: Work[], table: string, most = MANY * ROWS_PER_OBJECT): void {
    const reads = new RegExp(`\\b(FROM|JOIN|INTO|UPDATE) ${table}\\b`);
    expect(works.filter(({ statement }) => reads.test(statement))).not.toEqual([]);
    const heavy = works.filter(({ rows }) => rows > most);
    if (heavy.length > 0) throw new Error(JSON.stringify(heavy, null, 1).slice(0, 20_000));
  }

  // first, so that no other run is queued
  it('read only the rows they need for a scoring run in the worker', async () => {
    const { space, experimentId } = await filledWorkspace(app, MANY, 'worker');
    const scorer = {
      name: 'run',
      scorer_kind: 'code',
      definition: { checks: [{ type: 'contains', value: '7' }] },
    };
    const { scorer_id } = (await space.post<{ scorer_id: string }>('/eval/v1/scorers', scorer)).body;
    const path = `/eval/v1/scorers/${scorer_id}/score`;
    const body = { experiment_id: experimentId, limit: 20 };
    const run = (await space.evaluator.post<{ score_run_id: string }>(path, body)).body;
    const worker = await createTestWorker(app);
    try {
      const works = await workOf(worker.get(Database), () => finished(space, run.score_run_id));
      for (const table of ['score_targets', 'results', 'target_outcomes', 'score_runs'])
        expectLight(works, table);
    } finally {
      await worker.close();
    }
  });

  it.each(requests)('read only the rows they need for %s', async (_, table, status, ask) => {
    let answer: Answer | undefined;
    const works = await workOf(app.database, async () => (answer = await ask(on)));
    expect(answer?.status).toBe(status);
    expectLight(works, table);
  });

  it.each(requestsOnLarge)(
    'read only the rows they need in a large dataset for %s',
    async (_, table, status, ask) => {
      let answer: Answer | undefined;
      const works = await workOf(app.database, async () => (answer = await ask(on)));
      expect(answer?.status).toBe(status);
      expectLight(works, table, ROWS_PER_HUNDRED);
    },
  );

  async function finished({ evaluator }: EvaluationWorkspace, id: string): Promise<void> {
    for (;;) {
      const { body } = await evaluator.get<{ run_status: string }>(`/eval/v1/score-runs/${id}`);
      if (body.run_status === 'succeeded') return;
      expect(['queued', 'running']).toContain(body.run_status);
      await delay(50);
    }
  }
});
