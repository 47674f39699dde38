import fc from 'fast-check';
import { decodeTraceRequest } from '../../../libs/otlp/decode.fixture';
import type { OtlpSpan } from '#otlp';
import { workspaceScope } from '#platform/auth';
import { readEnvironment } from '#platform/config';
import { ModelPrices, type PriceTable } from '../span-mapping/model-prices';
import { inSlices } from '#platform/concurrency';
import { isModelCall, mergeRecords, type SpanRecord, toSpanRecords } from './span-record';
import { aggregateTraces, MODELS_MAX, type TraceAggregate } from './trace-aggregate';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';

interface Sketch {
  id: number;
  parent?: number;
  name?: string;
  start?: number;
  attributes?: Record<string, string | number>;
}

const hex = (id: number, digits: number): string => id.toString(16).padStart(digits, '0');

function spans(sketches: Sketch[], traceId = TRACE_ID): OtlpSpan[] {
  const body = {
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: sketches.map(({ id, parent, start = id, attributes = {}, name = `span ${id}` }) => ({
              traceId,
              spanId: hex(id, 16),
              parentSpanId: parent === undefined ? '' : hex(parent, 16),
              name,
              startTimeUnixNano: String(start),
              endTimeUnixNano: String(start),
              attributes: Object.entries(attributes).map(([key, value]) => ({
                key,
                value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
              })),
            })),
          },
        ],
      },
    ],
  };
  return decodeTraceRequest(Buffer.from(JSON.stringify(body)), 'json').spans;
}

const recordsOf = async (sent: OtlpSpan[], table: PriceTable = {}): Promise<SpanRecord[]> => {
  const scope = workspaceScope('org', 'wsp', 'test', new Set());
  const prices = new ModelPrices(readEnvironment({ MODEL_PRICES: JSON.stringify(table) }));
  return mergeRecords([await inSlices(toSpanRecords(scope, sent, 1_000, prices))]);
};

const aggregate = async (sketches: Sketch[]): Promise<TraceAggregate> =>
  (await aggregateTraces(await recordsOf(spans(sketches))))[0]!;

/** Counts the turns of the event loop that other work gets in the meantime. */
async function turnsWhile(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = (): void => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await work();
  clearImmediate(next);
  return turns;
}

describe('aggregateTraces', () => {
  it('does not depend on the order of the spans', async () => {
    const sketch = fc.record({
      parent: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
      start: fc.integer({ min: 0, max: 5 }),
      attributes: fc.constantFrom<Record<string, string | number>>(
        {},
        { 'session.id': 'a', 'gen_ai.usage.input_tokens': 3 },
        { 'session.id': 'b', 'gen_ai.response.model': 'm1' },
        { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.usage.input_tokens': 5 },
        { 'service.name': 'c', 'gen_ai.response.model': 'm2', 'input.value': 'hello' },
      ),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(sketch, { minLength: 1, maxLength: 8 }),
        fc.infiniteStream(fc.nat()),
        async (all, keys) => {
          const sketches = all.map((one, index) => ({ ...one, id: index + 1 }));
          const records = await recordsOf(spans(sketches));
          const shuffled = records
            .map((record) => ({ record, key: keys.next().value as number }))
            .sort((a, b) => a.key - b.key)
            .map(({ record }) => record);
          expect(await aggregateTraces(shuffled)).toEqual(await aggregateTraces(records));
        },
      ),
    );
  });

  it('sorts traces by id, the order in which their rows are locked', async () => {
    const ids = ['f'.repeat(32), '1'.repeat(32), '8'.repeat(32)];
    const records = await recordsOf(ids.flatMap((traceId) => spans([{ id: 2 }, { id: 1 }], traceId)));
    expect(records.map(({ span }) => span.traceId[0] + span.spanId.slice(-1))).toEqual([
      '12',
      '11',
      '82',
      '81',
      'f2',
      'f1',
    ]);
    const traces = await aggregateTraces(records);
    expect(traces.map(({ traceId, spanCount }) => [traceId[0], spanCount])).toEqual([
      ['1', 2],
      ['8', 2],
      ['f', 2],
    ]);
  });

  it('prefers names of the root over names of earlier spans, and names of the earlier of two roots', async () => {
    const name = (text: string) => ({ 'session.id': text });
    const { root, session } = await aggregate([
      { id: 1, parent: 9, start: 1, attributes: name('early') },
      { id: 2, start: 5, attributes: name('second root') },
      { id: 3, start: 4, attributes: name('first root') },
    ]);
    expect([root?.value.name, session?.value]).toEqual(['span 3', 'first root']);
  });

  it('shortens a long name, but never inside a character', async () => {
    const { root } = await aggregate([{ id: 1, name: `${'n'.repeat(253)}😀${'n'.repeat(1_000)}` }]);
    expect(root?.value.name).toBe(`${'n'.repeat(253)}…`);
  });

  it('keeps input and output of the root, parsed if they are JSON', async () => {
    const { root } = await aggregate([
      { id: 1, attributes: { 'input.value': '{"a":1}', 'output.value': 'plain' } },
      { id: 2, parent: 1, attributes: { 'input.value': 'not this' } },
    ]);
    expect(root?.value).toEqual({
      name: 'span 1',
      input: '{"a":1}',
      output: '"plain"',
      inputPreview: '{"a":1}',
      outputPreview: 'plain',
      costUsd: null,
    });
  });

  it('prefers the user, environment and prompt of the root, and unites the tags of all spans', async () => {
    const prompt = (name: string, version?: string) => ({
      'gen_ai.prompt.name': name,
      ...(version !== undefined && { 'gen_ai.prompt.version': version }),
    });
    const trace = await aggregate([
      { id: 1, parent: 3, start: 1, attributes: { 'user.id': 'child', ...prompt('early', '7') } },
      { id: 2, parent: 3, start: 2, attributes: { 'tag.tags': 'b,a', 'deployment.environment': 'staging' } },
      { id: 3, start: 3, attributes: { 'user.id': 'root', 'tag.tags': 'c,a', ...prompt('whole') } },
    ]);
    expect([trace.user?.value, trace.environment?.value, trace.tags]).toEqual([
      'root',
      'staging',
      ['a', 'b', 'c'],
    ]);
    expect(trace.prompt?.value).toEqual({ name: 'whole', version: null });
  });

  it('does not add the usage of agents, workflows and tools that repeat the calls below them', async () => {
    const usage = (operation: string, tokens: number) => ({
      ...(operation !== '' && { 'gen_ai.operation.name': operation }),
      'gen_ai.usage.input_tokens': tokens,
    });
    for (const step of ['invoke_workflow', 'execute_tool', 'plan', 'guardrail', 'custom', '']) {
      const { calls, steps } = await aggregate([
        { id: 1, attributes: usage(step, 60) },
        { id: 2, parent: 1, attributes: usage('invoke_agent', 50) },
        { id: 3, parent: 2, attributes: {} },
        { id: 4, parent: 3, attributes: usage('chat', 20) },
        { id: 5, parent: 3, attributes: usage('embeddings', 30) },
        { id: 6, parent: 1, attributes: usage('execute_tool', 7) },
      ]);
      expect([step, calls.inputTokens, steps.inputTokens]).toEqual([step, 50, 7]);
    }
  });

  it('separates usage by model, with an empty name for spans without a model', async () => {
    const used = (tokens: number, model?: string, operation = 'chat') => ({
      'gen_ai.operation.name': operation,
      'gen_ai.usage.input_tokens': tokens,
      ...(model !== undefined && { 'gen_ai.response.model': model }),
    });
    const { usage } = await aggregate([
      { id: 1, attributes: used(90, 'a', 'invoke_agent') },
      { id: 2, parent: 1, attributes: used(70, 'a', 'invoke_agent') },
      { id: 3, parent: 2, attributes: used(20, 'a') },
      { id: 4, parent: 2, attributes: used(30, 'a') },
      { id: 5, parent: 2, attributes: used(7, 'b') },
      { id: 6, parent: 2, attributes: used(3) },
      { id: 7, parent: 2 },
    ]);
    const byModel = Array.from(usage.values(), ({ model, calls, steps }) => [
      model,
      calls.inputTokens,
      steps.inputTokens,
    ]);
    expect(byModel).toEqual([
      ['a', 50, null],
      ['b', 7, null],
      ['', 3, null],
    ]);
  });

  it('counts calls with unpriced tokens, per trace and per model', async () => {
    const used = (tokens: number, model: string, more: Record<string, string | number> = {}) => ({
      'gen_ai.usage.input_tokens': tokens,
      'gen_ai.response.model': model,
      ...more,
    });
    const prices = { priced: { input_usd_per_million: 2, output_usd_per_million: 8 } };
    const sketches = [
      { id: 1, attributes: used(90, 'own', { 'gen_ai.operation.name': 'invoke_agent' }) },
      { id: 2, parent: 1, attributes: used(20, 'priced') },
      { id: 3, parent: 1, attributes: used(30, 'own') },
      { id: 4, parent: 1, attributes: used(30, 'own') },
      { id: 5, parent: 1, attributes: used(0, 'own') },
      { id: 6, parent: 1, attributes: used(30, 'own', { 'gen_ai.usage.cost': 1 }) },
    ];
    const { unpricedCount, unpricedStepCount, usage } = (
      await aggregateTraces(await recordsOf(spans(sketches), prices))
    )[0]!;
    expect([unpricedCount, unpricedStepCount]).toEqual([2, 0]);
    expect(Array.from(usage.values(), (one) => [one.model, one.unpricedCount])).toEqual([
      ['own', 2],
      ['priced', 0],
    ]);
  });

  it('recognizes the model calls of every convention', () => {
    const isCall = (operation: string | null, model: string | null = null) =>
      isModelCall({ operation, model });
    for (const step of ['invoke_agent', 'AGENT', 'CHAIN', 'execute_tool', 'RETRIEVER', 'ai.generateText']) {
      expect([step, isCall(step), isCall(step, 'gpt-4o')]).toEqual([step, false, false]);
    }
    for (const call of ['chat', 'LLM', 'EMBEDDING']) expect([call, isCall(call)]).toEqual([call, true]);
    for (const other of ['ai.generateText.doGenerate', 'custom', '', null]) {
      expect([other, isCall(other), isCall(other, 'gpt-4o')]).toEqual([other, false, true]);
    }
  });

  it(`keeps at most ${MODELS_MAX} models`, async () => {
    const many = Array.from({ length: MODELS_MAX + 20 }, (_, id) => ({
      id: id + 1,
      attributes: { 'gen_ai.response.model': `model ${hex(id, 4)}` },
    }));
    const { models } = await aggregate(many.reverse());
    expect([models.length, models[0], models.at(-1)]).toEqual([
      MODELS_MAX,
      'model 0000',
      `model ${hex(MODELS_MAX - 1, 4)}`,
    ]);
  });

  it('yields to the event loop while it reads and aggregates many spans', async () => {
    const [first] = spans([{ id: 1 }]);
    const sent = Array.from({ length: 20_000 }, (_, n) => ({ ...first!, traceId: hex(n + 1, 32) }));
    let records: SpanRecord[] = [];
    expect(await turnsWhile(async () => (records = await recordsOf(sent)))).toBeGreaterThan(2);
    expect(await turnsWhile(() => aggregateTraces(records))).toBeGreaterThan(2);
  });
});
