import type { CallFormat } from './call.types';
import { boundOf, mostTokens, UNKNOWN_LIMITS } from './request-bound';

const BYTES = 100;
const most = (request: object, format: CallFormat = 'chat', limits: object = {}) =>
  mostTokens(boundOf(request as never, BYTES, format), { ...UNKNOWN_LIMITS, ...limits });
const outputOf = (request: object, format?: CallFormat, limits?: object): number =>
  most(request, format, limits).outputTokens;
const inputOf = (request: object, format?: CallFormat, limits?: object): number =>
  most(request, format, limits).inputTokens;

const UNKNOWN = 128_000;

describe('the most tokens of an answer', () => {
  it.each<[object, number, CallFormat?]>([
    [{}, UNKNOWN],
    [{ max_tokens: 5 }, 5],
    [{ max_completion_tokens: 1, max_tokens: 100_000 }, 100_000],
    [{ max_completion_tokens: 100_000, max_tokens: 1 }, 100_000],
    [{ max_tokens: 5, max_output_tokens: 9 }, 9],
    [{ max_tokens: 5, MAX_TOKENS: 9 }, 9],
    [{ max_tokens: 5, max_toKenſ: 9 }, 9],
    [{ MAX_TOKENS: 5 }, UNKNOWN],
    // other names of the limit
    [{ max_tokens: 5, n_predict: 9 }, 9],
    [{ max_tokens: 5, n_predict: -1 }, UNKNOWN],
    [{ max_tokens: 5, num_predict: 9 }, 9],
    [{ max_tokens: 5, max_new_tokens: 9 }, 9],
    [{ n_predict: 5 }, UNKNOWN],
    [{ max_tokens: null, max_completion_tokens: 5 }, 5],
    // limits of other formats, which the provider does not read
    [{ max_output_tokens: 1 }, UNKNOWN],
    [{ max_tokens: 1 }, UNKNOWN, 'responses'],
    [{ max_completion_tokens: 1 }, UNKNOWN, 'messages'],
    [{ max_output_tokens: 7 }, 7, 'responses'],
    [{ max_tokens: 7 }, 7, 'messages'],
    // what is not a positive integer may mean no limit
    ...['1', 0, -1, 0.5, 1e300, true, [1], { max_tokens: 1 }].map((max_tokens): [object, number] => [
      { max_tokens, max_completion_tokens: 1 },
      UNKNOWN,
    ]),
    [{ generation_config: { max_tokens: 1 } }, UNKNOWN],
    [{ max_tokens: 5, n: 8 }, 40],
    [{ max_tokens: 5, n: 2, best_of: 8 }, 40],
    [{ max_tokens: 5, N: 8 }, 40],
    [{ max_tokens: 5, n: 2, Best_Of: 8 }, 40],
    [{ max_tokens: 5, n: null }, 5],
    [{ max_tokens: 5, n: 10_000 }, 50_000],
    [{ max_tokens: 5, n: '10000' }, 50_000],
    [{ max_tokens: 5, n: 1e12 }, 1e9],
    ...['many', 0, -1, 1.5, 1e300, {}].map((n): [object, number] => [{ max_tokens: 5, n }, 5 * 128]),
    [{ max_tokens: 5, thinking: { type: 'enabled', budget_tokens: 9 } }, 9, 'messages'],
    [{ max_tokens: 5, prediction: { type: 'content', content: 'x' } }, UNKNOWN],
    [{ max_tokens: 5 }, 0, 'embeddings'],
  ])('of %j is %d', (request, tokens, format: CallFormat = 'chat') => {
    expect(outputOf(request, format)).toBe(tokens);
  });

  it('is limited by the model, as far as its limits are known', () => {
    expect(outputOf({}, 'chat', { maxOutputTokens: 10, contextTokens: 100 })).toBe(10);
    expect(outputOf({ max_tokens: 1e9 }, 'chat', { maxOutputTokens: 10 })).toBe(10);
    expect(outputOf({ max_tokens: 1e9 }, 'chat', { contextTokens: 100 })).toBe(100);
    expect(outputOf({}, 'chat', { maxOutputTokens: 500_000 })).toBe(500_000);
    expect(outputOf({}, 'chat', { contextTokens: 1_000_000 })).toBe(UNKNOWN);
  });
});

describe('the most tokens of a request', () => {
  const user = (content: unknown): object => ({ messages: [{ role: 'user', content }] });
  const open = BYTES + UNKNOWN;

  it.each<[object, number, CallFormat?]>([
    [user('Hi'), BYTES],
    [user([{ type: 'text', text: 'Hi' }]), BYTES],
    [user([{ type: 'tool_result', content: [{ type: 'text', text: 'Hi' }] }]), BYTES],
    [{ input: 'Hi' }, BYTES, 'responses'],
    [{ input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: '' }] }] }, BYTES],
    [{ tools: [{ type: 'function' }, { name: 'x', input_schema: {} }, { type: 'bash_20250124' }] }, BYTES],
    [user([{ type: 'image_url', image_url: { url: 'http://a/b' } }]), BYTES + 50_000],
    [user([{ type: 'tool_result', content: [{ type: 'image', source: {} }] }]), BYTES + 50_000],
    [{ input: [{ type: 'function_call_output', output: [{ type: 'input_image' }] }] }, BYTES + 50_000],
    // their tokens are not in the request
    [user([{ type: 'file', file: { file_id: 'f' } }]), open],
    [user([{ type: 'document', source: { type: 'url', url: 'http://a/b' } }]), open],
    [user([{ image_url: 'http://a/b' }]), open],
    [user([{ type: 'unknown' }]), open],
    [{ messages: [{ role: 'assistant', audio: { id: 'a' } }] }, open],
    [{ input: [{ type: 'item_reference', id: 'i' }] }, open, 'responses'],
    [{ previous_response_id: 'r' }, open, 'responses'],
    [{ conversation: 'c' }, open, 'responses'],
    [{ prompt: { id: 'p' } }, open, 'responses'],
    // which the provider reads in several rounds
    [{ tools: [{ type: 'web_search_20250305' }] }, 10 * open, 'messages'],
    [{ web_search_options: {} }, 10 * open],
    [{ mcp_servers: [] }, 10 * open, 'messages'],
  ])('of %j is %d', (request, tokens, format: CallFormat = 'chat') => {
    expect(inputOf(request, format)).toBe(tokens);
  });

  it('is limited by the model, but not for embeddings, which have many inputs', () => {
    expect(inputOf({}, 'chat', { contextTokens: 50 })).toBe(50);
    expect(inputOf({}, 'chat', { contextTokens: 50, maxInputTokens: 20 })).toBe(20);
    expect(inputOf({ conversation: 'c' }, 'responses', { contextTokens: 1_000 })).toBe(1_000);
    expect(inputOf({ input: ['a', 'b'] }, 'embeddings', { contextTokens: 50 })).toBe(BYTES);
  });

  it('is found in content of any depth', () => {
    const deep = JSON.parse('['.repeat(5_000) + '{"type":"image"}' + ']'.repeat(5_000)) as unknown;
    expect(inputOf(user(deep))).toBe(BYTES + 50_000);
  });
});
