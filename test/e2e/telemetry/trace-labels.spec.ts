import {
  type ApiClient,
  newOrganization,
  newSpan,
  newTraceId,
  sharedApp,
  type TestAttributes,
  type TestOrganization,
} from '#testing';
import { RawExporter } from './otlp.harness';

describe('labels of traces', () => {
  const app = sharedApp();
  let organization: TestOrganization;
  let exporter: RawExporter;
  let client: ApiClient;

  beforeAll(async () => {
    organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    client = await organization.as('editor');
  });

  const labels = (n: number): TestAttributes => ({
    'session.id': `session ${n}`,
    'user.id': `user ${n}`,
    'deployment.environment': n === 1 ? 'production' : 'staging',
    'langsmith.span.tags': `all, tag ${n}`,
    'gen_ai.prompt.name': `prompt ${n}`,
    'gen_ai.prompt.version': n,
    'input.value': 'q'.repeat(300),
    'output.value': `answer ${n}`,
  });
  let ids: string[];

  beforeAll(async () => {
    const spans = [1, 2].map((n) => newSpan({ attributes: labels(n) }));
    ids = spans.map(({ traceId }) => traceId);
    await exporter.protobuf(spans);
  });

  const FILTERS: [string, string][] = [
    ['user_id', 'user 1'],
    ['environment', 'production'],
    ['tag', 'tag 1'],
    ['prompt_name', 'prompt 1'],
    ['prompt_version', '1'],
  ];

  it('are shown in lists, with the first characters of input and output', async () => {
    const [trace] = (await client.get('/telemetry/v1/traces?user_id=user%201')).body.items;
    const shown = {
      user_id: 'user 1',
      environment: 'production',
      tags: ['all', 'tag 1'],
      prompt_name: 'prompt 1',
      prompt_version: '1',
      input_preview: 'q'.repeat(200),
      output_preview: 'answer 1',
    };
    expect(trace).toMatchObject(shown);
    const { body } = await client.get('/telemetry/v1/sessions/session%201');
    expect(body).toMatchObject(shown);
  });

  it.each(FILTERS)('filter traces, sessions and traces of sessions by %s', async (name, value) => {
    const filter = `${name}=${encodeURIComponent(value)}`;
    const traces = async (path: string, query = filter): Promise<string[]> =>
      (await client.get(`${path}?${query}`)).body.items.map(({ trace_id }: any) => trace_id);
    expect(await traces('/telemetry/v1/traces')).toEqual([ids[0]]);
    expect(await traces('/telemetry/v1/traces', `${name}=another`)).toEqual([]);
    expect(await traces('/telemetry/v1/traces', `${filter}&sort=-duration_ms`)).toEqual([ids[0]]);
    expect(await traces('/telemetry/v1/sessions/session%201/traces')).toEqual([ids[0]]);
    expect(await traces('/telemetry/v1/sessions/session%202/traces')).toEqual([]);
    const sessions = (await client.get(`/telemetry/v1/sessions?${filter}`)).body.items;
    expect(sessions.map(({ session_id }: any) => session_id)).toEqual(['session 1']);
    const { rows } = (
      await client.post('/telemetry/v1/traces/stats/query', {
        since: '2026-11-01T00:00:00Z',
        until: '2026-12-31T00:00:00Z',
        metrics: [{ measure: 'count', aggregation: 'count' }],
        filters: [{ field: name, op: 'eq', value }],
      })
    ).body;
    expect(rows[0].values['count.count']).toBe(1);
  });

  it.each(FILTERS)('filter the traces of an experiment by %s', async (name, value) => {
    const { workspaceId: workspace_id } = organization;
    const { experiment_id } = (await client.post('/eval/v1/experiments', { workspace_id, name })).body;
    const path = `/eval/v1/experiments/${experiment_id}`;
    const results = ids.map((trace_id) => ({ case_id: trace_id, trace_id, output: 'x' }));
    const { status } = await client.post(`${path}/results/bulk`, { workspace_id, items: results });
    expect(status).toBe(207);
    const { items } = (await client.get(`${path}/traces?${name}=${encodeURIComponent(value)}`)).body;
    expect(items.map(({ trace_id }: any) => trace_id)).toEqual([ids[0]]);
  });

  it('sums the known costs of a session, and counts the traces without', async () => {
    const call = (model: string) => ({
      'session.id': 'mixed',
      'gen_ai.response.model': model,
      'gen_ai.usage.input_tokens': 2,
    });
    await exporter.protobuf(
      ['usd-per-token', 'own', 'usd-per-token'].map((model) => newSpan({ attributes: call(model) })),
    );
    const { body } = await client.get('/telemetry/v1/sessions/mixed');
    expect([body.cost_usd, body.unpriced_count, body.input_tokens]).toEqual([4, 1, 6]);
  });

  it('counts cached input of Anthropic as input, everywhere', async () => {
    const session = newTraceId();
    const attributes = {
      'session.id': session,
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.response.model': 'claude-sonnet-4-0',
      'gen_ai.usage.input_tokens': 30,
      'gen_ai.usage.cache_read.input_tokens': 100_000,
    };
    await exporter.protobuf([newSpan({ attributes })]);
    const { body } = await client.get(`/telemetry/v1/sessions/${session}`);
    expect(body.input_tokens).toBe(100_030);
    expect(body.cost_usd).toBeCloseTo((30 * 3 + 100_000 * 0.3) / 1e6, 10);
  });

  it('does not move a trace to 1970 if a span has no start', async () => {
    const traceId = newTraceId();
    const end = 1_795_824_000_000_000_000n;
    await exporter.protobuf([
      newSpan({ traceId, start: end - 1_000_000n, end }),
      newSpan({ traceId, start: 0n, end }),
    ]);
    const { body } = await client.get(`/telemetry/v1/traces/${traceId}`);
    expect(body.duration_ms).toBe(1);
    expect(body.spans.map(({ start_unknown }: any) => start_unknown)).toEqual([false, true]);
    const alone = newSpan({ start: 0n, end: 0n });
    await exporter.protobuf([alone]);
    const { started_at, duration_ms } = (await client.get(`/telemetry/v1/traces/${alone.traceId}`)).body;
    expect([Date.parse(started_at) > Date.now() - 60_000, duration_ms]).toEqual([true, 0]);
  });
});
