import type { OtlpAttributes, OtlpValue } from '#otlp';
import { MEANING_TABLE } from './meaning.table';
import { readSpanContent, readSpanFigures } from './span-meaning.reader';
import type { MeaningAttribute, MeaningfulEvent, SpanMeaning } from './span-meaning.types';
import { AI_SDK_SPANS } from './spans/ai-sdk.fixture';
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
const meaningOf = (one: ReturnType<typeof span>) => ({ ...readSpanFigures(one), ...readSpanContent(one) });
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
  costUsd: null,
  sessionId: null,
  serviceName: null,
  input: null,
  output: null,
};

const QUESTION = { role: 'user', parts: [{ type: 'text', content: 'Weather in Paris?' }] };
const ANSWER = { role: 'assistant', parts: [{ type: 'text', content: 'Rainy.' }], finish_reason: 'stop' };

describe('the meaning of a span', () => {
  it('is nothing for a span of something else', () => {
    expect(meaning({ 'http.request.method': 'GET', 'server.port': 443 })).toEqual(NOTHING);
  });

  it.each(INSTRUMENTED_SPANS)(
    'is read from what is sent by $sentBy',
    ({ attributes, events, meaning: read }) => {
      expect(meaning(attributes, events)).toEqual({ ...NOTHING, ...read });
    },
  );

  it.each(ATTRIBUTES)('has its $field from $name alone', ({ field, name, where }) => {
    const found = meaning({ [name]: 1, ...(where && { [where.name]: where.is }) })[field];
    expect([1, '1']).toContain(found);
  });

  it.each(ATTRIBUTES.filter(({ where }) => where))(
    'has its $field from $name on spans of one kind only',
    ({ field, name, where }) => {
      expect(meaning({ [name]: 'x', [where!.name]: where!.is.toUpperCase() })[field]).toBe('x');
      expect(meaning({ [name]: 'x', [where!.name]: 'another' })[field]).toBeNull();
      expect(meaning({ [name]: 'x' })[field]).toBeNull();
    },
  );

  it('puts what the system was told apart before the messages', () => {
    const told = (instructions: OtlpValue, messages: OtlpValue) =>
      meaning({ 'gen_ai.system_instructions': instructions, 'gen_ai.input.messages': messages }).input;
    const system = { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] };
    expect(told('Be brief.', [QUESTION])).toEqual([system, QUESTION]);
    expect(told(JSON.stringify(system.parts), JSON.stringify([QUESTION]))).toEqual([system, QUESTION]);
    expect(told(system.parts, 'Weather in Paris?')).toBe('Weather in Paris?');
    expect(told('', [QUESTION])).toEqual([QUESTION]);
    const event = {
      name: 'gen_ai.client.inference.operation.details',
      attributes: { 'gen_ai.system_instructions': system.parts, 'gen_ai.input.messages': [QUESTION] },
    };
    expect(meaning({}, [event]).input).toEqual([system, QUESTION]);
  });

  it.each(['Launch', '{"a":1}', '[1, null, {"name": "x"}, {"event.name": 7}]', ['a'], 3])(
    'takes nothing from an attribute `events` that holds no messages: %j',
    (events) => {
      expect(meaning({ events })).toEqual(NOTHING);
    },
  );

  it('is read from message events, as instrumentations sent them up to version 1.36', () => {
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

  it('is read from the events of one message list each', () => {
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

  it('of a tool call is its arguments and its result', () => {
    const attributes = {
      'gen_ai.tool.call.arguments': '{"city":"Paris"}',
      'gen_ai.tool.call.result': 'rain',
    };
    expect(meaning(attributes)).toMatchObject({ input: { city: 'Paris' }, output: 'rain' });
  });

  it('prefers the current name to the earlier one, whatever the order of the attributes', () => {
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
  ])('has for the token count %j %j', (sent, tokens) => {
    const attributes = { 'gen_ai.usage.input_tokens': sent, 'gen_ai.usage.output_tokens': sent };
    expect(meaning(attributes)).toMatchObject({ inputTokens: tokens, outputTokens: tokens });
  });

  it('passes over a broken value for one of a later name', () => {
    const attributes = {
      'gen_ai.usage.input_tokens': -1,
      'gen_ai.usage.prompt_tokens': 5,
      'gen_ai.response.model': '',
      'gen_ai.request.model': 'gpt-4o',
    };
    expect(meaning(attributes)).toMatchObject({ inputTokens: 5, model: 'gpt-4o' });
  });

  it('passes over a text that is too long to be a name, which is told by its characters', () => {
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
  ])('has for the cost %j %j', (sent, cost) => {
    expect(meaning({ 'operation.cost': sent })).toMatchObject({ costUsd: cost });
  });

  it('is read at once of a text that is nearly a number, however long', () => {
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

  it('takes numbers for ids', () => {
    expect(meaning({ 'session.id': 42 })).toMatchObject({ sessionId: '42' });
  });

  it('takes the service from the resource, and the session when the span has none', () => {
    const resource = { 'service.name': 'shop', 'session.id': 'r' };
    expect(readSpanFigures(span({ 'service.name': 'other' }, [], resource))).toMatchObject({
      serviceName: 'shop',
      sessionId: 'r',
    });
    expect(readSpanFigures(span({ 'service.name': 'other' }))).toMatchObject({ serviceName: 'other' });
  });

  it('is read in two parts, the cheap one and the other', () => {
    const one = span({ 'gen_ai.request.model': 'gpt-4o', 'input.value': 'x' });
    expect(readSpanFigures(one)).not.toHaveProperty('input');
    expect(readSpanContent(one)).not.toHaveProperty('model');
  });
});
