import OpenAI from 'openai';
import {
  type ApiClient,
  newOrganization,
  newSpan,
  newSpanId,
  newTraceId,
  sharedApp,
  type TestOrganization,
  until,
} from '#testing';
import { RawExporter } from '../telemetry/otlp.harness';
import { chat, FakeProvider, modelOf, newProvider } from './provider.fixture';

/** Callers that observe their own calls send a span around the gateway's span of the same call. */
describe('the trace of a call whose caller also sends a span', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  let org: TestOrganization;
  let admin: ApiClient;
  let key: string;
  let client: OpenAI;
  let exporter: RawExporter;
  let provider: FakeProvider;

  beforeAll(async () => {
    org = await newOrganization(app);
    admin = await org.member('admin');
    ({ key } = await org.serviceAccount('runtime'));
    client = new OpenAI({ baseURL: `${app.url}/model/v1`, apiKey: key, maxRetries: 0 });
    exporter = new RawExporter(app.url, key, org.workspaceId);
    provider = await FakeProvider.listen();
    provider.answer = chat('Hello', { prompt_tokens: 5, completion_tokens: 6, total_tokens: 11 });
  });
  afterAll(() => provider.close());

  /** Registers a model that costs 0.001 USD per token. */
  async function newModelName(): Promise<string> {
    const provider_id = await newProvider(admin, org.workspaceId, provider);
    const price = { input_usd_per_million: 1_000, output_usd_per_million: 1_000 };
    const targets = [{ provider_id, upstream_model: 'gpt-test', price }];
    return modelOf(admin, org.workspaceId, provider, { targets });
  }

  const read = async (path: string): Promise<any> =>
    (await admin.in(org.workspaceId).get(`/telemetry/v1/traces/${path}`)).body;

  it.each([
    ['earlier', false],
    ['earlier', true],
    ['later', false],
    ['later', true],
  ])('has the tokens and cost of the gateway if that span arrives %s (stream: %s)', async (when, stream) => {
    const [model, traceId, spanId] = [await newModelName(), newTraceId(), newSpanId()];
    const exportOwn = async (): Promise<void> => {
      const attributes = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': model,
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 12,
      };
      const { status } = await exporter.protobuf([newSpan({ traceId, spanId, attributes })]);
      expect(status).toBe(200);
    };
    const gatewaySpan = async (): Promise<any> =>
      (await read(`${traceId}/spans`)).items?.find((span: any) => span.parent_span_id === spanId);

    if (when === 'earlier') await exportOwn();
    const headers = { traceparent: `00-${traceId}-${spanId}-01` };
    const answer = await client.chat.completions.create({ model, messages, stream }, { headers });
    if (stream) for await (const one of answer as AsyncIterable<object>) expect(one).toBeTruthy();
    await until(async () => (await gatewaySpan()) !== undefined);
    if (when === 'later') await exportOwn();

    const trace = await read(traceId);
    expect(trace).toMatchObject({ span_count: 2, input_tokens: 5, output_tokens: 6 });
    expect(trace.cost_usd).toBeCloseTo(0.011, 12);
    const usage = await admin.get(`/model/v1/usage?workspace_id=${org.workspaceId}&group_by=model`);
    const billed = usage.body.items.find((one: any) => one.model === model);
    expect(billed).toMatchObject({ call_count: 1, input_tokens: 5, output_tokens: 6 });
    expect(billed.cost_usd).toBeCloseTo(trace.cost_usd, 12);
    const { attributes, time_to_first_token_ms } = await gatewaySpan();
    expect([typeof attributes['gen_ai.response.time_to_first_chunk'], typeof time_to_first_token_ms]).toEqual(
      stream ? ['number', 'number'] : ['undefined', 'object'],
    );
  });
});
