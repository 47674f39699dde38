import fc from 'fast-check';
import { responsesToChatRequest } from './responses-to-chat';
import { UntranslatableError } from './request-members';

const request = (members: Record<string, unknown>) =>
  responsesToChatRequest({ model: 'gpt', input: 'Hello', ...members });
const messagesOf = (...input: unknown[]) => request({ input }).messages;

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

describe('responsesToChatRequest', () => {
  it('translates a plain request, and requests the usage of a stream', () => {
    expect(
      request({
        instructions: 'Be brief.',
        max_output_tokens: 100,
        temperature: 0.5,
        top_p: 0.9,
        reasoning: { effort: 'low', summary: 'auto' },
        text: { verbosity: 'low' },
        metadata: { team: 'a' },
        parallel_tool_calls: false,
        store: true,
        background: false,
        previous_response_id: null,
        stream: true,
        unheard_of: 1,
      }),
    ).toEqual({
      model: 'gpt',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
      max_completion_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      reasoning_effort: 'low',
      verbosity: 'low',
      metadata: { team: 'a' },
      parallel_tool_calls: false,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('translates messages with and without a type', () => {
    expect(
      messagesOf(
        { role: 'developer', content: [{ type: 'input_text', text: 'Use German.' }] },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'Compare' },
            { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'high' },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' },
          ],
        },
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Equal.', annotations: [] }],
        },
        { role: 'user', content: 'Thanks' },
      ),
    ).toEqual([
      { role: 'system', content: 'Use German.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Compare' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'high' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
        ],
      },
      { role: 'assistant', content: 'Equal.' },
      { role: 'user', content: 'Thanks' },
    ]);
  });

  it('translates calls to one assistant message, and drops reasoning between them', () => {
    const call = (call_id: string, name: string) => ({
      type: 'function_call',
      id: 'fc',
      call_id,
      name,
      arguments: '{}',
    });
    const calls = (...names: [string, string][]) =>
      names.map(([id, name]) => ({ id, type: 'function', function: { name, arguments: '{}' } }));
    const image = { type: 'input_image', image_url: 'https://example.com/a.png' };
    expect(
      messagesOf(
        { role: 'user', content: 'Go' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
        { role: 'assistant', content: 'I look.' },
        call('call_1', 'look'),
        { type: 'reasoning', id: 'rs_2', summary: [] },
        call('call_2', 'now'),
        {
          type: 'function_call_output',
          call_id: 'call_1',
          output: [{ type: 'input_text', text: 'see' }, image],
        },
        { type: 'function_call_output', call_id: 'call_2', output: 'noon' },
        call('call_3', 'look'),
      ),
    ).toEqual([
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: 'I look.', tool_calls: calls(['call_1', 'look'], ['call_2', 'now']) },
      { role: 'tool', tool_call_id: 'call_1', content: 'see' },
      { role: 'tool', tool_call_id: 'call_2', content: 'noon' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Images in the result of the call call_1:' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
      { role: 'assistant', content: null, tool_calls: calls(['call_3', 'look']) },
    ]);
  });

  it('translates tools, the tool choice and the response format', () => {
    const parameters = { type: 'object', properties: {}, additionalProperties: false };
    const schema = { type: 'object' };
    const translated = request({
      tools: [
        { type: 'function', name: 'look', description: 'Looks', parameters, strict: true },
        { type: 'function', name: 'now', parameters: null },
      ],
      tool_choice: { type: 'function', name: 'look' },
      text: { format: { type: 'json_schema', name: 'report', schema, strict: true } },
    });
    expect(translated.tools).toEqual([
      { type: 'function', function: { name: 'look', description: 'Looks', parameters, strict: true } },
      { type: 'function', function: { name: 'now' } },
    ]);
    expect(translated.tool_choice).toEqual({ type: 'function', function: { name: 'look' } });
    expect(translated.response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'report', schema, strict: true },
    });
    expect(request({ tool_choice: 'required' }).tool_choice).toBe('required');
    expect(request({ text: { format: { type: 'json_object' } } }).response_format).toEqual({
      type: 'json_object',
    });
    expect(request({ text: { format: { type: 'text' } } })).not.toHaveProperty('response_format');
  });

  it('says what to change if the provider would need state', () => {
    expect(errorOf({ previous_response_id: 'resp_1' })).toBe(
      '/previous_response_id Remove `previous_response_id`, and send the whole conversation as `input`: ' +
        'this provider does not store responses.',
    );
    const user = (part: unknown) => ({ input: [{ role: 'user', content: [part] }] });
    for (const [pointer, members] of [
      ['/conversation', { conversation: 'conv_1' }],
      ['/background', { background: true }],
      ['/prompt', { prompt: { id: 'p' } }],
      ['/top_logprobs', { top_logprobs: 2 }],
      ['/instructions', { instructions: [] }],
      ['/input', { input: undefined }],
      ['/input/0', { input: ['x'] }],
      ['/input/0', { input: [{ type: 'item_reference', id: 'msg_1' }] }],
      ['/input/0', { input: [{ id: 'msg_1' }] }],
      ['/input/0/type', { input: [{ type: 'web_search_call', id: 'ws_1' }] }],
      ['/input/0/role', { input: [{ role: 'tool', content: 'x' }] }],
      ['/input/0/content', { input: [{ role: 'user' }] }],
      [
        '/input/0/content',
        { input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: 'x' }] }] },
      ],
      ['/input/0/content/0', user('x')],
      ['/input/0/content/0/type', user({ type: 'input_audio' })],
      ['/input/0/content/0/text', user({ type: 'input_text' })],
      ['/input/0/content/0/image_url', user({ type: 'input_image', file_id: 'file_1' })],
      ['/input/0/content/0/file_data', user({ type: 'input_file', file_id: 'file_1' })],
      ['/input/0', { input: [{ type: 'function_call', name: 'f' }] }],
      ['/input/0/call_id', { input: [{ type: 'function_call_output', output: 'x' }] }],
      ['/input/0/output', { input: [{ type: 'function_call_output', call_id: 'x' }] }],
      ['/tools/0/type', { tools: [{ type: 'web_search' }] }],
      ['/tools/1/type', { tools: [{ type: 'function', name: 'f' }, { type: 'file_search' }] }],
      ['/tools/0/name', { tools: [{ type: 'function' }] }],
      ['/tools/0/parameters', { tools: [{ type: 'function', name: 'f', parameters: 'x' }] }],
      ['/tool_choice', { tool_choice: { type: 'web_search' } }],
      ['/text/format', { text: { format: { type: 'json_schema' } } }],
      ['/temperature', { temperature: '1' }],
    ] as [string, Record<string, unknown>][]) {
      expect([members, errorOf(members).split(' ')[0]]).toEqual([members, pointer]);
    }
  });

  it('either translates a request or names its fault, whatever its members are', () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    const names = ['input', 'instructions', 'tools', 'tool_choice', 'text', 'reasoning', 'metadata'];
    const type = fc.constantFrom('message', 'function_call', 'function_call_output', '__proto__');
    const item = fc.record({ type, role: fc.constant('user'), content: json, output: json, call_id: json });
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), json), fc.array(item), (members, input) => {
        errorOf(members);
        errorOf({ input });
      }),
    );
  });
});
