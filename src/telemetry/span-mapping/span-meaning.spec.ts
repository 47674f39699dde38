import type { OtlpAttributes, OtlpValue } from '#otlp';
import { MEANING_TABLE } from './meaning.table';
import { readSpanContent, readSpanFields } from './span-meaning.reader';
import type { MeaningAttribute, MeaningfulEvent, SpanMeaning } from './span-meaning.types';
import { AI_SDK_SPANS } from './spans/ai-sdk.fixture';
import { MASTRA_SPANS } from './spans/mastra.fixture';
import { OPEN_INFERENCE_SPANS } from './spans/open-inference.fixture';
import { OPEN_LLMETRY_SPANS } from './spans/open-llmetry.fixture';
import { OPEN_TELEMETRY_SPANS } from './spans/open-telemetry.fixture';
import { PYDANTIC_AI_SPANS } from './spans/pydantic-ai.fixture';

const INSTRUMENTED_SPANS = [
  ...OPEN_TELEMETRY_SPANS,
  ...OPEN_LLMETRY_SPANS,
  ...OPEN_INFERENCE_SPANS,
  ...AI_SDK_SPANS,
  ...PYDANTIC_AI_SPANS,
  ...MASTRA_SPANS,
];

/** Every attribute that a field is read from. */
const ATTRIBUTES = Object.entries(MEANING_TABLE).flatMap(([field, { sources }]) =>
  sources
    .filter((source): source is typeof source & MeaningAttribute => source.from === 'attribute')
    .map((source) => ({ field: field as keyof SpanMeaning, ...source })),
);

const span = (attributes: OtlpAttributes, events: MeaningfulEvent[] = [], resource: OtlpAttributes = {}) => ({
  attributes,
  events,
  resource: { attributes: resource },
});
const meaningOf = (one: ReturnType<typeof span>) => ({ ...readSpanFields(one), ...readSpanContent(one) });
const meaning = (attributes: OtlpAttributes, events?: MeaningfulEvent[]) =>
  meaningOf(span(attributes, events));

const NOTHING: SpanMeaning = {
  model: null,
  provider: null,
  operation: null,
  agentName: null,
  toolName: null,
  inputTokens: null,
  outputTokens: null,
  cachedInputTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  timeToFirstTokenMs: null,
  costUsd: null,
  sessionId: null,
  serviceName: null,
  agentVersion: null,
  userId: null,
  environment: null,
  tags: null,
  promptName: null,
  promptVersion: null,
  input: null,
  output: null,
};

const QUESTION = { role: 'user', parts: [{ type: 'text', content: 'Weather in Paris?' }] };
const ANSWER = { role: 'assistant', parts: [{ type: 'text', content: 'Rainy.' }], finish_reason: 'stop' };

describe('the meaning of a span', () => {
  it('is empty for an unrelated span', () => {
    expect(meaning({ 'http.request.method': 'GET', 'server.port': 443 })).toEqual(NOTHING);
  });

  it.each(INSTRUMENTED_SPANS)('is read from spans of $sentBy', ({ attributes, events, meaning: read }) => {
    expect(meaning(attributes, events)).toEqual({ ...NOTHING, ...read });
  });

  it.each(ATTRIBUTES)('reads $field from $name alone', ({ field, name, where }) => {
    const value = meaning({ [name]: 1, ...(where && { [where.name]: where.is }) })[field];
    expect([1, '1', ['1'], 1_000]).toContainEqual(value);
  });

  it.each(ATTRIBUTES.filter(({ where }) => where))(
    'reads $field from $name only on spans of the required kind',
    ({ field, name, where }) => {
      expect(meaning({ [name]: 'x', [where!.name]: where!.is.toUpperCase() })[field]).toBe('x');
      expect(meaning({ [name]: 'x', [where!.name]: 'another' })[field]).toBeNull();
      expect(meaning({ [name]: 'x' })[field]).toBeNull();
    },
  );

  it.each([
    [
      ['a', 'b', 'a'],
      ['a', 'b'],
    ],
    ['["a","b"]', ['a', 'b']],
    ['a, b,,a', ['a', 'b']],
    [['', 'x'.repeat(256), null], null],
    ['[broken', ['[broken']],
    [Array.from({ length: 120 }, (_, n) => n), Array.from({ length: 100 }, (_, n) => String(n))],
  ])('reads tags from a list, a JSON list or a text with commas: %j', (sent, tags) => {
    expect(meaning({ 'tag.tags': sent }).tags).toEqual(tags);
  });

  it('prefers the environment of the resource over its earlier name', () => {
    const resource = { 'deployment.environment': 'old', 'deployment.environment.name': 'production' };
    expect(meaningOf(span({}, [], resource)).environment).toBe('production');
    expect(meaningOf(span({}, [], { 'deployment.environment': 'old' })).environment).toBe('old');
    expect(meaningOf(span({ 'deployment.environment': 'span' })).environment).toBe('span');
  });

  describe('input tokens', () => {
    const tokens = (attributes: OtlpAttributes) => meaning(attributes).inputTokens;
    const used = (input: number, cached: number, written = 0) => ({
      'gen_ai.usage.input_tokens': input,
      'gen_ai.usage.cache_read.input_tokens': cached,
      'gen_ai.usage.cache_write.input_tokens': written,
    });

    it('include cache tokens that the sender counts separately, as Anthropic does', () => {
      expect(tokens(used(30, 100_000))).toBe(100_030);
      expect(tokens(used(30, 100_000, 500))).toBe(100_530);
      expect(tokens(used(30, 20, 20))).toBe(70);
      const raw = {
        'gen_ai.usage.cache_read_input_tokens': 40,
        'gen_ai.usage.cache_creation_input_tokens': 5,
      };
      expect(tokens({ 'gen_ai.usage.input_tokens': 30, ...raw })).toBe(75);
      const inference = { 'llm.token_count.prompt': 3, 'llm.token_count.prompt_details.cache_read': 4 };
      expect(tokens(inference)).toBe(7);
    });

    it('are the cache tokens of a call that reports no others', () => {
      const read = { 'gen_ai.provider.name': 'anthropic', 'gen_ai.usage.cache_read.input_tokens': 4000 };
      expect(tokens(read)).toBe(4000);
      expect(tokens({ ...read, 'gen_ai.usage.cache_creation.input_tokens': 500 })).toBe(4500);
      expect(tokens({ 'gen_ai.usage.cache_read.input_tokens': 0 })).toBeNull();
    });

    it('do not include cache tokens twice, as conventions define them', () => {
      expect(tokens(used(1000, 600, 400))).toBe(1000);
      expect(tokens({ ...used(1000, 600), 'gen_ai.provider.name': 'anthropic' })).toBe(1000);
      expect(tokens(used(30, 0))).toBe(30);
    });

    it('include the cache tokens of the AI SDK before version 6 for Anthropic and Bedrock', () => {
      const span = (provider: string, more = {}) => ({
        'ai.model.provider': provider,
        'ai.usage.inputTokens': 1000,
        'ai.usage.cachedInputTokens': 600,
        ...more,
      });
      expect(tokens(span('anthropic.messages'))).toBe(1600);
      expect(tokens(span('amazon-bedrock'))).toBe(1600);
      expect(tokens(span('openai.chat'))).toBe(1000);
      const details = { 'ai.usage.inputTokenDetails.cacheReadTokens': 600 };
      expect(tokens(span('anthropic.messages', details))).toBe(1000);
    });

    it('include the cache tokens of Strands', () => {
      const strands = {
        'gen_ai.usage.cache_read_input_tokens': 600,
        'gen_ai.usage.cache_write_input_tokens': 0,
      };
      expect(tokens({ 'gen_ai.usage.input_tokens': 1000, ...strands })).toBe(1600);
    });
  });

  it('puts system instructions before the messages', () => {
    const inputOf = (instructions: OtlpValue, messages: OtlpValue) =>
      meaning({ 'gen_ai.system_instructions': instructions, 'gen_ai.input.messages': messages }).input;
    const system = { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] };
    expect(inputOf('Be brief.', [QUESTION])).toEqual([system, QUESTION]);
    expect(inputOf(JSON.stringify(system.parts), JSON.stringify([QUESTION]))).toEqual([system, QUESTION]);
    expect(inputOf(system.parts, 'Weather in Paris?')).toBe('Weather in Paris?');
    expect(inputOf('', [QUESTION])).toEqual([QUESTION]);
    const event = {
      name: 'gen_ai.client.inference.operation.details',
      attributes: { 'gen_ai.system_instructions': system.parts, 'gen_ai.input.messages': [QUESTION] },
    };
    expect(meaning({}, [event]).input).toEqual([system, QUESTION]);
  });

  it.each(['Launch', '{"a":1}', '[1, null, {"name": "x"}, {"event.name": 7}]', ['a'], 3])(
    'ignores an attribute `events` without messages: %j',
    (events) => {
      expect(meaning({ events })).toEqual(NOTHING);
    },
  );

  it('is read from message events, which instrumentations sent up to version 1.36', () => {
    const events: MeaningfulEvent[] = [
      { name: 'gen_ai.system.message', attributes: { content: 'Be brief.', 'gen_ai.system': 'openai' } },
      {
        name: 'gen_ai.user.message',
        attributes: { 'gen_ai.event.content': '{"role":"user","content":"Why?"}' },
      },
      { name: 'exception', attributes: { 'exception.message': 'timeout' } },
      { name: 'gen_ai.tool.message', attributes: { content: 'rain', id: 'call_1' } },
      {
        name: 'gen_ai.choice',
        attributes: { index: 0, message: '{"content":"Because."}', finish_reason: 'stop' },
      },
    ];
    expect(meaning({}, events)).toMatchObject({
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Why?' },
        { role: 'tool', content: 'rain', id: 'call_1' },
      ],
      output: [{ role: 'assistant', index: 0, message: { content: 'Because.' }, finish_reason: 'stop' }],
    });
  });

  it('is read from events with a list of messages each', () => {
    const details = {
      name: 'gen_ai.client.inference.operation.details',
      attributes: { 'gen_ai.input.messages': [QUESTION], 'gen_ai.output.messages': [ANSWER] },
    };
    expect(meaning({}, [details])).toMatchObject({ input: [QUESTION], output: [ANSWER] });
    const events: MeaningfulEvent[] = [
      { name: 'gen_ai.content.prompt', attributes: { 'gen_ai.prompt': '[{"role":"user"}]' } },
      { name: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': 'Paris.' } },
    ];
    expect(meaning({}, events)).toMatchObject({ input: [{ role: 'user' }], output: 'Paris.' });
  });

  it('contains the arguments and the result of a tool call', () => {
    const attributes = {
      'gen_ai.tool.call.arguments': '{"city":"Paris"}',
      'gen_ai.tool.call.result': 'rain',
    };
    expect(meaning(attributes)).toMatchObject({ input: { city: 'Paris' }, output: 'rain' });
  });

  it('prefers current names to earlier ones, in any order of attributes', () => {
    const attributes = {
      'ai.usage.promptTokens': 4,
      'llm.token_count.prompt': 3,
      'gen_ai.usage.prompt_tokens': 2,
      'gen_ai.usage.input_tokens': 1,
      'gen_ai.conversation.id': 'conversation',
      'session.id': 'session',
    };
    expect(meaning(attributes)).toMatchObject({ inputTokens: 1, sessionId: 'session' });
  });

  it.each([
    ['97', 97],
    [' 97 ', 97],
    [0, 0],
    [1e9, 1e9],
    [-1, null],
    ['-1', null],
    [1.5, null],
    [1e9 + 1, null],
    ['9007199254740993', null],
    ['NaN', null],
    ['Infinity', null],
    ['', null],
    [' ', null],
    ['many', null],
    [true, null],
    [null, null],
    [[97], null],
  ])('reads the token count %j as %j', (sent, tokens) => {
    const attributes = { 'gen_ai.usage.input_tokens': sent, 'gen_ai.usage.output_tokens': sent };
    expect(meaning(attributes)).toMatchObject({ inputTokens: tokens, outputTokens: tokens });
  });

  it('skips an invalid value if another name has a valid one', () => {
    const attributes = {
      'gen_ai.usage.input_tokens': -1,
      'gen_ai.usage.prompt_tokens': 5,
      'gen_ai.response.model': '',
      'gen_ai.request.model': 'gpt-4o',
    };
    expect(meaning(attributes)).toMatchObject({ inputTokens: 5, model: 'gpt-4o' });
  });

  it('skips a text that has too many characters for a name', () => {
    const named = (model: string) => ({ 'gen_ai.response.model': model, 'gen_ai.request.model': 'gpt-4o' });
    for (const longest of ['x'.repeat(255), '🚀'.repeat(255)]) {
      expect(meaning(named(longest))).toMatchObject({ model: longest });
      expect(meaning(named(`${longest}x`))).toMatchObject({ model: 'gpt-4o' });
    }
  });

  it.each([
    [0, 0],
    ['0.0021', 0.0021],
    [-0.1, null],
    ['high', null],
    ['Infinity', null],
    ['0x1f', null],
    [' 1e-3 ', 0.001],
    [1e7, null],
  ])('reads the cost %j as %j', (sent, cost) => {
    expect(meaning({ 'operation.cost': sent })).toMatchObject({ costUsd: cost });
  });

  it('rejects a text that is nearly a number in linear time', () => {
    const texts = [
      '1'.repeat(5_000_000),
      ' '.repeat(5_000_000),
      `1e${'1'.repeat(5_000_000)}`,
      `1.${'1'.repeat(5_000_000)}`,
    ];
    for (const text of texts) {
      expect(meaning({ 'gen_ai.usage.input_tokens': `${text}x` })).toMatchObject({ inputTokens: null });
    }
  });

  it('accepts numbers as ids', () => {
    expect(meaning({ 'session.id': 42 })).toMatchObject({ sessionId: '42' });
  });

  it('reads the service from the resource first, and the session from the span first', () => {
    const resource = { 'service.name': 'shop', 'session.id': 'r' };
    expect(readSpanFields(span({ 'service.name': 'other' }, [], resource))).toMatchObject({
      serviceName: 'shop',
      sessionId: 'r',
    });
    expect(readSpanFields(span({ 'service.name': 'other' }))).toMatchObject({ serviceName: 'other' });
  });

  it('is read in two parts: fields and content', () => {
    const one = span({ 'gen_ai.request.model': 'gpt-4o', 'input.value': 'x' });
    expect(readSpanFields(one)).not.toHaveProperty('input');
    expect(readSpanContent(one)).not.toHaveProperty('model');
  });
});
