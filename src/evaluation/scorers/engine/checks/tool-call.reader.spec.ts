import { toolCallOf } from './tool-call.reader';

const call = (attributes: unknown, name: unknown = 'span') => toolCallOf({ name, attributes });

describe('the call of a tool that a span tells', () => {
  it.each<[string, object, object]>([
    ['OpenTelemetry', { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search', 'gen_ai.tool.call.arguments': '{"q":1}', 'gen_ai.tool.call.result': 'found' }, { name: 'search', args: { q: 1 }, result: 'found' }],
    ['OpenInference', { 'openinference.span.kind': 'TOOL', 'tool.name': 'search', 'tool.parameters': '{"q":1}', 'input.value': 'x', 'output.value': '[1]' }, { name: 'search', args: { q: 1 }, result: [1] }],
    ['OpenLLMetry', { 'traceloop.span.kind': 'tool', 'traceloop.entity.name': 'search', 'traceloop.entity.input': { q: 1 }, 'traceloop.entity.output': '' }, { name: 'search', args: { q: 1 }, result: '' }],
    ['the AI SDK', { 'ai.toolCall.name': 'search', 'ai.toolCall.args': '{"q":', 'ai.toolCall.result': 'null' }, { name: 'search', args: '{"q":', result: null }],
    ['a kind alone', { 'openinference.span.kind': 'TOOL' }, { name: 'span', args: undefined, result: undefined }],
    ['names that are none', { 'traceloop.span.kind': 'tool', 'tool.name': 7, 'traceloop.entity.name': {} }, { name: 'span', args: undefined, result: undefined }],
    ['names that JavaScript knows', { 'tool.name': '__proto__', 'tool.parameters': '{"__proto__":{"x":1}}' }, { name: '__proto__', args: JSON.parse('{"__proto__":{"x":1}}'), result: undefined }],
  ])('is read from what %s says', (_, attributes, told) => {
    expect(call(attributes)).toEqual(told);
  }); // prettier-ignore

  it('has the name of the span where no attribute has one', () => {
    const attributes = { 'gen_ai.operation.name': 'execute_tool' };
    expect(call(attributes, 'execute_tool search')?.name).toBe('search');
    expect(call(attributes, null)?.name).toBe('');
  });

  it.each<[string, unknown]>([
    ['one without attributes', undefined],
    ['one whose attributes are a list', ['tool.name']],
    [
      'the call of a model, though it names a tool',
      { 'gen_ai.operation.name': 'chat', 'gen_ai.tool.name': 'search' },
    ],
    ['one of another kind', { 'openinference.span.kind': 'LLM' }],
  ])('is none of a span that is %s', (_, attributes) => {
    expect(call(attributes)).toBeUndefined();
  });
});
