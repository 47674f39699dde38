import {
  type ApiClient,
  newOrganization,
  newSpan,
  newTraceId,
  sharedApp,
  SPAN_START as START,
  type TestOrganization,
  type TestAttributes,
  type TestSpan,
} from '#testing';
import { RawExporter, shuffled } from './otlp.harness';

const MS = 1_000_000n;

describe('the row of a trace', () => {
  const app = sharedApp();
  let exporter: RawExporter;
  let client: ApiClient;
  let organization: TestOrganization;
  let workspace_id: string;
  let experiment: string;

  beforeAll(async () => {
    organization = await newOrganization(app);
    workspace_id = organization.workspaceId;
    exporter = new RawExporter(app.url, await organization.token('runtime'), workspace_id);
    client = await organization.as('editor');
    const { body } = await client.post('/eval/v1/experiments', { workspace_id, name: 'traced' });
    experiment = body.experiment_id;
  });

  const traceOf = async (traceId: string): Promise<any> =>
    (await client.get(`/eval/v1/experiments/${experiment}/traces/${traceId}`)).body;

  /** Returns an agent run: the root, which repeats the tokens of its calls, and the spans below it. */
  function run(): TestSpan[] {
    const traceId = newTraceId();
    const root = newSpan({
      traceId,
      name: 'invoke_agent',
      start: START,
      end: START + 900n * MS,
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.usage.input_tokens': 330,
        'gen_ai.usage.output_tokens': 33,
        'input.value': '{"question":"why?"}',
        'output.value': 'because',
        'session.id': 'of the root',
      },
    });
    const below = Array.from({ length: 11 }, (_, i) =>
      newSpan({
        traceId,
        parentSpanId: root.spanId,
        name: `chat ${i}`,
        start: START + BigInt(i + 1) * 10n * MS,
        end: START + BigInt(i + 1) * 20n * MS,
        isError: i % 4 === 0,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.response.model': i % 2 ? 'gpt-4o' : 'gpt-4o-mini',
          'gen_ai.usage.input_tokens': 30,
          'gen_ai.usage.output_tokens': 3,
          'gen_ai.usage.cost': 0.1,
          'session.id': `of call ${i}`,
        },
      }),
    );
    return [root, ...below];
  }

  it('is the same for any order and grouping of spans', async () => {
    for (let seed = 0; seed < 4; seed++) {
      const spans = run();
      const requests = batches(shuffled(spans, seed), 1 + (seed % 5));
      if (seed % 2) await Promise.all(requests.map((batch) => exporter.protobuf(batch)));
      else for (const batch of requests) await exporter.protobuf(batch);
      expect(await traceOf(spans[0]!.traceId)).toMatchObject({
        root_name: 'invoke_agent',
        started_at: '2026-11-20T00:00:00.000Z',
        duration_ms: 900,
        span_count: 12,
        error_count: 3,
        input_tokens: 330,
        output_tokens: 33,
        cost_usd: 1.1,
        models: ['gpt-4o', 'gpt-4o-mini'],
        session_id: 'of the root',
        service_name: 'shop',
      });
    }
  });

  it('has no name until the root arrives', async () => {
    const [root, ...below] = run();
    await exporter.protobuf(below);
    expect(await traceOf(root!.traceId)).toMatchObject({
      root_name: null,
      started_at: '2026-11-20T00:00:00.010Z',
      duration_ms: 210,
      session_id: 'of call 0',
    });
    await exporter.protobuf([root!]);
    expect(await traceOf(root!.traceId)).toMatchObject({
      root_name: 'invoke_agent',
      started_at: '2026-11-20T00:00:00.000Z',
      duration_ms: 900,
      session_id: 'of the root',
    });
  });

  it('has the agent’s tokens if no call below has any', async () => {
    const [root] = run();
    await exporter.protobuf([root!]);
    expect(await traceOf(root!.traceId)).toMatchObject({ input_tokens: 330, output_tokens: 33 });
  });

  it('has no tokens and cost if no span has any', async () => {
    const span = newSpan();
    await exporter.protobuf([span]);
    expect(await traceOf(span.traceId)).toMatchObject({
      input_tokens: null,
      output_tokens: null,
      cost_usd: null,
      models: [],
      session_id: null,
    });
  });

  describe('with costs', () => {
    const call = (model: string, tokens: number, more: TestAttributes = {}): TestAttributes => ({
      'gen_ai.operation.name': 'chat',
      'gen_ai.response.model': model,
      'gen_ai.usage.input_tokens': tokens,
      ...more,
    });
    const step = (more: TestAttributes): TestAttributes => ({
      'gen_ai.operation.name': 'invoke_agent',
      ...more,
    });
    const reporting = (dollars: number): TestAttributes => step({ 'gen_ai.usage.cost': dollars });
    /** Sends a trace: the first span is the root, the others are below it. Sends each span alone, the last one first. */
    const trace = async (first: TestAttributes, ...below: TestAttributes[]): Promise<string> => {
      const root = newSpan({ attributes: first });
      const { traceId, spanId: parentSpanId } = root;
      const others = below.map((attributes) => newSpan({ traceId, parentSpanId, attributes }));
      for (const span of [root, ...others].reverse()) await exporter.json([span]);
      return traceId;
    };
    const costOf = async (first: TestAttributes, ...below: TestAttributes[]): Promise<number | null> =>
      (await traceOf(await trace(first, ...below))).cost_usd;
    const root = step({});
    const priced = call('gpt-4o', 400_000);
    const unpriced = call('own-model', 400_000);

    it('has an unknown cost if a call has no price', async () => {
      expect(await costOf(root, priced, priced)).toBe(2);
      expect(await costOf(root, priced, unpriced)).toBeNull();
      expect(await costOf(root, unpriced, priced)).toBeNull();
      const traceId = newTraceId();
      const spans = [priced, unpriced].map((attributes) => newSpan({ traceId, attributes }));
      await exporter.protobuf(spans);
      await exporter.protobuf(spans);
      expect(await traceOf(traceId)).toMatchObject({ cost_usd: null, input_tokens: 800_000, span_count: 2 });
    });

    it('has a known cost if calls report their own cost, or used nothing', async () => {
      expect(await costOf(root, priced, { ...unpriced, 'gen_ai.usage.cost': 0.5 })).toBe(1.5);
      expect(await costOf(root, priced, call('own-model', 0))).toBe(1);
      expect(await costOf(reporting(4), priced)).toBe(1);
      expect(await costOf(root, priced, step(call('own-model', 9)), step(unpriced))).toBeNull();
    });

    it('has the cost that the root reports, unless the calls cost more', async () => {
      expect(await costOf(reporting(4), priced, unpriced)).toBe(4);
      expect(await costOf(reporting(1), priced, unpriced)).toBe(1);
      expect(await costOf(reporting(0.5), priced, unpriced)).toBeNull();
      expect(await costOf(reporting(0.5), unpriced)).toBe(0.5);
      // not the cost of a step, which may cover only some calls, and not the price of a root's tokens by one model
      expect(await costOf(root, priced, reporting(4), unpriced)).toBeNull();
      expect(await costOf({ ...priced, ...root }, unpriced)).toBeNull();
    });

    it('has the cost of the innermost span that knows it', async () => {
      expect(await costOf(priced, unpriced)).toBe(1);
      expect(await costOf(priced, call('gpt-4o', 1_000))).toBe(0.0025);
      expect(await costOf({ ...priced, ...root }, reporting(0.5))).toBe(0.5);
      expect(await costOf(reporting(0.5), {})).toBe(0.5);
      expect(await costOf({ ...unpriced, ...root }, { ...call('gpt-4o', 1_000), ...root })).toBe(0.0025);
    });
  });
});

describe('a budget check', () => {
  const app = sharedApp();

  it('decides only if the cost of the trace is known', async () => {
    const org = await newOrganization(app);
    const exporter = new RawExporter(app.url, await org.token('runtime'), org.workspaceId);
    const evaluator = await org.as('evaluator');
    const call = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.response.model': 'own-model',
      'gen_ai.usage.input_tokens': 9,
    };
    const spans = [{ ...call, 'gen_ai.usage.cost': 1 }, call].map((attributes) => newSpan({ attributes }));
    for (const span of spans) await exporter.json([span]);
    const definition = { checks: [{ type: 'max_cost_usd', max: 3 }] };
    const scorer = { workspace_id: org.workspaceId, name: 'budget', scorer_kind: 'code', definition };
    const { scorer_id } = (await evaluator.post('/eval/v1/scorers', scorer)).body;
    const trace_ids = spans.map(({ traceId }) => traceId);
    const request = { mode: 'test', trace_ids };
    const { body } = await evaluator.post(`/eval/v1/scorers/${scorer_id}/score`, request);
    const outcomes = trace_ids.map((id) => body.results.find((one: any) => one.trace_id === id));
    expect(outcomes).toEqual([
      expect.objectContaining({ score: 1 }),
      expect.objectContaining({ error: expect.stringContaining('the cost of the trace is unknown') }),
    ]);
  });
});

function batches<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) =>
    items.slice(i * size, (i + 1) * size),
  );
}
