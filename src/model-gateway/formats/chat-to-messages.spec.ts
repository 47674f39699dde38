import { toMessagesRequest } from './chat-to-messages';

const hello = { role: 'user', content: 'Hello' };
const request = (members: Record<string, unknown>) =>
  toMessagesRequest({ model: 'claude', messages: [hello], ...members });
const messagesOf = (...messages: unknown[]) => request({ messages }).messages;

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

  it('sets the limit that Anthropic requires, and treats null as absent', () => {
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

  it('translates a PDF to a document', () => {
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
  });

  it('translates calls and results, and puts results before the other blocks of a turn', () => {
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

  it('keeps invalid arguments that a model wrote', () => {
    const [, assistant] = messagesOf(hello, {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":' } }],
    }) as any[];
    expect(assistant.content[0].input).toEqual({ INVALID_JSON: '{"x":' });
  });

  it('leaves out blank texts, which Anthropic rejects', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
    const messages = [
      { role: 'system', content: ' ' },
      {
        role: 'user',
        content: [
          { type: 'text', text: ' \n\t' },
          { type: 'text', text: 'Hi' },
        ],
      },
      { role: 'assistant', content: '\n\n', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: '  ' },
      { role: 'assistant', content: '\u00a0', refusal: ' ' },
      { role: 'user', content: ' Bye ' },
    ];
    const translated = toMessagesRequest({ model: 'claude', messages });
    expect(translated).not.toHaveProperty('system');
    expect(translated.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1' },
          { type: 'text', text: ' Bye ' },
        ],
      },
    ]);
  });

  it('merges turns of the same role, and leaves out empty turns, which Anthropic rejects', () => {
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

  it('passes on Anthropic’s own members', () => {
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

  it('translates the tool choice', () => {
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

  it('translates the response format', () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false };
    const json = request({
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
      output_config: { effort: 'low' },
    });
    expect(json.output_config).toEqual({ effort: 'low', format: { type: 'json_schema', schema } });
    expect(request({ response_format: { type: 'json_object' } }).system).toContain('JSON');
    expect(request({ response_format: { type: 'text' } })).toEqual(request({}));
  });

  it('sets a thinking budget for the effort, if there is room', () => {
    const budget = (members: Record<string, unknown>) => (request(members) as any).thinking?.budget_tokens;
    expect(budget({ reasoning_effort: 'high', max_tokens: 64_000 })).toBe(16_384);
    expect(budget({ reasoning_effort: 'high' })).toBe(2048);
    expect(budget({ reasoning_effort: 'low', max_tokens: 2047 })).toBeUndefined();
    expect(budget({ reasoning_effort: 'none', max_tokens: 64_000 })).toBeUndefined();
    expect(budget({ reasoning_effort: '__proto__', max_tokens: 64_000 })).toBeUndefined();
  });

  it('sets no thinking budget if Anthropic would reject the request', () => {
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
});
