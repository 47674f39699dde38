import {
  type Answer,
  type ApiClient,
  createTestApp,
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  type TestApp,
  type TestOrganization,
} from '#testing';

const SESSIONS = '/agent/v1/sessions';
const PROMPT = 'First line.\r\n\n\tSecond: "quoted", \u2028 and 𝄞.\n';

interface Session {
  session_id: string;
  agent_id: string;
  workspace_id: string;
  version_ordinal: number;
  title: string | null;
  prompt: string;
  session_status: string;
  message_count: number;
  generation: number;
}

interface Message {
  message_id: string;
  ordinal: number;
  role: string;
  content: unknown;
}

describe('sessions with agents', () => {
  let app: TestApp;
  let org: TestOrganization;
  let editor: ApiClient;
  let runtime: ApiClient;
  let admin: ApiClient;
  let agent: string;

  beforeAll(async () => {
    app = await createTestApp();
    org = await newOrganization(app);
    editor = await org.member('editor');
    admin = await org.member('admin');
    runtime = app.api((await org.serviceAccount('runtime')).key);
    agent = await makeAgent();
  });
  afterAll(() => app.close());

  let made = 0;
  const makeAgent = async (workspace_id = org.workspaceId): Promise<string> => {
    const body = { workspace_id, name: `agent-${(made += 1)}` };
    return (await editor.post('/agent/v1/agents', body)).body.agent_id as string;
  };
  const begin = (
    body: Record<string, unknown> = {},
    by: ApiClient = runtime,
    of = agent,
  ): Promise<Answer<Session>> => by.post(`/agent/v1/agents/${of}/sessions`, { prompt: 'Hello', ...body });
  const say = (session: string, body: Record<string, unknown>, by = runtime): Promise<Answer<Message>> =>
    by.post(`${SESSIONS}/${session}/messages`, { role: 'user', content: 'x', ...body });
  const messagesOf = async (session: string, query = ''): Promise<Message[]> =>
    (await runtime.get<{ items: Message[] }>(`${SESSIONS}/${session}/messages${query}`)).body.items;

  it('begin with a prompt, which keeps its line breaks and is the first message', async () => {
    const answer = await begin({ prompt: PROMPT });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`${SESSIONS}/${answer.body.session_id}`);
    expect(answer.body).toMatchObject({
      session_id: expect.stringMatching(/^ses_[0-9a-z]{26}$/) as string,
      agent_id: agent,
      workspace_id: org.workspaceId,
      version_ordinal: 1,
      title: null,
      prompt: PROMPT,
      session_status: 'active',
      message_count: 1,
      metadata: {},
      generation: 1,
    });
    const read = await runtime.get(answer.headers.get('location')!);
    expect([read.body, read.headers.get('etag')]).toEqual([answer.body, '"1"']);
    expect(await messagesOf(answer.body.session_id)).toEqual([
      expect.objectContaining({
        ordinal: 1,
        role: 'user',
        content: PROMPT,
        trace_id: null,
        tool_calls: null,
      }),
    ]);
  });

  it('stay with the version that their agent had when they began', async () => {
    const of = await makeAgent();
    const { body: first } = await begin({}, runtime, of);
    await editor.patch(`/agent/v1/agents/${of}`, { instructions: 'changed' });
    const { body: second } = await begin({ title: 'Later', metadata: { a: 1 } }, runtime, of);
    expect([first.version_ordinal, second.version_ordinal, second.title]).toEqual([1, 2, 'Later']);
    expect((await runtime.get(`${SESSIONS}/${first.session_id}`)).body.version_ordinal).toBe(1);
  });

  it('may be held to an earlier version, and to none that there is not', async () => {
    const of = await makeAgent();
    await editor.patch(`/agent/v1/agents/${of}`, { instructions: 'changed' });
    expect((await begin({ version_ordinal: 1 }, runtime, of)).body.version_ordinal).toBe(1);
    const later = await begin({ version_ordinal: 3 }, runtime, of);
    expect([later.status, (later.body as any).errors[0].pointer]).toEqual([400, '/version_ordinal']);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['no prompt', { prompt: '' }, '/prompt'],
    ['a prompt that is no text', { prompt: ['Hello'] }, '/prompt'],
    ['a title of two lines', { title: 'a\nb' }, '/title'],
    ['much metadata', { metadata: { a: 'x'.repeat(17_000) } }, '/metadata'],
  ])('are refused with %s', async (_, body, pointer) => {
    const answer = await begin(body);
    expect([answer.status, (answer.body as any).errors[0].pointer]).toEqual([400, pointer]);
  });

  it('need an agent that is there and not archived', async () => {
    const archived = await makeAgent();
    const { body: session } = await begin({}, runtime, archived);
    await admin.post(`/agent/v1/agents/${archived}/archive`);
    expect((await begin({}, runtime, archived)).status).toBe(409);
    expect((await begin({}, runtime, 'agt_none')).status).toBe(404);
    expect((await say(session.session_id, {})).status).toBe(201);
  });

  describe('have messages', () => {
    it('of any JSON, as it was sent and in the order in which it was said', async () => {
      const { body: session } = await begin();
      const id = session.session_id;
      const trace_id = newTraceId();
      const bodies = [
        { role: 'assistant', content: null, tool_calls: [{ id: '1', function: { b: 1, a: 2 } }], trace_id },
        { role: 'tool', content: [{ type: 'text', text: 'found\nit' }, 7] },
        { role: 'system', content: { z: 1, a: { __proto__: 'x' } } },
        { role: 'assistant', content: 'Done.' },
      ];
      for (const body of bodies) expect((await say(id, body)).status).toBe(201);
      const listed = await messagesOf(id);
      expect(listed.slice(1)).toEqual(bodies.map((body) => expect.objectContaining(body) as object));
      expect(listed.map(({ ordinal }) => ordinal)).toEqual([1, 2, 3, 4, 5]);
      const path = `${SESSIONS}/${id}/messages/${listed[1]!.message_id}`;
      expect((await runtime.get(path)).body).toEqual(listed[1]);
      expect((await runtime.get(`${SESSIONS}/${id}/messages/msg_none`)).status).toBe(404);
      const { body: other } = await begin();
      expect((await runtime.get(path.replace(id, other.session_id))).status).toBe(404);
      expect((await runtime.get(`${SESSIONS}/${id}`)).body).toMatchObject({
        message_count: 5,
        generation: 5,
      });
    });

    it('in one order, without gaps, also from several writers in several processes', async () => {
      const other = await createTestApp({ databaseUrl: app.databaseUrl, issuer: app.issuer });
      try {
        const { body: session } = await begin();
        const token = await org.token('runtime');
        const writers = [app.api(token), other.api(token), app.api(token)];
        const answers = await Promise.all(
          writers.flatMap((by, writer) =>
            Array.from({ length: 10 }, (_, i) => say(session.session_id, { content: `${writer}.${i}` }, by)),
          ),
        );
        expect(answers.every(({ status }) => status === 201)).toBe(true);
        const listed = await messagesOf(session.session_id, '?limit=500');
        expect(listed.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 31 }, (_, i) => i + 1));
        for (const { body } of answers) expect(listed[body.ordinal - 1]).toEqual(body);
      } finally {
        await other.close();
      }
    });

    it('page by page, the other way round, and of one role', async () => {
      const { body: session } = await begin();
      for (let i = 2; i <= 5; i++) {
        await say(session.session_id, { role: i % 2 ? 'user' : 'assistant', content: i });
      }
      const path = `${SESSIONS}/${session.session_id}/messages`;
      const first = await runtime.get(`${path}?limit=2`);
      const second = await runtime.get(`${path}?limit=2&cursor=${first.body.page.next_cursor}`);
      const ordinals = (answer: Answer) => (answer.body.items as Message[]).map(({ ordinal }) => ordinal);
      expect([ordinals(first), ordinals(second), first.body.page.total]).toEqual([[1, 2], [3, 4], 5]);
      expect((await messagesOf(session.session_id, '?sort=-created_at&limit=1'))[0]!.ordinal).toBe(5);
      expect((await messagesOf(session.session_id, '?role=assistant')).map(({ content }) => content)).toEqual(
        [2, 4],
      );
      expect((await runtime.get(`${path}?role=human`)).status).toBe(422);
      expect((await runtime.get(`${path}?sort=ordinal`)).status).toBe(422);
      expect((await runtime.get(`${path}?include_archived=true`)).status).toBe(400);
    });

    it.each<[string, Record<string, unknown>, number, string]>([
      ['an unknown role', { role: 'human' }, 422, '/role'],
      ['no content', { content: undefined }, 400, '/content'],
      ['a trace of zeros', { trace_id: '0'.repeat(32) }, 400, '/trace_id'],
      ['a trace in capitals', { trace_id: 'A'.repeat(32) }, 400, '/trace_id'],
      ['calls that are no list', { tool_calls: { id: 1 } }, 400, '/tool_calls'],
    ])('but none with %s', async (_, body, status, pointer) => {
      const { body: session } = await begin();
      const answer = await say(session.session_id, body);
      expect([answer.status, (answer.body as any).errors[0].pointer]).toEqual([status, pointer]);
      expect(await messagesOf(session.session_id)).toHaveLength(1);
    });

    it('once for each key, however often they are sent', async () => {
      const { body: session } = await begin();
      const path = `${SESSIONS}/${session.session_id}/messages`;
      const send = () => runtime.post(path, { role: 'user', content: 'x' }, { 'idempotency-key': 'one' });
      expect((await send()).body).toEqual((await send()).body);
      expect(await messagesOf(session.session_id)).toHaveLength(2);
    });

    it('only while they are active', async () => {
      const { body: session } = await begin();
      const path = `${SESSIONS}/${session.session_id}`;
      for (const session_status of ['completed', 'failed']) {
        expect((await runtime.patch(path, { session_status })).body.session_status).toBe(session_status);
        expect((await say(session.session_id, {})).status).toBe(409);
      }
      await runtime.patch(path, { session_status: 'active' });
      expect((await say(session.session_id, {})).status).toBe(201);
    });
  });

  it('are changed: title, status and metadata, and nothing else', async () => {
    const { body: session } = await begin({ metadata: { a: 1, b: 2 } });
    const path = `${SESSIONS}/${session.session_id}`;
    const patched = await runtime.patch(
      path,
      { title: 'Named', metadata: { a: null } },
      { 'if-match': '"1"' },
    );
    expect(patched.body).toMatchObject({ title: 'Named', metadata: { b: 2 }, generation: 2 });
    const answers = [
      await runtime.patch(path, { title: 'x' }, { 'if-match': '"1"' }),
      await runtime.patch(path, { prompt: 'other' }),
      await runtime.patch(path, { agent_id: 'agt_other' }),
      await runtime.patch(path, { workspace_id: 'wsp_other' }),
      await runtime.patch(path, { session_status: 'paused' }),
      await runtime.patch(path, { prompt: session.prompt, agent_id: agent, workspace_id: org.workspaceId }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [412, 'precondition_failed'],
      [422, 'immutable_field'],
      [422, 'immutable_field'],
      [422, 'validation_failed'],
      [422, 'validation_failed'],
      [200, undefined],
    ]);
  });

  it('are listed by workspace, agent, status and time', async () => {
    const workspace = await org.newWorkspace();
    const of = [await makeAgent(workspace), await makeAgent(workspace)];
    const sessions: Session[] = [];
    for (const one of [of[0]!, of[1]!, of[0]!]) sessions.push((await begin({}, editor, one)).body);
    await editor.patch(`${SESSIONS}/${sessions[0]!.session_id}`, { session_status: 'failed' });
    const listed = async (query: string) =>
      (
        await editor.get<{ items: Session[] }>(`${SESSIONS}?workspace_id=${workspace}${query}`)
      ).body.items.map(({ session_id }) => sessions.findIndex((one) => one.session_id === session_id));
    expect(await listed('')).toEqual([2, 1, 0]);
    expect(await listed('&sort=-updated_at')).toEqual([0, 2, 1]);
    expect(await listed(`&agent_id=${of[0]!}`)).toEqual([2, 0]);
    expect(await listed('&session_status=failed')).toEqual([0]);
    const after = (sessions[1] as any).created_at as string;
    expect(await listed(`&created_after=${after}`)).toContain(1);
    expect(await listed(`&created_before=${after}`)).not.toContain(1);
    expect(await listed('&agent_id=agt_none')).toEqual([]);
    expect((await editor.get(`${SESSIONS}?session_status=open`)).status).toBe(422);
    expect((await editor.get(`${SESSIONS}?title=x`)).status).toBe(400);
  });

  it('are joined with the traces that name them', async () => {
    const { body: session } = await begin();
    const { body: other } = await begin();
    const traces = [newTraceId(), newTraceId()];
    const spans = [
      newSpan({ traceId: traces[0]!, attributes: { 'session.id': session.session_id } }),
      newSpan({ traceId: traces[1]!, attributes: { 'gen_ai.conversation.id': session.session_id } }),
      newSpan({ traceId: newTraceId(), attributes: { 'session.id': other.session_id } }),
    ];
    const sent = await runtime.in(org.workspaceId).post('/telemetry/v1/traces', jsonExport(spans));
    expect(sent.status).toBe(200);
    const viewer = await org.member('viewer');
    const listed = await viewer.get(`${SESSIONS}/${session.session_id}/traces`);
    expect(listed.body.page.total).toBe(2);
    expect(new Set((listed.body.items as any[]).map((one) => one.trace_id))).toEqual(new Set(traces));
    const { body: silent } = await begin();
    expect((await viewer.get(`${SESSIONS}/${silent.session_id}/traces`)).body.items).toEqual([]);
    expect((await viewer.get(`${SESSIONS}/ses_none/traces`)).status).toBe(404);
  });

  it('are archived by admins, and then only read', async () => {
    const { body: session } = await begin();
    const path = `${SESSIONS}/${session.session_id}`;
    expect((await editor.post(`${path}/archive`)).status).toBe(403);
    const archived = await admin.post(`${path}/archive`);
    expect((await admin.post(`${path}/archive`)).body).toEqual(archived.body);
    expect((await say(session.session_id, {})).status).toBe(409);
    expect((await runtime.patch(path, { title: 'x' })).status).toBe(409);
    expect(await messagesOf(session.session_id)).toHaveLength(1);
  });

  it('are for those who run agents, who see no more than these', async () => {
    const { body: session } = await begin();
    const path = `${SESSIONS}/${session.session_id}`;
    const viewer = await org.member('viewer');
    const answers = [
      await runtime.get('/agent/v1/agents'),
      await runtime.get(`/agent/v1/agents/${agent}`),
      await runtime.get(`${path}/traces`),
      await begin({}, viewer),
      await say(session.session_id, {}, viewer),
      await viewer.patch(path, { title: 'x' }),
      await runtime.post(`${path}/archive`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403, 403]);
    expect((await viewer.get(`${path}/messages`)).status).toBe(200);
    expect((await runtime.get(SESSIONS)).status).toBe(200);
  });

  it('are seen by those who reach their workspace alone', async () => {
    const elsewhere = await org.newWorkspace();
    const of = await makeAgent(elsewhere);
    const { body: session } = await begin({}, editor, of);
    const path = `${SESSIONS}/${session.session_id}`;
    const [{ message_id }] = (await editor.get(`${path}/messages`)).body.items as [Message];
    const strangers = await newOrganization(app);
    for (const outsider of [runtime, await strangers.member('owner')]) {
      const answers = [
        await outsider.get(path),
        await outsider.patch(path, { title: 'x' }),
        await outsider.get(`${path}/messages`),
        await outsider.get(`${path}/messages/${message_id}`),
        await say(session.session_id, {}, outsider),
        await begin({}, outsider, of),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404]);
      const listed = await outsider.get(`${SESSIONS}?agent_id=${of}`);
      expect(listed.body).toMatchObject({ items: [], page: { total: 0 } });
    }
  });
});
