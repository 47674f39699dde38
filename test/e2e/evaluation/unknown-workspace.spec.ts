import { type Answer, createTestApp, type TestApp } from '#testing';
import type { EvaluationWorkspace, Experiment } from './evaluation.harness';
import {
  type FilledWorkspace,
  filledWorkspace,
  LARGE_TRACE,
  SHARED_SESSION,
} from './filled-workspace.fixture';
import { SCORES } from './human-scores.fixture';
import { statsPath } from './trace-stats.fixture';
import { workOf } from './work.harness';

/** Of each kind that the workspace has. */
const MANY = 1_500;
/** Rows that a statement may go through for each of them: some, where it would be all of them for each of them. */
const EACH = 60;

const EXPERIMENTS = '/eval/v1/experiments';
const traceId = (n: number): string => n.toString(16).padStart(32, '0');

type Ask = (on: FilledWorkspace & { pinnedId: string }) => Promise<Answer>;

/**
 * What a user would lose: answers within seconds in a workspace that was filled since PostgreSQL last looked at its
 * tables. What it knows says that such a workspace has no rows, and a join that is planned for none can take the square
 * of those that there are.
 */
describe('in a workspace of which the statistics know nothing, the work of each statement grows with its rows', () => {
  let app: TestApp;
  let on: FilledWorkspace & { pinnedId: string };

  beforeAll(async () => {
    app = await createTestApp();
    const tables = await app.database.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
    for (const { name } of tables) {
      await app.database.query(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`);
    }
    await pinned((await filledWorkspace(app, 20)).space, 20);
    await app.database.query('ANALYZE');
    const filled = await filledWorkspace(app, MANY);
    on = { ...filled, pinnedId: await pinned(filled.space, MANY) };
  });
  afterAll(() => app.close());

  /** An experiment that takes cases of a file alone. */
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
  const said =
    (body: object): Ask =>
    ({ space, scorers }) =>
      space.evaluator.post(SCORES, {
        workspace_id: space.id,
        scorer_id: scorers.human,
        value: true,
        ...body,
      });
  const upload =
    (to: 'experimentId' | 'pinnedId', item: (n: number) => object): Ask =>
    (of) =>
      of.space.post(`${EXPERIMENTS}/${of[to]}/results/bulk`, {
        items: Array.from({ length: 100 }, (_, n) => item(n)),
      });
  const finalize =
    (id: (of: typeof on) => string): Ask =>
    (of) =>
      of.space.editor.patch<Experiment>(`${EXPERIMENTS}/${id(of)}`, { experiment_status: 'completed' });

  const since = '2020-01-01T00:00:00Z';
  // those that come last change what there is
  const asked: [string, number, Ask][] = [
    ['the results of an experiment', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/results?limit=500`)],
    ['its traces', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/traces?limit=500`)],
    ['the spans of a trace', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/traces/${LARGE_TRACE}/spans?limit=500&offset=900`)],
    ['figures over its traces', 200, stats({})],
    ['figures by model and case', 200, stats({ group_by: ['model', 'case_id'] })],
    ['figures of a model', 200, stats({ filters: [{ field: 'model', op: 'eq', value: 'm' }] })],
    ['a comparison', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/compare`)],
    ['an agreement', 200, list((of) => `/eval/v1/scorers/${of.scorers.code}/agreement?reference_scorer_id=${of.scorers.other}`)],
    ['an agreement with people', 200, list((of) => `/eval/v1/scorers/${of.scorers.code}/agreement?reference_scorer_id=${of.scorers.human}&experiment_id=${of.experimentId}`)],
    ['the scores of people', 200, list((of) => `${SCORES}?experiment_id=${of.experimentId}&limit=500&offset=500&sort=updated_at`)],
    ['experiments by a score', 200, search({ name: 'many', score: { scorer: 's', gte: 1 } })],
    ['records by a word', 200, list((of) => `/eval/v1/datasets/${of.datasetId}/records?limit=500&q=question`)],
    ['an export of records', 200, list((of) => `/eval/v1/datasets/${of.datasetId}/records/export`)],
    ['what is to be scored', 200, score((of) => ({ mode: 'preview', experiment_id: of.experimentId, limit: 5 }))],
    ['what is not scored', 200, score((of) => ({ mode: 'preview', experiment_id: of.experimentId, limit: 5, unscored_only: true }))],
    ['a selection of too many', 422, score(() => ({ since, unscored_only: true }))],
    ['a selection of too many sessions', 422, score(() => ({ since, unscored_only: true, grain: 'session' }))],
    ['a run', 202, score((of) => ({ experiment_id: of.experimentId, limit: 100, unscored_only: true }))],
    ['a score of a person', 201, said({ trace_id: traceId(7) })],
    ['a score of what many results name', 201, said({ session_id: SHARED_SESSION })],
    ['an upload of what people have scored', 207, upload('experimentId', (n) => ({ case_id: `new ${n}`, trace_id: traceId(n + 1) }))],
    ['an upload of cases of a file', 207, upload('pinnedId', (n) => ({ case_id: `case ${n}` }))],
    ['finalizing', 200, finalize((of) => of.experimentId)],
    ['finalizing the baseline', 200, finalize((of) => of.baselineId)],
    ['a comparison of the frozen', 200, list((of) => `${EXPERIMENTS}/${of.experimentId}/compare`)],
  ]; // prettier-ignore

  it.each(asked)('%s', async (_, status, ask) => {
    let answer: Answer | undefined;
    const works = await workOf(app, async () => (answer = await ask(on)));
    expect(answer?.status).toBe(status);
    expect(works.length).toBeGreaterThan(0);
    const heavy = works.filter(({ rows }) => rows > MANY * EACH);
    if (heavy.length > 0) throw new Error(JSON.stringify(heavy, null, 1).slice(0, 20_000));
  });
});
