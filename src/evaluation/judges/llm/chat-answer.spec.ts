import { readChatAnswer } from './chat-answer';

const answer = (message: unknown, more: object = {}) => readChatAnswer({ choices: [{ message }], ...more });

describe('readChatAnswer', () => {
  it('reads the answer, its tokens and its cost', () => {
    const logprobs = { content: [] };
    expect(
      readChatAnswer({
        choices: [{ message: { content: 'a', refusal: null }, finish_reason: 'stop', logprobs }],
        model: 'm-1',
        usage: { prompt_tokens: 3, completion_tokens: 0, cost: 0.5 },
      }),
    ).toEqual({
      ...{ text: 'a', finishReason: 'stop', refusal: undefined, logprobs, model: 'm-1' },
      ...{ inputTokens: 3, outputTokens: 0, costUsd: 0.5 },
    });
  });

  it.each([
    ['parts', [{ type: 'text', text: 'a' }, { type: 'image' }, 'x', null, { text: 'b' }], 'ab'],
    ['null, as in a refusal', null, ''],
    ['an object', { text: 'a' }, ''],
  ])('reads a text from content that is %s', (_, content, text) => {
    expect(answer({ content })?.text).toBe(text);
  });

  it.each([null, 'text', [], {}, { choices: [] }, { choices: {} }, { choices: [null] }, { choices: [{ text: 'a' }] }, { error: {} }])(
    'returns undefined for %j',
    (value) => {
      expect(readChatAnswer(value)).toBeUndefined();
    },
  ); // oxfmt-ignore

  it.each([-1, NaN, Infinity, '3', null, {}])('ignores tokens and a cost of %p', (count) => {
    const usage = { prompt_tokens: count, completion_tokens: count, cost: count };
    const read = answer({ content: '' }, { usage, model: count });
    expect(read).toMatchObject({ inputTokens: null, outputTokens: null, costUsd: undefined });
    expect(answer({ content: '' }, { usage: count })).toMatchObject({ inputTokens: null });
  });
});
