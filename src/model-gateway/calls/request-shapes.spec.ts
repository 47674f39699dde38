import { inspect, messagesOf, shape } from './request-shapes';

const DEEP = '['.repeat(100_000) + ']'.repeat(100_000);

describe('a request', () => {
  it.each([-1, 1.5, 1e300, '9', null, 2_000_000_000])('has no limit if max_tokens is %j', (limit) => {
    const body = JSON.stringify({ model: 'm', max_tokens: limit });
    expect(inspect(body)).toMatchObject({ facts: { maxTokens: null } });
  });

  it('is passed on unchanged if it has 100,000 levels, but cannot be translated', () => {
    const text = `{"model":"m","messages":[{"role":"user","content":"Hi"}],"metadata":${DEEP}}`;
    expect(inspect(text)).toMatchObject({ facts: { model: 'm' } });
    const native = { format: 'chat', kind: 'openai', model: 'u', isStream: false } as const;
    expect(shape(text, native)).toEqual({ text: text.replace('"m"', '"u"') });
    const options = `{"model":"m","stream_options":{"a":${DEEP}}}`;
    const fault = { fault: { pointer: '', detail: 'The body is nested too deeply.' } };
    expect(shape(options, { ...native, isStream: true })).toEqual(fault);
    const tools = `{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"a":${DEEP}}}}]}`;
    expect(shape(tools, { ...native, kind: 'anthropic' })).toEqual(fault);
  });

  it('has no messages for a span if it cannot be translated', () => {
    expect(messagesOf('{"messages":7}', 'messages')).toBeUndefined();
  });
});
