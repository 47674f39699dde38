import type { JsonObject } from './json-shape';
import { estimatedInputTokens } from './token-estimate';

const estimate = (request: JsonObject): number =>
  estimatedInputTokens(request, JSON.stringify(request).length);
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });

describe('an estimate of input tokens', () => {
  it('grows with the texts, the system prompt and the tools', () => {
    const short = estimate(user('Hi'));
    expect(short).toBeGreaterThan(0);
    const long = estimate(user('word '.repeat(1_000)));
    expect(long - short).toBeGreaterThan(1_000);
    expect(long - short).toBeLessThan(1_500);
    const tools = [{ name: 'find', input_schema: { type: 'object', properties: {} } }];
    for (const more of [{ system: 'Be brief.' }, { tools }]) {
      expect(estimate({ ...user('Hi'), ...more })).toBeGreaterThan(short);
    }
  });

  it('does not count the base64 of images and documents as text, wherever they are', () => {
    const data = 'A'.repeat(1_000_000);
    const source = { type: 'base64', media_type: 'image/png', data };
    const image = { type: 'image', source };
    const inResult = [{ type: 'tool_result', tool_use_id: 'a', content: [image] }];
    for (const content of [[image], inResult]) {
      const tokens = estimate(user(content));
      expect([tokens > 1_000, tokens < 3_000]).toEqual([true, true]);
    }
    const pdf = { type: 'document', source: { ...source, media_type: 'application/pdf' } };
    expect(estimate(user([pdf]))).toBeLessThan(50_000);
    const text = { type: 'document', source: { type: 'text', data } };
    expect(estimate(user([text]))).toBeGreaterThan(200_000);
  });
});
