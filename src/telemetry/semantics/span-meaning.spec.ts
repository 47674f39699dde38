import type { OtlpAttributes } from '#otlp';
import { readSpanContent, readSpanFigures } from './span-meaning.reader';
import type { MeaningfulEvent } from './span-meaning.types';

const span = (attributes: OtlpAttributes, events: MeaningfulEvent[] = [], resource: OtlpAttributes = {}) => ({
  attributes,
  events,
  resource: { attributes: resource },
});
const meaningOf = (one: ReturnType<typeof span>) => ({ ...readSpanFigures(one), ...readSpanContent(one) });
const meaning = (attributes: OtlpAttributes, events?: MeaningfulEvent[]) =>
  meaningOf(span(attributes, events));

const NOTHING = {
  model: null,
  provider: null,
  operation: null,
  inputTokens: null,
  outputTokens: null,
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

  it('is read from the current OpenTelemetry names', () => {
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.response.model': 'gpt-4o-2024-08-06',
      'gen_ai.usage.input_tokens': 97,
      'gen_ai.usage.output_tokens': 52,
      'gen_ai.usage.cost': 0.0021,
      'gen_ai.conversation.id': 'conv_1',
      'gen_ai.input.messages': JSON.stringify([QUESTION]),
      'gen_ai.output.messages': [ANSWER],
    };
    expect(meaningOf(span(attributes, [], { 'service.name': 'shop' }))).toEqual({
      model: 'gpt-4o-2024-08-06',
      provider: 'openai',
      operation: 'chat',
      inputTokens: 97,
      outputTokens: 52,
      costUsd: 0.0021,
      sessionId: 'conv_1',
      serviceName: 'shop',
      input: [QUESTION],
      output: [ANSWER],
    });
  });

  it('is read from the earlier OpenTelemetry names', () => {
    const messages = [{ role: 'user', content: 'What is the capital of France?' }];
    const attributes = {
      'gen_ai.system': 'openai',
      'gen_ai.request.model': 'gpt-4',
      'gen_ai.usage.prompt_tokens': 12,
      'gen_ai.usage.completion_tokens': 7,
      'gen_ai.prompt': JSON.stringify(messages),
      'gen_ai.completion': 'Paris.',
    };
    expect(meaning(attributes)).toEqual({
      ...NOTHING,
      provider: 'openai',
      model: 'gpt-4',
      inputTokens: 12,
      outputTokens: 7,
      input: messages,
      output: 'Paris.',
    });
  });

  it('is read from OpenInference', () => {
    const attributes = {
      'openinference.span.kind': 'LLM',
      'llm.provider': 'azure',
      'llm.system': 'openai',
      'llm.model_name': 'gpt-3.5-turbo-0613',
      'llm.token_count.prompt': 229,
      'llm.token_count.completion': 21,
      'llm.cost.total': 0.0066,
      'session.id': '26bcd3d2',
      'input.value': '{"messages":[],"temperature":0.1}',
      'input.mime_type': 'application/json',
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': 'what is 23 times 87',
      'llm.output_messages.0.message.role': 'assistant',
      'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'multiply',
    };
    expect(meaning(attributes)).toEqual({
      ...NOTHING,
      operation: 'LLM',
      provider: 'azure',
      model: 'gpt-3.5-turbo-0613',
      inputTokens: 229,
      outputTokens: 21,
      costUsd: 0.0066,
      sessionId: '26bcd3d2',
      input: [{ role: 'user', content: 'what is 23 times 87' }],
      output: [{ role: 'assistant', tool_calls: [{ function: { name: 'multiply' } }] }],
    });
  });

  it('is read from OpenLLMetry', () => {
    const attributes = {
      'traceloop.span.kind': 'workflow',
      'llm.request.model': 'claude-3-opus',
      'llm.usage.prompt_tokens': 5,
      'llm.usage.completion_tokens': 6,
      'traceloop.association.properties.session_id': 's-1',
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': 'hello',
      'gen_ai.completion.0.content': 'hi',
    };
    expect(meaning(attributes)).toMatchObject({
      operation: 'workflow',
      model: 'claude-3-opus',
      inputTokens: 5,
      outputTokens: 6,
      sessionId: 's-1',
      input: [{ role: 'user', content: 'hello' }],
      output: [{ content: 'hi' }],
    });
    const entity = { 'traceloop.entity.input': '{"a":1}', 'traceloop.entity.output': 'b' };
    expect(meaning(entity)).toMatchObject({ input: { a: 1 }, output: 'b' });
  });

  it('is read from the AI SDK', () => {
    const attributes = {
      'ai.operationId': 'ai.generateText',
      'ai.model.id': 'gpt-4o',
      'ai.model.provider': 'openai.chat',
      'ai.usage.promptTokens': 10,
      'ai.usage.completionTokens': 20,
      'ai.telemetry.metadata.sessionId': 's-2',
      'ai.prompt': '{"prompt":"Why?"}',
      'ai.response.text': 'Because.',
    };
    expect(meaning(attributes)).toMatchObject({
      operation: 'ai.generateText',
      model: 'gpt-4o',
      provider: 'openai.chat',
      inputTokens: 10,
      outputTokens: 20,
      sessionId: 's-2',
      input: { prompt: 'Why?' },
      output: 'Because.',
    });
  });

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

  it.each([
    [0, 0],
    ['0.0021', 0.0021],
    [-0.1, null],
    ['high', null],
    ['Infinity', null],
    [1e7, null],
  ])('has for the cost %j %j', (sent, cost) => {
    expect(meaning({ 'operation.cost': sent })).toMatchObject({ costUsd: cost });
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
