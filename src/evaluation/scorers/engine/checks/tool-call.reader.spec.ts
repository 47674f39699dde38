import { toolCallOf } from './tool-call.reader';

const call = (attributes: unknown, name: unknown = 'span') => toolCallOf({ name, attributes });

describe('toolCallOf', () => {
  it.each<[string, object, object]>([
    ['OpenTelemetry', { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search', 'gen_ai.tool.call.arguments': '{"q":1}', 'gen_ai.tool.call.result': 'found' }, { name: 'search', args: { q: 1 }, result: 'found' }],
    ['OpenInference', { 'openinference.span.kind': 'TOOL', 'tool.name': 'search', 'tool.parameters': '{"q":1}', 'input.value': 'x', 'output.value': '[1]' }, { name: 'search', args: { q: 1 }, result: [1] }],
    ['OpenLLMetry', { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'search', 'traceloop.entity.input': { q: 1 }, 'traceloop.entity.output': '' }, { name: 'search', args: { q: 1 }, result: '' }],
    ['the AI SDK', { 'ai.toolCall.name': 'search', 'ai.toolCall.args': '{"q":', 'ai.toolCall.result': 'null' }, { name: 'search', args: '{"q":', result: null }],
    ['a kind alone', { 'openinference.span.kind': 'TOOL' }, { name: 'span', args: undefined, result: undefined }],
    ['names that are not strings', { 'traceloop.span.kind': 'tool', 'tool.name': 7, 'traceloop.entity.name': {} }, { name: 'span', args: undefined, result: undefined }],
    ['names of Object.prototype members', { 'tool.name': '__proto__', 'tool.parameters': '{"__proto__":{"x":1}}' }, { name: '__proto__', args: JSON.parse('{"__proto__":{"x":1}}'), result: undefined }],
  ])('reads %s', (_, attributes, expected) => {
    expect(call(attributes)).toEqual(expected);
  }); // oxfmt-ignore

  it('falls back to the name of the span', () => {
    const attributes = { 'gen_ai.operation.name': 'execute_tool' };
    expect(call(attributes, 'execute_tool search')?.name).toBe('search');
    expect(call(attributes, null)?.name).toBe('');
  });

  it.each<[string, unknown]>([
    ['a span without attributes', undefined],
    ['a span whose attributes are a list', ['tool.name']],
    [
      'a model call, even if it names a tool',
      { 'gen_ai.operation.name': 'chat', 'gen_ai.tool.name': 'search' },
    ],
    ['a span of another kind', { 'openinference.span.kind': 'LLM' }],
  ])('returns undefined for %s', (_, attributes) => {
    expect(call(attributes)).toBeUndefined();
  });
});
