import { type Answer, newSpanId, newTraceId, sharedApp, SPAN_START, type TestSpan } from '#testing';
import { metrics, type StatsRow } from '../evaluation/trace-stats.fixture';
import { MS, ReadingWorkspace } from './reading.fixture';

const SPANS = '/telemetry/v1/spans/stats/query';
const TRACES = '/telemetry/v1/traces/stats/query';
const WEEK = { since: '2026-11-20T00:00:00Z', until: '2026-11-27T00:00:00Z' };

type Attributes = NonNullable<TestSpan['attributes']>;

const call = (model: string, more: Attributes = {}): Attributes => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': model,
  'gen_ai.response.model': model,
  ...more,
});
const used = (input: number, output: number, cost?: number): Attributes => ({
  'gen_ai.usage.input_tokens': input,
  'gen_ai.usage.output_tokens': output,
  ...(cost !== undefined && { 'gen_ai.usage.cost': cost }),
});
/** A call that failed: only the requested model is known. */
const failed = (model: string): Attributes => ({
  'gen_ai.operation.name': 'chat',
  'gen_ai.request.model': model,
});

describe('statistics of spans', () => {
  const app = sharedApp();
  let space: ReadingWorkspace;

  beforeEach(async () => {
    space = await ReadingWorkspace.open(app);
  });

  const ask = (path: string, body: object): Promise<Answer> => space.viewer.post(path, { ...WEEK, ...body });
  const rows = async (path: string, body: object): Promise<StatsRow[]> => {
    const { status, body: answer } = await ask(path, body);
    expect([status, answer]).toEqual([200, expect.anything()]);
    return answer.rows as StatsRow[];
  };
  /** Returns the values of each row's group, and of its metrics. */
  const table = async (path: string, groups: string[], names: string[], more: object = {}) =>
    (await rows(path, { group_by: groups, metrics: metrics(...names), ...more })).map(({ group, values }) => [
      ...Object.values(group),
      ...Object.values(values),
    ]);
  const at = (from: number, to: number) => ({
    start: SPAN_START + BigInt(from) * MS,
    end: SPAN_START + BigInt(to) * MS,
  });

  /** Sends a trace: a root, and spans below it. @returns the id of the root */
  const send = async (root: Partial<TestSpan>, ...below: Partial<TestSpan>[]): Promise<void> => {
    const [traceId, parentSpanId] = [newTraceId(), newSpanId()];
    await space.send([
      { traceId, spanId: parentSpanId, ...at(0, 1_000), ...root },
      ...below.map((span) => ({ traceId, parentSpanId, ...span })),
    ]);
  };

  it("do not give an embedding the latency and the errors of its agent's trace", async () => {
    await send(
      {
        name: 'agent',
        isError: true,
        attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.request.model': 'big' },
      },
      { ...at(10, 20), attributes: { ...call('small'), 'gen_ai.operation.name': 'embeddings' } },
      { ...at(20, 500), attributes: call('big') },
      { ...at(500, 600), attributes: call('big'), isError: true },
    );
    const measured = ['count.count', 'duration_ms.max', 'error_count.sum'];
    const expected = [
      ['big', 2, 480, 1],
      ['small', 1, 10, 0],
    ];
    expect(await table(TRACES, ['model'], measured)).toEqual(expected);
    expect(await table(SPANS, ['model'], measured)).toEqual([...expected, [null, 1, 1_000, 1]]);
  });

  it.each([
    [
      'the requested name of an answer with a date',
      'gpt-4o-mini',
      'gpt-4o-mini-2024-07-18',
      'gpt-4o-mini-2024-07-18',
    ],
    ["a gateway's name", 'openai/gpt-4o-mini', 'gpt-4o-mini-2024-07-18', 'gpt-4o-mini-2024-07-18'],
    ['the same name', 'gpt-4o-mini', 'gpt-4o-mini', 'gpt-4o-mini'],
    ['a moving name', 'claude-3-5-sonnet-latest', 'claude-3-5-sonnet-20241022', 'claude-3-5-sonnet-20241022'],
    ['an entry of MODEL_PRICES', 'priced', 'priced-2', 'priced-2'],
  ])('show one model once, if its failed calls have %s', async (_, requested, answered, name) => {
    await send({ attributes: { ...call(answered), 'gen_ai.request.model': requested } });
    await send({ attributes: failed(requested), isError: true });
    const measured = ['count.count', 'error_count.sum'];
    expect(await table(TRACES, ['model'], measured)).toEqual([[name, 2, 1]]);
    expect(await table(SPANS, ['model'], measured)).toEqual([[name, 2, 1]]);
    const filters = [{ field: 'model', op: 'eq', value: name }];
    expect(await table(SPANS, [], ['count.count'], { filters })).toEqual([[2]]);
  });

  it('keep failed calls apart that may be of several models, or of another one', async () => {
    for (const model of ['gpt-4o-mini-2024-07-18', 'gpt-4o-2024-08-06', 'gpt-4o-2024-11-20'])
      await send({ attributes: call(model) });
    for (const model of ['gpt-4o', 'gpt-4o-2024-05-13', 'my-model'])
      await send({ attributes: failed(model), isError: true });
    expect(await table(SPANS, ['model'], ['count.count', 'error_count.sum'])).toEqual([
      ['gpt-4o', 1, 1],
      ['gpt-4o-2024-05-13', 1, 1],
      ['gpt-4o-2024-08-06', 1, 0],
      ['gpt-4o-2024-11-20', 1, 0],
      ['gpt-4o-mini-2024-07-18', 1, 0],
      ['my-model', 1, 1],
    ]);
  });

  it("list a retried model once among the trace's models", async () => {
    await send(
      { name: 'agent' },
      { ...at(0, 5), attributes: failed('gpt-4o-mini'), isError: true },
      {
        ...at(5, 9),
        attributes: { ...call('gpt-4o-mini-2024-07-18'), 'gen_ai.request.model': 'gpt-4o-mini' },
      },
    );
    expect((await space.list()).items.map(({ models }) => models)).toEqual([['gpt-4o-mini-2024-07-18']]);
  });

  it('count a call inside a call once, with the usage of the inner one', async () => {
    const [traceId, outer] = [newTraceId(), newSpanId()];
    await space.send([
      { traceId, spanId: outer, ...at(0, 100), attributes: call('gpt', used(10, 12)) },
      { traceId, parentSpanId: outer, ...at(5, 90), attributes: call('gpt', used(5, 6, 0.011)) },
    ]);
    const measured = ['count.count', 'duration_ms.sum', 'input_tokens.sum', 'cost_usd.sum'];
    expect(await table(TRACES, ['model'], measured)).toEqual([['gpt', 1, 85, 5, 0.011]]);
    expect(await table(SPANS, ['model'], measured)).toEqual([
      ['gpt', 1, 85, 5, 0.011],
      [null, 1, 100, null, null],
    ]);
  });

  it('count a failed call inside a call once', async () => {
    const [traceId, outer, http] = [newTraceId(), newSpanId(), newSpanId()];
    await space.send([
      { traceId, spanId: outer, ...at(0, 100), attributes: failed('gpt'), isError: true },
      { traceId, spanId: http, parentSpanId: outer, ...at(1, 99), name: 'POST', isError: true },
      { traceId, parentSpanId: http, ...at(5, 90), attributes: failed('gpt'), isError: true },
    ]);
    expect(await table(SPANS, ['model'], ['count.count', 'error_count.sum'], { filters: [] })).toEqual([
      ['gpt', 1, 1],
      [null, 2, 2],
    ]);
  });

  it('have the tokens and costs of the traces, also with agents and tools that repeat them, in any order of arrival', async () => {
    const [traceId, agent, tool] = [newTraceId(), newSpanId(), newSpanId()];
    const spans = [
      { traceId, spanId: agent, attributes: { 'gen_ai.operation.name': 'invoke_agent', ...used(30, 3, 3) } },
      {
        traceId,
        spanId: tool,
        parentSpanId: agent,
        attributes: { 'gen_ai.operation.name': 'execute_tool', ...used(30, 3) },
      },
      { traceId, parentSpanId: tool, attributes: call('a', used(10, 1, 1)) },
      { traceId, parentSpanId: tool, attributes: call('b', used(20, 2, 2)) },
    ];
    for (const span of spans.toReversed()) {
      await space.send([span]);
      await check();
    }
    // an agent whose calls report nothing
    await send(
      { attributes: { 'gen_ai.operation.name': 'invoke_agent', ...used(7, 7, 7) } },
      { attributes: call('a') },
    );
    await check();
    async function check(): Promise<void> {
      const measured = ['input_tokens.sum', 'output_tokens.sum', 'total_tokens.sum', 'cost_usd.sum'];
      const [ofTraces] = await table(TRACES, [], measured);
      expect(await table(SPANS, [], measured)).toEqual([ofTraces]);
      for (const path of [TRACES, SPANS]) {
        const byModel = await table(path, ['model'], measured);
        const sums = measured.map((__, index) =>
          byModel.reduce((sum, row) => sum + ((row[index + 1] as number | null) ?? 0), 0),
        );
        expect(sums).toEqual(ofTraces);
      }
    }
  });

  it('have tokens by kind and the time to the first token, in milliseconds from any unit', async () => {
    await send({
      attributes: call('a', {
        ...used(100, 50),
        'gen_ai.usage.cache_read.input_tokens': 60,
        'gen_ai.usage.cache_write.input_tokens': 10,
        'gen_ai.usage.reasoning.output_tokens': 20,
        'gen_ai.response.time_to_first_chunk': 0.25,
      }),
    });
    await send({ attributes: call('a', { 'gen_ai.server.time_to_first_token': '0.5' }) });
    await send({
      attributes: {
        'ai.operationId': 'ai.streamText.doStream',
        'ai.response.model': 'a',
        'ai.response.msToFirstChunk': 750.5,
      },
    });
    await send({ attributes: call('a', { 'gen_ai.response.time_to_first_chunk': -1 }) });
    const measured = [
      'input_tokens.sum',
      'cached_input_tokens.sum',
      'cache_write_tokens.sum',
      'reasoning_tokens.sum',
    ];
    expect(await table(SPANS, ['model'], measured)).toEqual([['a', 100, 60, 10, 20]]);
    const times = [
      'time_to_first_token_ms.min',
      'time_to_first_token_ms.p50',
      'time_to_first_token_ms.max',
      'time_to_first_token_ms.count',
    ];
    expect(await table(SPANS, ['model'], times)).toEqual([['a', 250, 500, 750.5, 3]]);
  });

  it('group by operation, tool, provider, agent, status, user, environment, hour and day', async () => {
    const hour = 3_600_000;
    await send(
      { attributes: { 'user.id': 'u1', 'deployment.environment.name': 'prod', 'gen_ai.agent.name': 'support' } },
      { ...at(hour, hour + 30), attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search' }, isError: true },
      { ...at(24 * hour, 24 * hour + 5), attributes: { ...call('a'), 'gen_ai.provider.name': 'openai' } },
    );
    await send({ attributes: { 'user.id': 'u2' } });
    const by = (group: string, more: object = {}) => table(SPANS, [group], ['count.count'], more);
    expect(await by('operation')).toEqual([['chat', 1], ['execute_tool', 1], [null, 2]]);
    expect(await by('tool_name')).toEqual([['search', 1], [null, 3]]);
    expect(await by('provider')).toEqual([['openai', 1], [null, 3]]);
    expect(await by('agent_name')).toEqual([['support', 1], [null, 3]]);
    expect(await by('status')).toEqual([['error', 1], ['ok', 3]]);
    expect(await by('user_id')).toEqual([['u1', 3], ['u2', 1]]);
    expect(await by('environment')).toEqual([['prod', 3], [null, 1]]);
    expect(await by('hour')).toEqual([['2026-11-20T00:00:00Z', 2], ['2026-11-20T01:00:00Z', 1], ['2026-11-21T00:00:00Z', 1]]);
    expect(await by('day')).toEqual([['2026-11-20', 3], ['2026-11-21', 1]]);
    expect(await table(SPANS, ['tool_name'], ['duration_ms.p95', 'error_count.sum'], { filters: [{ field: 'operation', op: 'eq', value: 'execute_tool' }] })).toEqual([['search', 30, 1]]);
    expect(await by('operation', { filters: [{ field: 'user_id', op: 'eq', value: 'u2' }] })).toEqual([[null, 1]]);
    expect(await by('operation', { filters: [{ field: 'duration_ms', op: 'lte', value: 5 }] })).toEqual([['chat', 1]]);
    expect(await by('operation', { filters: [{ field: 'started_at', op: 'gte', value: '2026-11-21T00:00:00Z' }] })).toEqual([['chat', 1]]);
  }); // oxfmt-ignore

  it('group traces by user, environment, tag, prompt and hour', async () => {
    const hour = 3_600_000;
    await send({ attributes: { 'user.id': 'u1', 'deployment.environment.name': 'prod', 'gen_ai.prompt.name': 'greet', 'gen_ai.prompt.version': '2', 'langfuse.trace.tags': '["a","b"]' } });
    await send({ ...at(hour, hour + 1), attributes: { 'user.id': 'u1', 'langfuse.trace.tags': '["a"]' } });
    await send({ attributes: {} });
    const by = (groups: string[], filters: object[] = []) => table(TRACES, groups, ['count.count'], { filters });
    expect(await by(['user_id'])).toEqual([['u1', 2], [null, 1]]);
    expect(await by(['environment'])).toEqual([['prod', 1], [null, 2]]);
    expect(await by(['tag'])).toEqual([['a', 2], ['b', 1], [null, 1]]);
    expect(await by(['prompt_name', 'prompt_version'])).toEqual([['greet', '2', 1], [null, null, 2]]);
    expect(await by(['hour'])).toEqual([['2026-11-20T00:00:00Z', 2], ['2026-11-20T01:00:00Z', 1]]);
    expect(await by([], [{ field: 'tag', op: 'eq', value: 'b' }])).toEqual([[1]]);
    expect(await by([], [{ field: 'user_id', op: 'in', value: ['u1', null] }])).toEqual([[3]]);
    expect(await by(['tag'], [{ field: 'tag', op: 'eq', value: 'b' }])).toEqual([['b', 1]]);
  }); // oxfmt-ignore

  it.each([
    ['an unknown group', { group_by: ['root_name'] }, 422],
    ['an unknown measure', { metrics: metrics('span_count.sum') }, 422],
    ['a repeated group', { group_by: ['day', 'day'] }, 400],
    ['a percentile of the count', { metrics: metrics('count.p95') }, 400],
    ['a `since` after `until`', { since: WEEK.until, until: WEEK.since }, 400],
    ['a text for a measure', { filters: [{ field: 'time_to_first_token_ms', op: 'gte', value: 'x' }] }, 400],
  ])('reject %s', async (_, body, status) => {
    expect((await ask(SPANS, body)).status).toBe(status);
  });

  it('do not count the spans of other workspaces', async () => {
    await send({ attributes: call('a') });
    space = await ReadingWorkspace.open(app);
    expect(await table(SPANS, ['model'], ['count.count'])).toEqual([]);
  });
});
