import { sharedApp, jsonExport, newSpan, SPAN_START } from '#testing';
import type { ProblemBody } from './evaluation.harness';
import { ANSWER, INSTRUMENTED_AGENTS, QUESTION, sendAgent } from './instrumented-agent.fixture';
import { newTraceId, ScoringFixture } from './scoring.fixture';

describe('records from traces', () => {
  const app = sharedApp();
  let on: ScoringFixture;
  let dataset: string;

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
    dataset = await newDataset();
  });

  const newDataset = async (members: object = {}): Promise<string> => {
    const body = { workspace_id: on.workspaceId, name: newTraceId(), ...members };
    const { headers } = await on.evaluator.post('/eval/v1/datasets', body);
    return headers.get('location')!;
  };
  const make = (body: object, of = dataset) =>
    on.evaluator.post(`${of}/records/from-traces`, { workspace_id: on.workspaceId, ...body });
  const stored = async (of = dataset): Promise<any[]> =>
    (await on.evaluator.get(`${of}/records?limit=500&sort=created_at`)).body.items;
  const statuses = (answer: { body: any }): number[] => answer.body.items.map((one: any) => one.status_code);
  const placesOf = ({ errors }: ProblemBody): unknown[] => errors!.map(({ pointer }) => pointer);

  it('have the input of the trace, no expected answer, and a reference to the trace', async () => {
    const startedAt = Date.UTC(2026, 10, 20, 12);
    const first = await on.trace({ input: { q: 'a', n: 1 }, output: 'wrong', sessionId: 'chat', startedAt });
    const second = await on.trace({ input: 'b', output: 'wrong too', startedAt });
    const answer = await make({ trace_ids: [first, second], tags: ['bad', 'bad'] });
    expect(answer.status).toBe(207);
    expect(answer.body.items).toMatchObject([
      { index: 0, trace_id: first, status_code: 201 },
      { index: 1, trace_id: second, status_code: 201 },
    ]);
    const names = { root_name: 'root', service_name: null, started_at: '2026-11-20T12:00:00.000Z' };
    const common = { expected: null, tags: ['bad'], label: null, category: null, source_kind: 'trace' };
    const records = answer.body.items.map((item: any) => item.record);
    expect(records).toMatchObject([
      { ...common, input: { q: 'a', n: 1 }, source_ref: first, external_id: first, metadata: { ...names, session_id: 'chat' } },
      { ...common, input: 'b', source_ref: second, external_id: second, metadata: { ...names, session_id: null } },
    ]); // oxfmt-ignore
    expect(await stored()).toEqual(records);
    expect((await on.evaluator.get(dataset)).body.record_count).toBe(2);
  });

  it('expect the output of the trace if the request says so', async () => {
    const [good, silent] = [await on.trace({ input: 'q', output: 'right' }), await on.trace({ input: 'q' })];
    const answer = await make({ trace_ids: [good, silent], expected: 'output' });
    expect(statuses(answer)).toEqual([201, 400]);
    expect(answer.body.items[0].record.expected).toBe('right');
    expect(answer.body.items[1].error.detail).toContain('no output');
  });

  it('have the values that a scorer sees: of the root span, else the model calls, but never of a result', async () => {
    const rated = await on.trace({ input: 'asked', output: 'of the span' });
    const experiment = await on.experiment();
    await on.result(experiment, { trace_id: rated, input: { case: 1 }, output: 'of the result' });
    const silent = await sendAgent(on, INSTRUMENTED_AGENTS[0]!);
    const answer = await make({ trace_ids: [rated, silent], expected: 'output' });
    expect(answer.body.items.map(({ record }: any) => [record.input, record.expected])).toEqual([
      ['asked', 'of the span'],
      [QUESTION, ANSWER],
    ]);
  });

  it('fail individually for traces without input', async () => {
    const [empty, full] = [await on.trace({ output: 'x' }), await on.trace({ input: 'q' })];
    const answer = await make({ trace_ids: [empty, full] });
    expect(statuses(answer)).toEqual([400, 201]);
    expect(answer.body.items[0]).toMatchObject({ trace_id: empty, error: { code: 'invalid_request' } });
    expect(answer.body.items[0].error.detail).toContain('no input');
    expect(await stored()).toHaveLength(1);
  });

  it('are not created twice: a repeat is a conflict that names the record, or skips it', async () => {
    const trace_ids = [await on.trace({ input: 'q', output: 'wrong' })];
    const { record } = (await make({ trace_ids })).body.items[0];
    const path = `${dataset}/records/${record.dataset_record_id}`;
    await on.evaluator.patch(path, { expected: 'written by a person' });
    const repeat = await make({ trace_ids: [...trace_ids, ...trace_ids] });
    expect(statuses(repeat)).toEqual([409]);
    expect(repeat.body.items[0].error.detail).toContain(record.dataset_record_id);
    const skipped = await make({ trace_ids, on_conflict: 'skip', expected: 'output' });
    expect(skipped.body.items).toMatchObject([
      { status_code: 200, record: { dataset_record_id: record.dataset_record_id, expected: 'written by a person' } },
    ]); // oxfmt-ignore
    expect((await make({ trace_ids, on_conflict: 'update' })).status).toBe(422);
    await on.evaluator.post(`${path}/archive`);
    expect(statuses(await make({ trace_ids }))).toEqual([201]);
  });

  it('fail individually with the faults if they violate the schemas of the dataset', async () => {
    const strict = await newDataset({
      input_schema: { type: 'object', required: ['question'] },
      expected_schema: { type: ['string', 'null'] },
    });
    const good = await on.trace({ input: { question: 'q' }, output: 'a' });
    const wrong = await on.trace({ input: { frage: 'q' }, output: { a: 1 } });
    const answer = await make({ trace_ids: [good, wrong], expected: 'output' }, strict);
    expect(statuses(answer)).toEqual([201, 400]);
    expect(answer.body.items[1].error.code).toBe('invalid_request');
    expect(placesOf(answer.body.items[1].error)).toEqual(['/input/question', '/expected']);
    expect(await stored(strict)).toHaveLength(1);
  });

  it('are rejected as a whole for an unknown trace or one of another organization', async () => {
    const own = await on.trace({ input: 'q' });
    const other = await ScoringFixture.create(app);
    const [foreign, unknown] = [await other.trace({ input: 'secret' }), newTraceId()];
    const answer = await make({ trace_ids: [own, foreign, unknown] });
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    expect(placesOf(answer.body)).toEqual(['/trace_ids/1', '/trace_ids/2']);
    expect(answer.body.detail).toContain(foreign);
    expect(await stored()).toEqual([]);
  });

  it('are rejected as a whole for a trace that only a result names', async () => {
    const { trace_id } = await on.result(await on.experiment(), { input: 'without spans', output: 1 });
    const answer = await make({ trace_ids: [await on.trace({ input: 'q' }), trace_id] });
    expect([answer.status, ...placesOf(answer.body)]).toEqual([404, '/trace_ids/1']);
    expect(await stored()).toEqual([]);
  });

  it('can be created from the traces that filters and times select, newest first', async () => {
    const noon = Date.UTC(2026, 10, 20, 12);
    const [early, late] = [
      await on.trace({ input: 'a', sessionId: 'chat', startedAt: noon }),
      await on.trace({ input: 'b', sessionId: 'chat', startedAt: noon + 60_000 }),
    ];
    await on.trace({ input: 'c', sessionId: 'other', startedAt: noon });
    await on.trace({ input: 'd', sessionId: 'chat', startedAt: noon - 86_400_000 });
    const ofChat = [{ field: 'session_id', op: 'eq', value: 'chat' }];
    const day = { since: '2026-11-20T00:00:00Z', until: '2026-11-21T00:00:00Z' };
    const idsOf = (answer: { body: any }): string[] => answer.body.items.map((one: any) => one.trace_id);
    const newest = await make({ filters: ofChat, ...day, limit: 1 });
    expect([newest.status, idsOf(newest), statuses(newest)]).toEqual([207, [late], [201]]);
    const both = await make({ filters: ofChat, ...day, on_conflict: 'skip' });
    expect([idsOf(both), statuses(both)]).toEqual([[late, early], [200, 201]]); // oxfmt-ignore
    expect(idsOf(await make({ ...day, on_conflict: 'skip' }))).toHaveLength(3);
    const none = await make({ filters: [{ field: 'status', op: 'eq', value: 'error' }] });
    expect([none.status, none.body]).toEqual([207, { items: [] }]);
  });

  it('need a limit if a filter matches more than 100 traces, so that none is omitted silently', async () => {
    const traces = Array.from({ length: 101 }, (_, i) => newSpan({ start: SPAN_START + BigInt(i) * 1_000_000n, attributes: { 'input.value': `q${i}` } }));
    expect((await on.evaluator.post('/telemetry/v1/traces', jsonExport(traces))).status).toBe(200);
    const filters = [{ field: 'span_count', op: 'gte', value: 0 }];
    const all = await make({ filters });
    expect([all.status, all.body.code]).toEqual([422, 'validation_failed']);
    expect(all.body.detail).toContain('101 traces, but the maximum is 100');
    expect(await stored()).toEqual([]);
    const newest = await make({ filters, limit: 100 });
    expect(new Set(statuses(newest))).toEqual(new Set([201]));
    expect(newest.body.items[0].trace_id).toBe(traces[100]!.traceId);
    expect(await stored()).toHaveLength(100);
  }); // oxfmt-ignore

  it.each<[object, number, string]>([
    [{ filters: [{ field: 'colour', op: 'eq', value: 'red' }] }, 422, '/filters/0/field'],
    [{ filters: [{ field: 'status', op: 'eq', value: 'bad' }] }, 422, '/filters/0/value'],
    [{ filters: [{ field: 'cost_usd', op: 'gte', value: 'much' }] }, 400, '/filters/0/value'],
    [{ since: '2026-11-20T00:00:00Z', until: '2026-11-20T00:00:00Z' }, 400, '/since'],
    [{ since: 'yesterday' }, 400, '/since'],
    [{ since: '2026-11-20T00:00:00Z', limit: 0 }, 400, '/limit'],
    [{ since: '2026-11-20T00:00:00Z', limit: 101 }, 422, '/limit'],
    [{ trace_ids: [newTraceId()], filters: [] }, 400, '/filters'],
    [{ trace_ids: [newTraceId()], filters: [{ field: 'status', op: 'eq', value: 'ok' }] }, 400, '/filters'],
    [{ trace_ids: [newTraceId()], since: '2026-11-20T00:00:00Z' }, 400, '/since'],
    [{ trace_ids: [newTraceId()], limit: 1 }, 400, '/limit'],
  ])('are rejected for %j', async (body, status, place) => {
    const answer = await make(body);
    expect([answer.status, ...placesOf(answer.body)]).toEqual([status, place]);
  });

  it.each<[string, object, string]>([
    ['neither traces nor filters', {}, 'trace_ids'],
    ['empty filters', { filters: [] }, 'trace_ids'],
    ['no traces', { trace_ids: [] }, '/trace_ids'],
    ['101 traces', { trace_ids: Array.from({ length: 101 }, newTraceId) }, '/trace_ids'],
    ['a malformed trace id', { trace_ids: ['x'] }, '/trace_ids'],
    ['another workspace', { trace_ids: [newTraceId()], workspace_id: 'wsp_x' }, '/workspace_id'],
    ['a member of records that this request does not have', { trace_ids: [newTraceId()], label: 'x' }, 'label'],
  ])('are rejected for %s', async (_, body, place) => {
    const answer = await make(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request']);
    expect(answer.body.detail).toContain(place);
  }); // oxfmt-ignore

  it('are rejected for an unknown expected value, and for an unknown or archived dataset', async () => {
    const trace_ids = [await on.trace({ input: 'q' })];
    expect((await make({ trace_ids, expected: 'input' })).status).toBe(422);
    expect((await make({ trace_ids }, '/eval/v1/datasets/ds_x')).status).toBe(404);
    await on.evaluator.post(`${dataset}/archive`);
    const archived = await make({ trace_ids });
    expect([archived.status, archived.body.code]).toEqual([409, 'conflict']);
  });

  it('require the role that creates records', async () => {
    const viewer = await on.organization.as('viewer');
    const body = { workspace_id: on.workspaceId, trace_ids: [newTraceId()] };
    expect((await viewer.post(`${dataset}/records/from-traces`, body)).status).toBe(403);
  });
});
