import {
  type ApiClient,
  newOrganization,
  newSpan,
  newTraceId,
  sharedApp,
  type TestAttributes,
  type TestSpan,
} from '#testing';
import { RawExporter, shuffled } from './otlp.harness';

interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
  cost_usd: number | null;
}

describe('usage that spans report at several levels', () => {
  const app = sharedApp();
  let exporter: RawExporter;
  let client: ApiClient;

  beforeAll(async () => {
    const organization = await newOrganization(app);
    exporter = new RawExporter(app.url, await organization.token('runtime'), organization.workspaceId);
    client = await organization.as('viewer');
  });

  const usageOf = async (traceId: string): Promise<Usage> => {
    const { input_tokens, output_tokens, cost_usd } = (await client.get(`/telemetry/v1/traces/${traceId}`))
      .body;
    return { input_tokens, output_tokens, cost_usd };
  };
  const byModel = async (session: string): Promise<unknown[]> => {
    const { body } = await client.post('/telemetry/v1/traces/stats/query', {
      since: '2026-11-01T00:00:00Z',
      until: '2026-12-31T00:00:00Z',
      metrics: [
        { measure: 'input_tokens', aggregation: 'sum' },
        { measure: 'cost_usd', aggregation: 'sum' },
      ],
      group_by: ['model'],
      filters: [{ field: 'session_id', op: 'eq', value: session }],
    });
    return body.rows.map(({ group, values }: any) => [
      group.model,
      values['input_tokens.sum'],
      values['cost_usd.sum'],
    ]);
  };

  const call = (input: number, more: TestAttributes = {}): TestAttributes => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': input + 1,
    ...more,
  });
  const step = (operation: string | null, input: number): TestAttributes => ({
    ...(operation !== null && { 'gen_ai.operation.name': operation }),
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': input + 1,
  });

  /** Returns a chain of spans, each below the one before it. */
  function chain(...levels: TestAttributes[]): TestSpan[] {
    const spans: TestSpan[] = [];
    for (const attributes of levels) {
      const above = spans.at(-1);
      spans.push(
        newSpan({ attributes, ...(above && { traceId: above.traceId, parentSpanId: above.spanId }) }),
      );
    }
    return spans;
  }

  const ORDERS: [string, (spans: TestSpan[]) => TestSpan[][]][] = [
    ['in one request', (spans) => [spans]],
    ['parents first', (spans) => spans.map((span) => [span])],
    ['children first', (spans) => spans.map((span) => [span]).reverse()],
    ['with the middle last', (spans) => [[spans[0]!, ...spans.slice(2)], [spans[1]!]]],
    ['with the middle first', (spans) => [[spans[1]!], [spans[0]!, ...spans.slice(2)]]],
  ];

  describe.each(ORDERS)('%s', (_, requests) => {
    const sent = async (...levels: TestAttributes[]): Promise<Usage> => {
      const spans = chain(...levels);
      for (const batch of requests(spans)) {
        const { status } = await exporter.protobuf(batch);
        expect(status).toBe(200);
      }
      return usageOf(spans[0]!.traceId);
    };

    it('does not count a call inside a call twice', async () => {
      const client_span = call(10, { 'gen_ai.request.model': 'alias', 'gen_ai.usage.output_tokens': 12 });
      const gateway_span = call(5, {
        'gen_ai.response.model': 'usd-per-token',
        'gen_ai.usage.output_tokens': 6,
      });
      expect(await sent(client_span, gateway_span)).toEqual({
        input_tokens: 5,
        output_tokens: 6,
        cost_usd: 5,
      });
      expect(await sent(client_span, {}, client_span, {}, gateway_span)).toEqual({
        input_tokens: 5,
        output_tokens: 6,
        cost_usd: 5,
      });
    });

    it('takes the cost from the outer call if the inner one does not know it', async () => {
      const outer = call(10, { 'gen_ai.usage.cost': 0.5 });
      expect(await sent(outer, call(5, { 'gen_ai.response.model': 'own' }))).toEqual({
        input_tokens: 5,
        output_tokens: 6,
        cost_usd: 0.5,
      });
      expect(await sent(outer, {}, step('plan', 5), call(3))).toEqual({
        input_tokens: 3,
        output_tokens: 4,
        cost_usd: 0.5,
      });
    });

    it('takes the cost from above a step whose own cost is only the price of its tokens', async () => {
      const agent = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.cost': 0.05 };
      const sub = { ...step('invoke_agent', 7), 'gen_ai.request.model': 'usd-per-token' };
      const unpriced = call(5, { 'gen_ai.response.model': 'own' });
      expect(await sent({}, agent, sub, unpriced)).toEqual({
        input_tokens: 5,
        output_tokens: 6,
        cost_usd: 0.05,
      });
      expect(await sent({}, agent, {}, sub)).toEqual({ input_tokens: 7, output_tokens: 8, cost_usd: 7 });
    });

    it.each([null, 'execute_tool', 'plan', 'retrieval', 'guardrail', 'invoke_agent', 'custom'])(
      'does not add the usage that a span of the operation %s repeats',
      async (operation) => {
        expect(await sent(step(operation, 40), {}, step(operation, 40), call(20))).toMatchObject({
          input_tokens: 20,
          output_tokens: 21,
        });
        expect(await sent(step(operation, 40), {}, {})).toMatchObject({
          input_tokens: 40,
          output_tokens: 41,
        });
      },
    );
  });

  it('attributes usage to the model of the call that counts, in any order', async () => {
    const session = newTraceId();
    const of = (model: string, tokens: number) =>
      call(tokens, { 'gen_ai.response.model': model, 'session.id': session });
    for (const [, requests] of ORDERS) {
      for (const batch of requests(chain(of('alias', 10), {}, of('usd-per-token', 5))))
        await exporter.json(batch);
    }
    expect(await byModel(session)).toEqual([['usd-per-token', 25, 25]]);
  });

  it('does not add an agent whose calls have lost their parents', async () => {
    const traceId = newTraceId();
    const agent = newSpan({ traceId, attributes: step('invoke_agent', 40) });
    const calls = ['a'.repeat(16), 'b'.repeat(16)].map((parentSpanId) =>
      newSpan({ traceId, parentSpanId, attributes: call(20) }),
    );
    await exporter.protobuf([agent, ...calls]);
    expect(await usageOf(traceId)).toMatchObject({ input_tokens: 40, output_tokens: 42 });
  });

  it('is the same for any order and grouping of any tree, also concurrently', async () => {
    for (let seed = 0; seed < 6; seed++) {
      const random = randomFrom(seed);
      const traceId = newTraceId();
      const spans: TestSpan[] = [];
      for (let n = 0; n < 24; n++) {
        const parent = n === 0 ? undefined : spans[Math.floor(random() * spans.length)]!;
        spans.push(
          newSpan({ traceId, ...(parent && { parentSpanId: parent.spanId }), attributes: anyUsage(random) }),
        );
      }
      const expected = countedIn(spans);
      const requests = batches(shuffled(spans, seed), 1 + (seed % 5));
      if (seed % 2) await Promise.all(requests.map((batch) => exporter.protobuf(batch)));
      else for (const batch of requests) await exporter.protobuf(batch);
      await exporter.protobuf(spans); // again, which changes nothing
      const copy = newTraceId();
      await exporter.protobuf(spans.map((span) => ({ ...span, traceId: copy })));
      expect([seed, await usageOf(traceId)]).toEqual([seed, await usageOf(copy)]);
      expect([seed, await usageOf(traceId)]).toMatchObject([seed, expected]);
    }
  });
});

const randomFrom = (seed: number) => {
  let state = seed + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
};

function anyUsage(random: () => number): TestAttributes {
  const pick = <Item>(...items: Item[]): Item => items[Math.floor(random() * items.length)]!;
  return Object.assign(
    {},
    pick({}, { 'gen_ai.operation.name': pick('chat', 'invoke_agent', 'execute_tool') }),
    pick({}, { 'gen_ai.response.model': pick('usd-per-token', 'own') }),
    pick({}, {}, { 'gen_ai.usage.input_tokens': pick(1, 2, 4) }),
    pick({}, {}, { 'gen_ai.usage.output_tokens': pick(1, 2, 4) }),
    pick({}, {}, {}, { 'gen_ai.usage.cost': pick(0.25, 0.5) }),
  );
}

/** Returns the tokens of the spans that have none below them, and the cost that the innermost spans with a cost know. */
function countedIn(spans: readonly TestSpan[]): Partial<Usage> {
  const sumOf = (name: string): number | null => {
    const value = ({ attributes }: TestSpan) => attributes?.[name] as number | undefined;
    const hasBelow = (span: TestSpan): boolean =>
      spans.some((one) => one.parentSpanId === span.spanId && (value(one) !== undefined || hasBelow(one)));
    const counted = spans.filter((span) => value(span) !== undefined && !hasBelow(span));
    return counted.length === 0 ? null : counted.reduce((sum, span) => sum + value(span)!, 0);
  };
  return {
    input_tokens: sumOf('gen_ai.usage.input_tokens'),
    output_tokens: sumOf('gen_ai.usage.output_tokens'),
    cost_usd: costIn(spans),
  };
}

/** Returns the cost of a tree, span by span. */
function costIn(spans: readonly TestSpan[]): number | null {
  const of = (span: TestSpan, name: string) => span.attributes?.[name] as number | string | undefined;
  const input = (span: TestSpan) => of(span, 'gen_ai.usage.input_tokens') as number | undefined;
  const output = (span: TestSpan) => of(span, 'gen_ai.usage.output_tokens') as number | undefined;
  const model = (span: TestSpan) => of(span, 'gen_ai.response.model');
  const reported = (span: TestSpan) => of(span, 'gen_ai.usage.cost') as number | undefined;
  const below = (span: TestSpan): TestSpan[] =>
    spans.filter((one) => one.parentSpanId === span.spanId).flatMap((one) => [one, ...below(one)]);
  const above = (span: TestSpan): TestSpan[] =>
    spans.filter((one) => one.spanId === span.parentSpanId).flatMap((one) => [one, ...above(one)]);
  const hasTokens = (span: TestSpan) => (input(span) ?? output(span)) !== undefined;
  const isStep = (span: TestSpan) => {
    const operation = of(span, 'gen_ai.operation.name');
    return operation === undefined ? model(span) === undefined : operation !== 'chat';
  };
  const costOf = (span: TestSpan) =>
    reported(span) ?? (model(span) === 'usd-per-token' && hasTokens(span) ? (input(span) ?? 0) : undefined);
  const isKnown = (span: TestSpan) =>
    reported(span) !== undefined || (!isStep(span) && costOf(span) !== undefined);
  const counts = (span: TestSpan): boolean => {
    if (costOf(span) === undefined || below(span).some(isKnown)) return false;
    return isKnown(span) ? !below(span).some(counts) : !below(span).some(hasTokens);
  };
  const isUnpriced = (span: TestSpan) =>
    [span, ...below(span)].every((one) => costOf(one) === undefined) &&
    [input, output].some((read) => read(span) !== undefined && below(span).every((one) => !read(one)));
  const counted = spans.filter(counts);
  const known = counted.length === 0 ? null : counted.reduce((sum, span) => sum + costOf(span)!, 0);
  const isComplete = spans.filter(isUnpriced).every((span) => {
    const holder = above(span).find(isKnown);
    return holder !== undefined && counts(holder);
  });
  if (isComplete) return known;
  const root = spans[0]!;
  const rootCost = isStep(root) ? (reported(root) ?? null) : null;
  return rootCost !== null && rootCost >= (known ?? 0) ? rootCost : null;
}

function batches<Item>(items: readonly Item[], size: number): Item[][] {
  const all: Item[][] = [];
  for (let at = 0; at < items.length; at += size) all.push(items.slice(at, at + size));
  return all;
}
