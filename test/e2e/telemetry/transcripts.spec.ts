import { sharedApp, SPAN_START, type TestSpan } from '#testing';
import { MINUTE, MS, ReadingWorkspace, SESSIONS } from './reading.fixture';

const message = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });
const user = (text: string) => message('user', text);
const assistant = (text: string) => message('assistant', text);
const toolCall = (id: string, name: string, args: object) => ({
  role: 'assistant',
  parts: [{ type: 'tool_call', id, name, arguments: args }],
});
const toolResult = (id: string, response: unknown) => ({
  role: 'tool',
  parts: [{ type: 'tool_call_response', id, response }],
});

const id = (text: string, length: number): string =>
  Buffer.from(text).toString('hex').padStart(length, '0').slice(-length);
const traceId = (name: string): string => id(name, 32);
const spanId = (name: string): string => id(name, 16);

describe('transcripts of sessions', () => {
  const app = sharedApp();
  let space: ReadingWorkspace;

  beforeEach(async () => {
    space = await ReadingWorkspace.open(app);
  });

  /** Returns a span of a trace, from one millisecond to another after the trace's minute. */
  const span = (
    trace: string,
    [minute, from, to]: [number, number, number],
    attributes: Record<string, unknown>,
    { parent, isError = false, name = 'chat' }: { parent?: string; isError?: boolean; name?: string } = {},
  ): Partial<TestSpan> => {
    const start = SPAN_START + BigInt(minute) * MINUTE;
    return {
      traceId: traceId(trace),
      spanId: spanId(`${minute}:${from}:${to}`),
      parentSpanId: parent ?? '',
      name,
      start: start + BigInt(from) * MS,
      end: start + BigInt(to) * MS,
      isError,
      attributes: { 'session.id': 's', ...attributes } as TestSpan['attributes'],
    };
  };
  const chat = (input: object[], output?: object[], more: object = {}) => ({
    'gen_ai.operation.name': 'chat',
    'gen_ai.response.model': 'gpt',
    'gen_ai.input.messages': JSON.stringify(input),
    ...(output && { 'gen_ai.output.messages': JSON.stringify(output) }),
    ...more,
  });
  const path = `${SESSIONS}/s/transcript`;
  const read = async (query = ''): Promise<any[]> => (await space.pages(`${path}${query}`)).items;
  const shown = (items: any[]) =>
    items.map(({ role, content, tool_name, arguments: args, result, error }) =>
      tool_name === null
        ? [role, content, ...(error === null ? [] : [error])]
        : [tool_name, args, result, error],
    );

  it('show each message once, though every call repeats the conversation', async () => {
    const first = [message('system', 'be kind'), user('hello')];
    const second = [...first, assistant('hi'), user('bye?')];
    await space.send([
      span(
        'a',
        [1, 0, 50],
        chat(first, [assistant('hi')], { 'gen_ai.usage.cost': 0.5, 'gen_ai.usage.input_tokens': 7 }),
      ),
      span('b', [2, 0, 50], chat(second, [assistant('bye')], { 'gen_ai.usage.cost': 0.25 })),
    ]);
    const items = await read();
    expect(shown(items)).toEqual([
      ['system', 'be kind'],
      ['user', 'hello'],
      ['assistant', 'hi'],
      ['user', 'bye?'],
      ['assistant', 'bye'],
    ]);
    expect(items.map(({ trace_id, cost_usd }) => [trace_id, cost_usd])).toEqual([
      [traceId('a'), null],
      [traceId('a'), null],
      [traceId('a'), 0.5],
      [traceId('b'), null],
      [traceId('b'), 0.25],
    ]);
    expect(items[2]).toMatchObject({
      model: 'gpt',
      duration_ms: 50,
      input_tokens: 7,
      at: '2026-11-20T00:01:00.050Z',
    });
  });

  it('show a tool call once, with its arguments, result, duration and error', async () => {
    const asked = [user('weather?')];
    const called = [...asked, toolCall('c1', 'weather', { city: 'Bern' })];
    const answered = [...called, toolResult('c1', { celsius: 20 })];
    const root = spanId('1:0:100');
    const tool = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'weather' };
    await space.send([
      span('a', [1, 0, 100], { 'gen_ai.operation.name': 'invoke_agent' }, { name: 'agent' }),
      span('a', [1, 10, 20], chat(asked, [called[1]!]), { parent: root }),
      span('a', [1, 21, 40], { ...tool, 'gen_ai.tool.call.id': 'c1' }, { parent: root }),
      span('a', [1, 41, 50], chat(answered, [assistant('20 degrees')]), { parent: root }),
      // neither message names this call
      span(
        'a',
        [1, 60, 65],
        { ...tool, 'gen_ai.tool.name': 'log', 'gen_ai.tool.call.arguments': '{"n":1}' },
        { parent: root, isError: true },
      ),
    ]);
    const items = await read();
    expect(shown(items)).toEqual([
      ['user', 'weather?'],
      ['weather', { city: 'Bern' }, { celsius: 20 }, null],
      ['assistant', '20 degrees'],
      ['log', { n: 1 }, null, expect.any(String)],
    ]);
    expect(items[1]).toMatchObject({ tool_call_id: 'c1', duration_ms: 19, span_id: spanId('1:21:40') });
  });

  it("show the answer of a call around the gateway's call once", async () => {
    const outer = spanId('1:0:50');
    await space.send([
      span('a', [1, 0, 50], chat([user('hello')], [assistant('hi')])),
      span('a', [1, 5, 45], chat([user('hello')], [assistant('hi')], { 'gen_ai.usage.cost': 1 }), {
        parent: outer,
      }),
    ]);
    const items = await read();
    expect(shown(items)).toEqual([
      ['user', 'hello'],
      ['assistant', 'hi'],
    ]);
    expect(items[1].cost_usd).toBe(1);
  });

  it('show a failed call, each once, and the retry that answered', async () => {
    const outer = spanId('1:0:20');
    await space.send([
      span('a', [1, 0, 20], chat([user('hello')]), { isError: true }),
      span('a', [1, 5, 15], chat([user('hello')]), { parent: outer, isError: true }),
      span('a', [1, 30, 40], chat([user('hello')], [assistant('hi')]), { parent: outer }),
    ]);
    expect(shown(await read())).toEqual([
      ['user', 'hello'],
      ['assistant', null, expect.any(String)],
      ['assistant', 'hi'],
    ]);
  });

  it('take the messages of agents if their calls have none', async () => {
    const root = spanId('1:0:50');
    await space.send([
      span('a', [1, 0, 50], {
        ...chat([user('hello')], [assistant('hi')]),
        'gen_ai.operation.name': 'invoke_agent',
      }),
      span(
        'a',
        [1, 5, 45],
        { 'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 5 },
        { parent: root },
      ),
    ]);
    expect(shown(await read())).toEqual([
      ['user', 'hello'],
      ['assistant', 'hi'],
    ]);
  });

  it('have the scores of a trace once, on its last item', async () => {
    await space.send([span('a', [1, 0, 50], chat([user('hello')], [assistant('hi')]))]);
    const editor = await space.organization.as('evaluator');
    const given = await editor.post('/eval/v1/scores', {
      workspace_id: space.id,
      scorer_name: 'helpful',
      trace_id: traceId('a'),
      score: 0.5,
    });
    expect(given.status).toBe(201);
    const items = await read();
    expect(
      items.map(({ scores }) => scores.map(({ scorer_name, score }: any) => [scorer_name, score])),
    ).toEqual([[], [['helpful', 0.5]]]);
  });

  it('have each of 1,000 messages once, in pages of any size', async () => {
    const spans = Array.from({ length: 10 }, (_, minute) => {
      const history: object[] = [];
      // each call repeats all messages of the trace before it
      return Array.from({ length: 50 }, (__, call) => {
        const [turn, at] = [minute * 50 + call, call * 10];
        history.push(user(`question ${turn}`));
        const sent = span(`t${minute}`, [minute, at, at + 5], chat(history, [assistant(`answer ${turn}`)]));
        history.push(assistant(`answer ${turn}`));
        return sent;
      });
    });
    await space.send(spans.flat());
    const expected = Array.from({ length: 500 }, (_, turn) => [`question ${turn}`, `answer ${turn}`]).flat();
    for (const limit of [150, 500]) {
      const items = await read(`?limit=${limit}`);
      expect(items.map(({ content }) => content)).toEqual(expected);
    }
    const first: any[] = [];
    for (let cursor = ''; first.length < 3;) {
      const { body } = await space.viewer.get(`${path}?limit=1${cursor}`);
      first.push(...body.items);
      cursor = `&cursor=${body.page.next_cursor}`;
    }
    expect(first.map(({ content }) => content)).toEqual(expected.slice(0, 3));
  });

  it('cover the traces of a time range', async () => {
    await space.send([
      span('a', [1, 0, 50], chat([user('one')], [assistant('1')])),
      span('b', [2, 0, 50], chat([user('two')], [assistant('2')])),
    ]);
    expect(shown(await read('?since=2026-11-20T00:02:00Z')).map(([, content]) => content)).toEqual([
      'two',
      '2',
    ]);
    expect(shown(await read('?until=2026-11-20T00:02:00Z')).map(([, content]) => content)).toEqual([
      'one',
      '1',
    ]);
  });

  it('are 404 for an unknown session, and refuse a cursor of another one', async () => {
    await space.send([span('a', [1, 0, 50], chat([user('one')], [assistant('1')]))]);
    expect((await space.viewer.get(`${SESSIONS}/unknown/transcript`)).status).toBe(404);
    const { body } = await space.viewer.get(`${path}?limit=1`);
    const cursor = body.page.next_cursor as string;
    expect(cursor).not.toBeNull();
    expect((await space.viewer.get(`${SESSIONS}/unknown/transcript?cursor=${cursor}`)).status).toBe(400);
    expect((await space.viewer.get(`${path}?cursor=${cursor}&since=2026-11-20T00:00:00Z`)).status).toBe(400);
    const other = await ReadingWorkspace.open(app);
    expect((await other.viewer.get(path)).status).toBe(404);
  });
});
