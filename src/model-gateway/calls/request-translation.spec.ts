import { CallFailure } from './call-failure';
import { inspect, messagesOf, translateRequest } from './request-translation';

const DEEP = '['.repeat(40_000) + ']'.repeat(40_000);

const inspected = (text: string) => inspect(Buffer.from(text), 'chat');

describe('a request', () => {
  it.each([
    ['{"model":', 'The body is not JSON: it ends at line 1, column 10, where a value is expected.'],
    ['[1]', 'The body must be a JSON object'],
  ])('is rejected with one sentence about its fault if it is %s', (text, detail) => {
    expect(() => inspected(text)).toThrow(detail);
  });

  it('is passed on unchanged if it has 40,000 levels, but cannot be translated', () => {
    const text = `{"model":"m","messages":[{"role":"user","content":"Hi"}],"metadata":${DEEP}}`;
    expect(inspected(text)).toMatchObject({ model: 'm' });
    const native = { format: 'chat', kind: 'openai', model: 'u', isStream: false } as const;
    expect(translateRequest(Buffer.from(text), native)).toBe(text.replace('"m"', '"u"'));
    const options = Buffer.from(`{"model":"m","stream_options":{"a":${DEEP}}}`);
    const tools = Buffer.from(
      `{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"a":${DEEP}}}}]}`,
    );
    for (const translate of [
      () => translateRequest(options, { ...native, isStream: true }),
      () => translateRequest(tools, { ...native, kind: 'anthropic' }),
    ]) {
      expect(translate).toThrow(CallFailure);
      expect(translate).toThrow('nested too deeply');
    }
  });

  it.each([
    ['a block', '[{"role":"user","content":[{"type":"text","text":" \\n"},{"type":"text","text":"Hi"}]}]'],
    [
      'a message',
      '[{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","content":""}]',
    ],
    [
      'a message of blocks',
      '[{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","content":[{"type":"text","text":"\\u00a0"}]}]',
    ],
  ])('in the format of Anthropic is passed on without the blank text of %s', (_, messages) => {
    const native = { format: 'messages', kind: 'anthropic', model: 'u', isStream: false } as const;
    const text = `{"model":"m","messages":${messages},"big":12345678901234567890}`;
    expect(translateRequest(Buffer.from(text), native)).toBe(
      '{"model":"u","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"big":12345678901234567890}',
    );
  });

  it('in the format of Anthropic keeps its bytes without a blank text, and blank values elsewhere', () => {
    const native = { format: 'messages', kind: 'anthropic', model: 'u', isStream: false } as const;
    const result = '{"type":"tool_result","tool_use_id":"t","content":""}';
    const text = `{"model":"m", "system":[{"type":"text","text":"a b"}],"messages":[{"role":"user","content":[${result}]}]}`;
    expect(translateRequest(Buffer.from(text), native)).toBe(text.replace('"m"', '"u"'));
    const filled = text.replace('""', '"1.0"');
    expect(translateRequest(Buffer.from(filled), native)).toBe(filled.replace('"m"', '"u"'));
    const inner = text.replace('""', '[{"type":"text","text":" "},{"type":"image"}]');
    expect(translateRequest(Buffer.from(inner), native)).toContain('"content":[{"type":"image"}]');
  });

  it('has no messages for a span if it cannot be translated', () => {
    expect(messagesOf('{"messages":7}', 'messages')).toBeUndefined();
  });
});
