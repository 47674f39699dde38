import fc from 'fast-check';
import { toMessagesRequest } from './chat-to-messages';
import { UntranslatableError } from './request-members';

const hello = { role: 'user', content: 'Hello' };
const request = (members: Record<string, unknown>) =>
  toMessagesRequest({ model: 'claude', messages: [hello], ...members });

/** Returns the pointer and the message of the error for a request. */
function errorOf(members: Record<string, unknown>): string {
  try {
    request(members);
  } catch (error) {
    if (error instanceof UntranslatableError) return `${error.pointer} ${error.message}`;
    throw error;
  }
  return 'no error';
}

describe('a chat request that Anthropic cannot express', () => {
  it('causes an error that names the member and says what to change', () => {
    expect(errorOf({ n: 2 })).toBe(
      '/n Remove `n`, or set it to 1: providers of kind anthropic return one answer.',
    );
    expect(
      errorOf({ n: 1, logprobs: false, logit_bias: {}, presence_penalty: 0, modalities: ['text'] }),
    ).toBe('no error');
    for (const [pointer, members] of [
      ['/modalities', { modalities: ['text', 'audio'] }],
      ['/functions', { functions: [] }],
      ['/logprobs', { logprobs: true }],
      ['/logit_bias', { logit_bias: { 5: -100 } }],
      ['/frequency_penalty', { frequency_penalty: 1 }],
      ['/web_search_options', { web_search_options: {} }],
      ['/temperature', { temperature: 'hot' }],
      ['/max_tokens', { max_tokens: 0 }],
      ['/stop', { stop: ['\n'] }],
      ['/stream', { stream: 'yes' }],
      ['/messages', { messages: 'Hello' }],
      ['/messages', { messages: [] }],
      ['/messages', { messages: [{ role: 'system', content: 'x' }] }],
      ['/messages/1', { messages: [hello, null] }],
      ['/messages/0/role', { messages: [{ role: 'function', content: 'x' }] }],
      ['/messages/0/content', { messages: [{ role: 'user' }] }],
      ['/messages/0/content', { messages: [{ role: 'user', content: 5 }] }],
      ['/messages/0/content/0', { messages: [{ role: 'user', content: ['x'] }] }],
      ['/messages/0/content/1/type', audioRequest()],
      ['/messages/0/content/0/image_url/url', imageRequest('data:image/png,x')],
      ['/messages/0/content/0/image_url/url', imageRequest('file:///etc/passwd')],
      ['/messages/0/content/0/image_url/url', imageRequest(undefined)],
      ['/messages/0/content/0/file/file_data', fileRequest('data:text/csv;base64,YQ==')],
      ['/messages/0/content/0/file/file_data', fileRequest('data:application/pdf,x')],
      ['/messages/0/tool_calls/0', { messages: [{ role: 'assistant', tool_calls: [null] }] }],
      ['/messages/0/tool_calls', { messages: [{ role: 'assistant', tool_calls: {} }] }],
      ['/messages/0/tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
      ['/tools', { tools: {} }],
      ['/tools/0/type', { tools: [{ type: 'custom', custom: { name: 'x' } }] }],
      ['/tools/0/function/name', { tools: [{ type: 'function' }] }],
      ['/tool_choice', { tool_choice: { type: 'allowed_tools' } }],
      ['/response_format/type', { response_format: { type: 'grammar' } }],
      ['/response_format/json_schema/schema', { response_format: { type: 'json_schema' } }],
    ] as [string, Record<string, unknown>][]) {
      expect(errorOf(members).split(' ')[0]).toBe(pointer);
    }
  });

  it('is the only kind of request that fails, whatever the members are', () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    const names = [
      'messages',
      'tools',
      'tool_choice',
      'stop',
      'response_format',
      'n',
      'thinking',
      'metadata',
    ];
    const message = fc.record(
      {
        role: fc.constantFrom<unknown>('system', 'user', 'assistant', 'tool', '__proto__'),
        content: json,
        tool_calls: json,
        tool_call_id: json,
      },
      { requiredKeys: ['role'] },
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), json), fc.array(message), (members, messages) => {
        errorOf(members);
        errorOf({ messages });
      }),
    );
  });
});

function audioRequest() {
  const audio = { type: 'input_audio', input_audio: { data: '', format: 'wav' } };
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, audio] }] };
}

function imageRequest(url: unknown) {
  return { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] };
}

function fileRequest(file_data: string) {
  return { messages: [{ role: 'user', content: [{ type: 'file', file: { file_data } }] }] };
}
