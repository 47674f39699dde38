import fc from 'fast-check';
import { toChatAnswer } from './messages-to-chat-answer';
import { toResponsesAnswer } from './response-events';
import { responsesToChatRequest } from './responses-to-chat';

const look = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"moon"}' } };
const usage = {
  prompt_tokens: 120,
  completion_tokens: 15,
  total_tokens: 135,
  prompt_tokens_details: { cached_tokens: 100 },
  completion_tokens_details: { reasoning_tokens: 8 },
};
const completion = (message: unknown, finish_reason: unknown = 'stop') => ({
  id: 'chatcmpl-1',
  model: 'gpt-x',
  choices: [{ index: 0, message, finish_reason }],
  usage,
});
describe('toResponsesAnswer', () => {
  it('returns a complete Response object with the defaults of the API', () => {
    const answer = toResponsesAnswer(completion({ role: 'assistant', content: 'Hello', refusal: null }), {
      model: 'gpt',
      input: 'Hi',
    });
    expect(answer).toEqual({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      object: 'response',
      created_at: expect.any(Number),
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: {},
      model: 'gpt-x',
      output: [
        {
          id: expect.stringMatching(/^msg_/),
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      service_tier: 'default',
      store: false,
      temperature: 1,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      usage: {
        input_tokens: 120,
        input_tokens_details: { cached_tokens: 100, cache_write_tokens: 0 },
        output_tokens: 15,
        output_tokens_details: { reasoning_tokens: 8 },
        total_tokens: 135,
      },
      user: null,
    });
  });

  it('repeats the request', () => {
    const request = {
      instructions: 'Be brief.',
      tools: [{ type: 'function', name: 'look', parameters: {}, strict: true }],
      tool_choice: 'required',
      parallel_tool_calls: false,
      temperature: 0.5,
      metadata: { team: 'a' },
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      max_output_tokens: 50,
    };
    expect(toResponsesAnswer(completion({}), request)).toMatchObject(request);
  });

  it('returns an item for every call', () => {
    const now = { id: 'call_2', type: 'function', function: { name: 'now', arguments: '' } };
    const answer = toResponsesAnswer(
      completion({ content: null, tool_calls: [look, now] }, 'tool_calls'),
      {},
    );
    const item = { id: expect.stringMatching(/^fc_/), type: 'function_call', status: 'completed' };
    expect(answer.output).toEqual([
      { ...item, call_id: 'call_1', name: 'look', arguments: '{"at":"moon"}' },
      { ...item, call_id: 'call_2', name: 'now', arguments: '{}' },
    ]);
  });

  it('reports why an answer is incomplete', () => {
    const outcome = (finish: unknown) => {
      const answer: any = toResponsesAnswer(completion({ content: 'x' }, finish), {});
      return [answer.status, answer.incomplete_details, answer.output[0].status];
    };
    expect(outcome('length')).toEqual(['incomplete', { reason: 'max_output_tokens' }, 'incomplete']);
    expect(outcome('content_filter')).toEqual(['incomplete', { reason: 'content_filter' }, 'incomplete']);
    expect(outcome('tool_calls')).toEqual(['completed', null, 'completed']);
  });

  it('keeps calls apart that have the same id', () => {
    const answer: any = toResponsesAnswer(completion({ content: null, tool_calls: [look, look] }), {});
    expect(answer.output.map((item: any) => item.arguments)).toEqual(['{"at":"moon"}', '{"at":"moon"}']);
  });

  it('returns a refusal as a refusal, and no usage if it is unknown', () => {
    const answer: any = toResponsesAnswer(
      { choices: [{ message: { content: null, refusal: 'No.' }, finish_reason: 'stop' }] },
      {},
    );
    expect(answer.output[0].content).toEqual([{ type: 'refusal', refusal: 'No.' }]);
    expect(answer.usage).toBeNull();
  });

  it('returns items that can be the input of the next request', () => {
    const answer: any = toResponsesAnswer(
      completion({ content: 'I look.', tool_calls: [look] }, 'tool_calls'),
      {},
    );
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'bright' };
    expect(responsesToChatRequest({ input: [...answer.output, output] }).messages).toEqual([
      { role: 'assistant', content: 'I look.', tool_calls: [look] },
      { role: 'tool', tool_call_id: 'call_1', content: 'bright' },
    ]);
  });

  it('accepts anything that a provider or a client sends', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const blocks = [
          one,
          { type: 'tool_use', id: one, name: other, input: other },
          { type: 'text', text: one },
        ];
        const request = { tools: one, text: other, reasoning: one, metadata: other, instructions: one };
        for (const content of [one, blocks]) {
          const chat = toChatAnswer({ id: one, model: other, content, stop_reason: one, usage: other });
          expect(toResponsesAnswer(chat, request).object).toBe('response');
        }
      }),
    );
  });
});
