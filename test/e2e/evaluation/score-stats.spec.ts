import { sharedApp, jsonExport, newSpan, newTraceId } from '#testing';
import { EvaluationWorkspace, outcome } from './evaluation.harness';
import { SCORES } from './human-scores.fixture';

type Fields = Record<string, unknown>;
interface Row {
  group: Record<string, unknown>;
  values: Record<string, number | null>;
}

const STATS = `${SCORES}/stats/query`;
const DAY = 24 * 60 * 60 * 1000;

describe('statistics of scores', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const rowsOf = async (body: Fields): Promise<Row[]> => {
    const answer = await space.viewer.post<{ rows: Row[]; is_truncated: boolean }>(STATS, body);
    if (answer.status !== 200 || answer.body.is_truncated) throw new Error(JSON.stringify(answer.body));
    return answer.body.rows;
  };
  const score = async (fields: Fields): Promise<void> => {
    const body = { workspace_id: space.id, ...fields };
    const answer = await space.evaluator.post(SCORES, body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  };
  const trace = async (service: string, model: string): Promise<string> => {
    const traceId = newTraceId();
    const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': model };
    const body = jsonExport([newSpan({ traceId, attributes })], { 'service.name': service });
    expect((await space.evaluator.post('/telemetry/v1/traces', body)).status).toBe(200);
    return traceId;
  };

  it('contain count, mean, pass rate and exact percentiles', async () => {
    const trace_id = await trace('a', 'm');
    const values = [0, 0.25, 0.5, 0.75, 1];
    for (const [i, value] of values.entries()) {
      await score({ scorer_name: 's', trace_id, score: value, author: `${i}` });
    }
    await score({ scorer_name: 's', trace_id, score: null, author: 'abstains' });
    await score({ scorer_name: 's', trace_id, score: 1, author: '0' }); // supersedes the 0
    const [row] = await rowsOf({ scorer_name: 's' });
    expect(row).toEqual({
      group: {},
      values: {
        ...{ count: 5, null_count: 1, mean: 0.7, pass_rate: 0.8, min: 0.25, max: 1 },
        ...{ p10: 0.35, p25: 0.5, p50: 0.75, p75: 1, p90: 1, p95: 1, p99: 1 },
      },
    });
    expect((await rowsOf({ scorer_name: 's', pass_score: 0.75 }))[0]!.values.pass_rate).toBe(0.6);
    const none = await rowsOf({ scorer_name: 'nobody' });
    expect(none[0]!.values).toMatchObject({
      count: 0,
      null_count: 0,
      mean: null,
      pass_rate: null,
      p50: null,
    });
  });

  it('can be grouped by scorer, version, source, label, day, tag, model and service', async () => {
    const { experiment_id } = await space.experiment();
    const [one, two] = [await trace('chat', 'small'), await trace('search', 'large')];
    await space.result(experiment_id, { trace_id: one, tags: ['eu', 'new'], scores: { s: { score: 1, label: 'good' } } });
    await space.result(experiment_id, { trace_id: two, tags: ['eu'], scores: { s: { score: 0, label: 'bad' } } });
    await score({ scorer_name: 'thumbs', trace_id: one, score: false, source: 'end_user' });
    const groupsOf = async (group_by: string[], filters: Fields = { scorer_name: 's' }) =>
      (await rowsOf({ group_by, ...filters })).map(({ group, values }) => [...Object.values(group), values.count, values.mean]);
    const today = new Date().toISOString().slice(0, 10);
    expect(await groupsOf(['scorer', 'source'], {})).toEqual([['s', 'client', 2, 0.5], ['thumbs', 'end_user', 1, 0]]);
    expect(await groupsOf(['version', 'label'])).toEqual([[null, 'bad', 1, 0], [null, 'good', 1, 1]]);
    expect(await groupsOf(['day'])).toEqual([[today, 2, 0.5]]);
    expect(await groupsOf(['tag'])).toEqual([['eu', 2, 0.5], ['new', 1, 1]]);
    expect(await groupsOf(['tag'], { scorer_name: 'thumbs' })).toEqual([[null, 1, 0]]);
    expect(await groupsOf(['model'])).toEqual([['large', 1, 0], ['small', 1, 1]]);
    expect(await groupsOf(['service', 'day'])).toEqual([['chat', today, 1, 1], ['search', today, 1, 0]]);
    const hours = await groupsOf(['hour']);
    expect(hours.map(([hour]) => hour)).toEqual(hours.map(() => expect.stringMatching(`^(${today}T\\d{2}:00:00Z)$`)));
    expect(await groupsOf(['service'], { experiment_id, min_score: 0.5 })).toEqual([['chat', 1, 1]]);
  }); // oxfmt-ignore

  it('show a judge by day and version in one request', async () => {
    const trace_id = await trace('a', 'm');
    const definition = { prompt: 'Is {{output}} good?', output: { type: 'numeric', min: 0, max: 1 } };
    const created = await space.post<{ scorer_id: string }>('/eval/v1/scorers', { name: 'judge', scorer_kind: 'llm_judge', definition });
    const { scorer_id } = created.body;
    await score({ scorer_id, scorer_version: 1, trace_id, score: 0.25, author: '1' });
    await space.editor.patch(`/eval/v1/scorers/${scorer_id}`, { definition: { ...definition, prompt: 'Really?' } });
    await score({ scorer_id, scorer_version: 2, trace_id, score: 0.75, author: '2' });
    await app.database.query(
      `UPDATE scores SET created_at = created_at - interval '1 day' WHERE workspace_id = $1 AND author = '1'`,
      [space.id],
    );
    const [yesterday, today] = [1, 0].map((ago) => new Date(Date.now() - ago * DAY).toISOString().slice(0, 10));
    const rows = await rowsOf({ scorer_id, group_by: ['day', 'version'] });
    expect(rows.map(({ group, values }) => [group.day, group.version, values.mean])).toEqual([
      [yesterday, 1, 0.25],
      [today, 2, 0.75],
    ]);
    expect((await rowsOf({ scorer_id, since: `${today}T00:00:00Z` }))[0]!.values.count).toBe(1);
  }); // oxfmt-ignore

  it('show an agent by version and by the day of its traces', async () => {
    const versions: [string, Record<string, string>, Record<string, string>][] = [
      ['1', { 'service.name': 'a', 'service.version': '1' }, {}],
      ['2', { 'service.name': 'a', 'service.version': '1' }, { 'gen_ai.agent.version': '2' }],
    ];
    for (const [version, resource, attributes] of versions) {
      const traceId = newTraceId();
      const old = BigInt(Date.parse('2026-01-02T00:00:00Z')) * 1_000_000n;
      const root = newSpan({ traceId, start: old, end: old });
      const agent = newSpan({ traceId, parentSpanId: root.spanId, start: old, end: old, attributes });
      const body = jsonExport([root, agent], resource);
      expect((await space.evaluator.post('/telemetry/v1/traces', body)).status).toBe(200);
      await score({ scorer_name: 's', trace_id: traceId, score: Number(version) });
    }
    const rows = await rowsOf({ group_by: ['trace_day', 'agent_version'] });
    expect(rows.map(({ group, values }) => [group.trace_day, group.agent_version, values.mean])).toEqual([
      ['2026-01-02', '1', 1],
      ['2026-01-02', '2', 2],
    ]);
    const day = { trace_since: '2026-01-02T00:00:00Z', trace_until: '2026-01-03T00:00:00Z' };
    expect((await rowsOf(day))[0]!.values).toMatchObject({ count: 2, mean: 1.5 });
    expect((await rowsOf({ trace_since: day.trace_until }))[0]!.values.count).toBe(0);
    const listed = await space.viewer.get('/telemetry/v1/traces?agent_version=2');
    expect(listed.body.items).toEqual([expect.objectContaining({ agent_version: '2', service_name: 'a' })]);
  });

  it('separate the scores of a trace from the scores of results that name it', async () => {
    const trace_id = await trace('shop', 'gpt-4o');
    await score({ scorer_name: 'right', trace_id, score: 1 });
    const { experiment_id } = await space.experiment();
    await space.result(experiment_id, { trace_id, output: 'another answer', scores: { right: 0 } });
    const meansOf = async (fields: Fields) =>
      (await rowsOf({ scorer_name: 'right', ...fields })).map(({ values }) => [values.count, values.mean]);
    expect(await meansOf({ target_kind: 'trace' })).toEqual([[1, 1]]);
    expect(await meansOf({ target_kind: 'result' })).toEqual([[1, 0]]);
    expect(await meansOf({})).toEqual([[2, 0.5]]);
    const { body } = await space.viewer.get('/telemetry/v1/traces');
    expect(body.items[0].scores).toMatchObject([
      { score: 1, target_kind: 'trace', experiment_id: null, result_id: null },
    ]);
  });

  it('are finite for the largest scores', async () => {
    const trace_id = await trace('a', 'm');
    for (const value of [Number.MAX_VALUE, -Number.MAX_VALUE, Number.MAX_VALUE]) {
      await score({ scorer_name: 's', trace_id, score: value, author: `${Math.random()}` });
    }
    const [row] = await rowsOf({});
    expect(row!.values).toMatchObject({ count: 3, p50: Number.MAX_VALUE, min: -Number.MAX_VALUE });
    for (const value of Object.values(row!.values)) expect(Number.isFinite(value)).toBe(true);
  });

  it('are not returned for unknown members, groups or values (400, 422)', async () => {
    const outcomeOf = async (body: Fields) => outcome(await space.viewer.post(STATS, body));
    expect(await outcomeOf({ group_by: ['colour'] })).toEqual([422, 'validation_failed']);
    expect(await outcomeOf({ group_by: ['day', 'day'] })).toEqual([400, 'invalid_request']);
    expect(await outcomeOf({ scorer: 's' })).toEqual([400, 'invalid_request']);
    expect(await outcomeOf({ since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' })).toEqual([400, 'invalid_request']);
    expect(await outcomeOf({ workspace_id: 'wsp_x' })).toEqual([400, 'invalid_request']);
  }); // oxfmt-ignore
});
