import fc from 'fast-check';
import { toMessagesRequest } from './chat-to-messages';
import { toChatRequest } from './messages-to-chat';
import { UntranslatableError } from './request-members';

const hello = { role: 'user', content: 'Hello' };
const request = (members: Record<string, unknown>) =>
  toChatRequest({ model: 'gpt', max_tokens: 100, messages: [hello], ...members });
const messagesOf = (...messages: unknown[]) => request({ messages }).messages;

/** Returns the pointer of the error for a request. */
function pointerOf(members: Record<string, unknown>): string | undefined {
  try {
    request(members);
  } catch (error) {
    if (error instanceof UntranslatableError) return error.pointer;
    throw error;
  }
  return undefined;
}

describe('toChatRequest', () => {
  it('translates a plain request, and requests the usage of a stream', () => {
    expect(
      request({
        system: 'Be brief.',
        temperature: 0.5,
        top_p: 0.9,
        top_k: 5,
        stop_sequences: ['END'],
        metadata: { user_id: 'u-1' },
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
      stop: ['END'],
      user: 'u-1',
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('leaves out a user id that OpenAI would reject', () => {
    expect(request({ metadata: { user_id: 'u'.repeat(65) } })).not.toHaveProperty('user');
  });

  it('translates blocks of the system prompt', () => {
    const system = [
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'b' },
    ];
    expect(request({ system }).messages).toEqual([{ role: 'system', content: 'a\n\nb' }, hello]);
  });

  it('translates images and text documents', () => {
    expect(
      messagesOf({
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A report' } },
        ],
      }),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
          { type: 'text', text: 'A report' },
        ],
      },
    ]);
  });

  it('translates calls and results, with images after all results of the turn', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    expect(
      messagesOf(
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 's' },
            { type: 'redacted_thinking', data: 'x' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'moon' } },
            { type: 'tool_use', id: 'toolu_2', name: 'now', input: {} },
            { type: 'tool_use', id: 'toolu_3', name: 'bad', input: { INVALID_JSON: '{"x":' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'And?' },
            { type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'text', text: 'here' }, image] },
            { type: 'tool_result', tool_use_id: 'toolu_2', content: 'no clock', is_error: true },
            { type: 'tool_result', tool_use_id: 'toolu_3' },
          ],
        },
      ),
    ).toEqual([
      {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [
          { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":"moon"}' } },
          { id: 'toolu_2', type: 'function', function: { name: 'now', arguments: '{}' } },
          { id: 'toolu_3', type: 'function', function: { name: 'bad', arguments: '{"x":' } },
        ],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'here' },
      { role: 'tool', tool_call_id: 'toolu_2', content: 'Error: no clock' },
      { role: 'tool', tool_call_id: 'toolu_3', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Images in the result of the call toolu_1:' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('leaves out an assistant turn that contains only thinking', () => {
    expect(messagesOf(hello, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }] })).toEqual([
      hello,
    ]);
  });

  it('translates tools and the tool choice', () => {
    const input_schema = { type: 'object', properties: { at: { type: 'string' } } };
    const tools = [
      { name: 'look', description: 'Looks', input_schema },
      { type: 'custom', name: 'go', input_schema, strict: true },
    ];
    const choice = (tool_choice: unknown) => {
      const { tool_choice: translated, parallel_tool_calls } = request({ tools, tool_choice });
      return [translated, parallel_tool_calls];
    };
    expect(request({ tools }).tools).toEqual([
      { type: 'function', function: { name: 'look', description: 'Looks', parameters: input_schema } },
      { type: 'function', function: { name: 'go', parameters: input_schema, strict: true } },
    ]);
    expect(choice({ type: 'auto', disable_parallel_tool_use: true })).toEqual(['auto', false]);
    expect(choice({ type: 'any' })).toEqual(['required', undefined]);
    expect(choice({ type: 'none' })).toEqual(['none', undefined]);
    expect(choice({ type: 'tool', name: 'go' })).toEqual([
      { type: 'function', function: { name: 'go' } },
      undefined,
    ]);
  });

  it('translates thinking to an effort', () => {
    const effort = (budget_tokens: number) =>
      request({ thinking: { type: 'enabled', budget_tokens } }).reasoning_effort;
    expect([1024, 4096, 16_384].map(effort)).toEqual(['low', 'medium', 'high']);
    expect(
      request({ thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }).reasoning_effort,
    ).toBe('max');
    expect(request({ thinking: { type: 'disabled' } })).not.toHaveProperty('reasoning_effort');
  });

  it('translates structured outputs', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    expect(request({ output_config: { format: { type: 'json_schema', schema } } }).response_format).toEqual({
      type: 'json_schema',
      json_schema: { name: 'answer', schema, strict: true },
    });
  });

  it('names the member that a chat completion cannot express', () => {
    const content = (...blocks: unknown[]) => ({ messages: [{ role: 'user', content: blocks }] });
    const assistantMessage = (...blocks: unknown[]) => ({
      messages: [{ role: 'assistant', content: blocks }],
    });
    for (const [pointer, members] of [
      ['/mcp_servers', { mcp_servers: [] }],
      ['/container', { container: 'c' }],
      ['/messages', { messages: {} }],
      ['/messages/0', { messages: ['x'] }],
      ['/messages/0/role', { messages: [{ role: 'tool', content: 'x' }] }],
      ['/messages/0/content', { messages: [{ role: 'user' }] }],
      ['/messages/0/content/0', content(null)],
      ['/messages/0/content/0/type', content({ type: 'search_result' })],
      ['/messages/0/content/0/source/type', content({ type: 'document', source: { type: 'base64' } })],
      ['/messages/0/content/0/source', content({ type: 'image', source: { type: 'file', file_id: 'f' } })],
      ['/messages/0/content/0/tool_use_id', content({ type: 'tool_result', content: 'x' })],
      ['/messages/0/content/0/text', content({ type: 'text', text: 5 })],
      [
        '/messages/0/content/0/type',
        assistantMessage({ type: 'server_tool_use', id: 'x', name: 'web_search', input: {} }),
      ],
      ['/messages/0/content/0', assistantMessage({ type: 'tool_use', id: 'x', name: 'f', input: 'text' })],
      ['/system/0/type', { system: [{ type: 'image' }] }],
      ['/tools/0/type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
      ['/tools/0/name', { tools: [{ input_schema: {} }] }],
      ['/tools/0/input_schema', { tools: [{ name: 'x' }] }],
      ['/tool_choice', { tool_choice: 'auto' }],
      ['/stop_sequences', { stop_sequences: 'x' }],
      ['/max_tokens', { max_tokens: '5' }],
      ['/output_config/format', { output_config: { format: { type: 'xml' } } }],
    ] as [string, Record<string, unknown>][]) {
      expect([members, pointerOf(members)]).toEqual([members, pointer]);
    }
  });

  it('translates a conversation back to the original', () => {
    const turns = {
      model: 'm',
      max_tokens: 10,
      system: 'Be brief.',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Where?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: [1, { x: null }] } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'here' }] },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      temperature: 0.5,
      stop_sequences: ['END'],
    };
    expect(toMessagesRequest(toChatRequest(turns))).toEqual(turns);
  });

  it('either translates a request or names its fault, whatever its members are', () => {
    const json = fc.jsonValue({ maxDepth: 3 });
    const names = [
      'messages',
      'system',
      'tools',
      'tool_choice',
      'stop_sequences',
      'thinking',
      'output_config',
    ];
    const type = fc.constantFrom('text', 'image', 'document', 'tool_use', 'tool_result', '__proto__');
    const block = fc.record({ type, source: json, content: json, input: json, id: json, tool_use_id: json });
    const turn = fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.array(block) });
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), json), fc.array(turn), (members, messages) => {
        pointerOf(members);
        pointerOf({ messages });
      }),
    );
  });

  it('rejects tool input that is nested too deeply to write', () => {
    let input: Record<string, unknown> = {};
    for (let depth = 0; depth < 100_000; depth++) input = { input };
    expect(
      pointerOf({
        messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'f', input }] }],
      }),
    ).toBe('/messages/0/content/0');
  });
});
