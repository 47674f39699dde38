import type { OtlpAttributes, OtlpSpan } from '#otlp';
import type { Scope } from '#platform/auth';
import { readEnvironment } from '#platform/config';
import { ModelPrices } from '../span-mapping/model-prices';
import { NAME_MAX } from '../span-mapping/field.parser';
import { type SpanRecord, toSpanRecords } from './span-record';
import { inSlices } from '#platform/concurrency';

const span = (attributes: OtlpAttributes, times: [bigint, bigint] = [0n, 0n]): OtlpSpan => {
  const resource = { attributes: {}, droppedAttributesCount: 0, schemaUrl: '' };
  const scope = { name: '', version: '', attributes: {}, droppedAttributesCount: 0, schemaUrl: '' };
  return {
    traceId: '1',
    spanId: '2',
    startTimeUnixNano: times[0],
    endTimeUnixNano: times[1],
    attributes,
    status: { code: 'unset', message: '' },
    resource,
    scope,
    events: [],
    links: [],
  } as unknown as OtlpSpan;
};
const record = async (attributes: OtlpAttributes, prices = {}): Promise<SpanRecord> => {
  const environment = readEnvironment({ MODEL_PRICES: JSON.stringify(prices) });
  return (
    await inSlices(toSpanRecords({} as Scope, [span(attributes)], 100, new ModelPrices(environment)))
  )[0]!;
};

const NAMES = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  model: 'gen_ai.request.model',
  agentName: 'gen_ai.agent.name',
  toolName: 'gen_ai.tool.name',
  sessionId: 'session.id',
  serviceName: 'service.name',
};

describe('toSpanRecords', () => {
  it.each(Object.entries(NAMES))('reads %s, unless it is too long to be a name', async (field, name) => {
    const longest = 'x'.repeat(NAME_MAX);
    expect(await record({ [name]: longest })).toHaveProperty(['fields', field], longest);
    expect(await record({ [name]: `${longest}x` })).toHaveProperty(['fields', field], null);
    expect(await record({})).toHaveProperty(['fields', field], null);
  });

  it('reads cache and reasoning tokens, and prices them', async () => {
    const attributes = {
      'gen_ai.request.model': 'm',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.output_tokens': 100,
      'gen_ai.usage.cache_read.input_tokens': 600,
      'gen_ai.usage.cache_write.input_tokens': 400,
      'gen_ai.usage.reasoning.output_tokens': 90,
    };
    const prices = {
      m: {
        input_usd_per_million: 1000,
        output_usd_per_million: 1000,
        cached_input_usd_per_million: 100,
        cache_write_usd_per_million: 2000,
      },
    };
    expect(await record(attributes, prices)).toMatchObject({
      fields: { inputTokens: 1000, outputTokens: 100, cachedInputTokens: 600, reasoningTokens: 90 },
      costUsd: expect.closeTo(0.96, 10),
    });
  });

  it('prices the models of public providers without a price table, unless the span reports a cost', async () => {
    const attributes = {
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.usage.input_tokens': 1000,
      'gen_ai.usage.cache_read.input_tokens': 600,
      'gen_ai.usage.output_tokens': 100,
    };
    expect((await record(attributes)).costUsd).toBeCloseTo((400 * 2.5 + 600 * 1.25 + 100 * 10) / 1e6, 10);
    expect(await record({ ...attributes, 'gen_ai.usage.cost': 0 })).toHaveProperty('costUsd', 0);
    expect(await record({ ...attributes, 'gen_ai.request.model': 'own-model' })).toHaveProperty(
      'costUsd',
      null,
    );
  });

  it.each([
    [
      [5_000n, 9_000n],
      [5n, 9n, false],
    ],
    [
      [5_000n, 0n],
      [5n, 5n, false],
    ],
    [
      [9_000n, 5_000n],
      [9n, 5n, false],
    ],
    [
      [0n, 9_000n],
      [9n, 9n, true],
    ],
  ] as [[bigint, bigint], unknown[]][])('does not start a span in 1970: %j', async (times, expected) => {
    const prices = new ModelPrices(readEnvironment({}));
    const [one] = await inSlices(toSpanRecords({} as Scope, [span({}, times)], 100, prices));
    expect([one!.startedAt, one!.endedAt, one!.startUnknown]).toEqual(expected);
  });

  it('starts a span without start and end when it arrives', async () => {
    const before = BigInt(Date.now()) * 1000n;
    const { startedAt, endedAt, startUnknown } = await record({});
    expect(startedAt).toBeGreaterThanOrEqual(before);
    expect([endedAt, startUnknown]).toEqual([startedAt, true]);
  });

  it('recognizes agent runs of Pydantic AI without an operation as steps', async () => {
    const model = { 'gen_ai.request.model': 'gpt-4o' };
    expect(await record({ ...model, all_messages_events: '[]' })).toHaveProperty('isStep', true);
    expect(await record(model)).toHaveProperty('isStep', false);
  });
});
