import fc from 'fast-check';
import { toMessagesRequest } from './chat-to-messages';
import { UntranslatableError } from './untranslatable.error';

const hello = { role: 'user', content: 'Hello' };
const request = (members: Record<string, unknown>) =>
  toMessagesRequest({ model: 'claude', messages: [hello], ...members });
const messagesOf = (...messages: unknown[]) => request({ messages }).messages;

/** The pointer and the text of the error that the request causes. */
function refusal(members: Record<string, unknown>): string {
  try {
    request(members);
  } catch (error) {
    if (error instanceof UntranslatableError) return `${error.pointer} ${error.message}`;
    throw error;
  }
  return 'no error';
}

describe('toMessagesRequest', () => {
  it('translates a plain request', () => {
    expect(
      request({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'developer', content: 'Use German.' },
          hello,
        ],
        max_completion_tokens: 100,
        max_tokens: 5,
        temperature: 1.5,
        top_p: 0.9,
        stop: 'END',
        user: 'u-1',
        stream: true,
        seed: 4,
        store: true,
        unheard_of: 1,
      }),
    ).toEqual({
      model: 'claude',
      max_tokens: 100,
      system: 'Be brief.\n\nUse German.',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
      temperature: 1,
      top_p: 0.9,
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
      stream: true,
    });
  });

  it('sets the limit that Anthropic demands, and treats null as absent', () => {
    const members = {
      max_tokens: null,
      n: null,
      stop: null,
      temperature: null,
      tools: null,
      tool_choice: null,
      response_format: null,
      audio: null,
      stream: null,
    };
    expect(request(members)).toEqual({
      model: 'claude',
      max_tokens: 4096,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    });
  });

  it('translates images', () => {
    const image = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'low' } });
    expect(
      messagesOf({
        role: 'user',
        content: [
          { type: 'text', text: 'Compare' },
          image('data:image/png;base64,iVBORw0KGgo='),
          image('https://example.com/a.png'),
        ],
      }),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Compare' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        ],
      },
    ]);
  });

  it('translates a PDF to a document, and refuses other files', () => {
    const file = (file_data: string) => ({
      messages: [{ role: 'user', content: [{ type: 'file', file: { filename: 'a.pdf', file_data } }] }],
    });
    expect(request(file('data:application/pdf;base64,JVBE')).messages).toEqual([
      {
        role: 'user',
        content: [
          {
            type: 'document',
            title: 'a.pdf',
            source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
          },
        ],
      },
    ]);
    expect(refusal(file('data:text/csv;base64,YQ=='))).toContain('/messages/0/content/0/file/file_data');
    expect(refusal(file('data:application/pdf,x'))).toContain('/messages/0/content/0/file/file_data');
  });

  it('translates calls and their results, and puts the results before other blocks of the turn', () => {
    const call = (id: string, name: string, text: string) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    });
    expect(
      messagesOf(
        hello,
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [call('call_1', 'look', '{"at":"moon"}'), call('functions.now:1', 'now', '')],
        },
        hello,
        { role: 'tool', tool_call_id: 'call_1', content: 'bright' },
        { role: 'tool', tool_call_id: 'functions.now:1', content: [{ type: 'text', text: 'noon' }] },
      ),
    ).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 'moon' } },
          { type: 'tool_use', id: 'functions_now_1', name: 'now', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'bright' },
          { type: 'tool_result', tool_use_id: 'functions_now_1', content: [{ type: 'text', text: 'noon' }] },
          { type: 'text', text: 'Hello' },
        ],
      },
    ]);
  });

  it('keeps arguments that a model wrote wrongly', () => {
    const [, assistant] = messagesOf(hello, {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":' } }],
    }) as any[];
    expect(assistant.content[0].input).toEqual({ INVALID_JSON: '{"x":' });
  });

  it('merges turns of one role, and leaves out empty ones, which Anthropic refuses', () => {
    expect(
      messagesOf(
        { role: 'user', content: 'a' },
        { role: 'assistant', content: '' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '' },
            { type: 'text', text: 'b' },
          ],
        },
        { role: 'assistant', content: null, refusal: 'No.' },
      ),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'No.' }] },
    ]);
  });

  it('passes on what clients of Anthropic add', () => {
    const cache = { type: 'ephemeral' };
    const translated = request({
      messages: [{ role: 'system', content: [{ type: 'text', text: 'Long', cache_control: cache }] }, hello],
      tools: [{ type: 'function', function: { name: 'f' }, cache_control: cache }],
      thinking: { type: 'adaptive' },
      top_k: 5,
      output_config: { effort: 'low' },
      cache_control: cache,
    });
    expect(translated).toMatchObject({
      system: [{ type: 'text', text: 'Long', cache_control: cache }],
      tools: [{ name: 'f', cache_control: cache }],
      thinking: { type: 'adaptive' },
      top_k: 5,
      output_config: { effort: 'low' },
      cache_control: cache,
    });
  });

  it('translates tools', () => {
    const parameters = { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] };
    expect(
      request({
        tools: [
          { type: 'function', function: { name: 'look', description: 'Looks', parameters, strict: true } },
          { type: 'function', function: { name: 'now' } },
          { type: 'function', function: { name: 'any', parameters: { properties: {} } } },
        ],
      }).tools,
    ).toEqual([
      { name: 'look', description: 'Looks', input_schema: parameters, strict: true },
      { name: 'now', input_schema: { type: 'object', properties: {} } },
      { name: 'any', input_schema: { type: 'object', properties: {} } },
    ]);
  });

  it('translates the choice of tools', () => {
    const choice = (tool_choice: unknown, parallel_tool_calls?: boolean) =>
      request({ tools: [{ type: 'function', function: { name: 'f' } }], tool_choice, parallel_tool_calls })
        .tool_choice;
    expect(choice('auto')).toEqual({ type: 'auto' });
    expect(choice('none', false)).toEqual({ type: 'none' });
    expect(choice('required', true)).toEqual({ type: 'any' });
    expect(choice({ type: 'function', function: { name: 'f' } }, false)).toEqual({
      type: 'tool',
      name: 'f',
      disable_parallel_tool_use: true,
    });
    expect(choice(undefined)).toBeUndefined();
    expect(choice(undefined, false)).toEqual({ type: 'auto', disable_parallel_tool_use: true });
    expect(request({ tool_choice: 'auto', parallel_tool_calls: false, tools: [] })).not.toHaveProperty(
      'tool_choice',
    );
  });

  it('translates the format of the answer', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    const json = request({
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
      output_config: { effort: 'low' },
    });
    expect(json.output_config).toEqual({ effort: 'low', format: { type: 'json_schema', schema } });
    expect(request({ response_format: { type: 'json_object' } }).system).toContain('JSON');
    expect(request({ response_format: { type: 'text' } })).toEqual(request({}));
  });

  it('thinks as long as the effort says, if there is room', () => {
    const budget = (members: Record<string, unknown>) => (request(members) as any).thinking?.budget_tokens;
    expect(budget({ reasoning_effort: 'high', max_tokens: 64_000 })).toBe(16_384);
    expect(budget({ reasoning_effort: 'high' })).toBe(2048);
    expect(budget({ reasoning_effort: 'low', max_tokens: 2047 })).toBeUndefined();
    expect(budget({ reasoning_effort: 'none', max_tokens: 64_000 })).toBeUndefined();
    expect(budget({ reasoning_effort: '__proto__', max_tokens: 64_000 })).toBeUndefined();
  });

  it('does not think where Anthropic would refuse the request for it', () => {
    const thinking = (members: Record<string, unknown>) =>
      request({ reasoning_effort: 'low', max_tokens: 64_000, ...members }).thinking;
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const loop = [
      hello,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: 'x' },
    ];
    expect(thinking({ temperature: 1, top_p: 1 })).toBeDefined();
    expect(thinking({ temperature: 0.2 })).toBeUndefined();
    expect(thinking({ top_p: 0.5 })).toBeUndefined();
    expect(thinking({ top_k: 3 })).toBeUndefined();
    expect(thinking({ tools, tool_choice: 'required' })).toBeUndefined();
    expect(thinking({ tools, messages: loop })).toBeUndefined();
    expect(
      thinking({ tools, messages: [...loop, { role: 'assistant', content: 'y' }, hello] }),
    ).toBeDefined();
  });

  it('says what to change in a request that Anthropic cannot express', () => {
    expect(refusal({ n: 2 })).toBe(
      '/n Remove `n`, or set it to 1: providers of kind anthropic give one answer.',
    );
    expect(
      refusal({ n: 1, logprobs: false, logit_bias: {}, presence_penalty: 0, modalities: ['text'] }),
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
      expect(refusal(members).split(' ')[0]).toBe(pointer);
    }
  });

  it('either translates or says what is wrong, whatever the members are', () => {
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
        refusal(members);
        refusal({ messages });
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
