import { sharedApp, jsonExport, newOrganization, newSpan, newTraceId } from '#testing';
import { type Message, type Session, SESSIONS, SessionsFixture } from './sessions.fixture';

const PROMPT = 'First line.\r\n\n\tSecond: "quoted", \u2028 and 𝄞.\n';

describe('sessions with agents', () => {
  const app = sharedApp();
  let on: SessionsFixture;

  beforeAll(async () => {
    on = await SessionsFixture.create(app);
  });

  it('start with a prompt, which keeps its line breaks and becomes the first message', async () => {
    const answer = await on.begin({ prompt: PROMPT });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`${SESSIONS}/${answer.body.session_id}`);
    expect(answer.body).toMatchObject({
      session_id: expect.stringMatching(/^ses_[0-9a-z]{26}$/) as string,
      agent_id: on.agent,
      workspace_id: on.org.workspaceId,
      version_ordinal: 1,
      title: null,
      prompt: PROMPT,
      session_status: 'active',
      message_count: 1,
      metadata: {},
      generation: 1,
    });
    const read = await on.runtime.get(answer.headers.get('location')!);
    expect([read.body, read.headers.get('etag')]).toEqual([answer.body, '"1"']);
    expect(await on.messagesOf(answer.body.session_id)).toEqual([
      expect.objectContaining({
        ordinal: 1,
        role: 'user',
        content: PROMPT,
        trace_id: null,
        tool_calls: null,
      }),
    ]);
  });

  it('are pinned to the agent version they started with', async () => {
    const of = await on.makeAgent();
    const { body: first } = await on.begin({}, on.runtime, of);
    await on.editor.patch(`/agent/v1/agents/${of}`, { instructions: 'changed' });
    const { body: second } = await on.begin({ title: 'Later', metadata: { a: 1 } }, on.runtime, of);
    expect([first.version_ordinal, second.version_ordinal, second.title]).toEqual([1, 2, 'Later']);
    expect((await on.runtime.get(`${SESSIONS}/${first.session_id}`)).body.version_ordinal).toBe(1);
  });

  it('may be pinned to an earlier version, but not to an unknown one', async () => {
    const of = await on.makeAgent();
    await on.editor.patch(`/agent/v1/agents/${of}`, { instructions: 'changed' });
    expect((await on.begin({ version_ordinal: 1 }, on.runtime, of)).body.version_ordinal).toBe(1);
    const later = await on.begin({ version_ordinal: 3 }, on.runtime, of);
    expect([later.status, (later.body as any).errors[0].pointer]).toEqual([400, '/version_ordinal']);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['no prompt', { prompt: '' }, '/prompt'],
    ['a prompt that is not a string', { prompt: ['Hello'] }, '/prompt'],
    ['a title of two lines', { title: 'a\nb' }, '/title'],
    ['too much metadata', { metadata: { a: 'x'.repeat(17_000) } }, '/metadata'],
  ])('are rejected with %s', async (_, body, pointer) => {
    const answer = await on.begin(body);
    expect([answer.status, (answer.body as any).errors[0].pointer]).toEqual([400, pointer]);
  });

  it('require an existing, live agent', async () => {
    const archived = await on.makeAgent();
    const { body: session } = await on.begin({}, on.runtime, archived);
    await on.admin.post(`/agent/v1/agents/${archived}/archive`);
    expect((await on.begin({}, on.runtime, archived)).status).toBe(409);
    expect((await on.begin({}, on.runtime, 'agt_none')).status).toBe(404);
    expect((await on.say(session.session_id, {})).status).toBe(201);
  });

  it('allow only their title, status and metadata to change', async () => {
    const { body: session } = await on.begin({ metadata: { a: 1, b: 2 } });
    const path = `${SESSIONS}/${session.session_id}`;
    const patched = await on.runtime.patch(
      path,
      { title: 'Named', metadata: { a: null } },
      { 'if-match': '"1"' },
    );
    expect(patched.body).toMatchObject({ title: 'Named', metadata: { b: 2 }, generation: 2 });
    const answers = [
      await on.runtime.patch(path, { title: 'x' }, { 'if-match': '"1"' }),
      await on.runtime.patch(path, { prompt: 'other' }),
      await on.runtime.patch(path, { agent_id: 'agt_other' }),
      await on.runtime.patch(path, { workspace_id: 'wsp_other' }),
      await on.runtime.patch(path, { session_status: 'paused' }),
      await on.runtime.patch(path, {
        prompt: session.prompt,
        agent_id: on.agent,
        workspace_id: on.org.workspaceId,
      }),
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

  it('can be listed by workspace, agent, status and time', async () => {
    const workspace = await on.org.newWorkspace();
    const of = [await on.makeAgent(workspace), await on.makeAgent(workspace)];
    const sessions: Session[] = [];
    for (const one of [of[0]!, of[1]!, of[0]!]) sessions.push((await on.begin({}, on.editor, one)).body);
    await on.editor.patch(`${SESSIONS}/${sessions[0]!.session_id}`, { session_status: 'failed' });
    const listed = async (query: string) =>
      (
        await on.editor.get<{ items: Session[] }>(`${SESSIONS}?workspace_id=${workspace}${query}`)
      ).body.items.map(({ session_id }) => sessions.findIndex((one) => one.session_id === session_id));
    expect(await listed('')).toEqual([2, 1, 0]);
    expect(await listed('&sort=-updated_at')).toEqual([0, 2, 1]);
    expect(await listed(`&agent_id=${of[0]!}`)).toEqual([2, 0]);
    expect(await listed('&session_status=failed')).toEqual([0]);
    const after = (sessions[1] as any).created_at as string;
    expect(await listed(`&since=${after}`)).toContain(1);
    expect(await listed(`&until=${after}`)).not.toContain(1);
    expect(await listed('&agent_id=agt_none')).toEqual([]);
    expect((await on.editor.get(`${SESSIONS}?session_status=open`)).status).toBe(422);
    expect((await on.editor.get(`${SESSIONS}?title=x`)).status).toBe(400);
  });

  it('list their traces', async () => {
    const { body: session } = await on.begin();
    const { body: other } = await on.begin();
    const traces = [newTraceId(), newTraceId()];
    const spans = [
      newSpan({ traceId: traces[0]!, attributes: { 'session.id': session.session_id } }),
      newSpan({ traceId: traces[1]!, attributes: { 'gen_ai.conversation.id': session.session_id } }),
      newSpan({ traceId: newTraceId(), attributes: { 'session.id': other.session_id } }),
    ];
    const sent = await on.runtime.in(on.org.workspaceId).post('/telemetry/v1/traces', jsonExport(spans));
    expect(sent.status).toBe(200);
    const viewer = await on.org.member('viewer');
    const listed = await viewer.get(`${SESSIONS}/${session.session_id}/traces`);
    expect(listed.body.page.total).toBe(2);
    expect(new Set((listed.body.items as any[]).map((one) => one.trace_id))).toEqual(new Set(traces));
    const { body: silent } = await on.begin();
    expect((await viewer.get(`${SESSIONS}/${silent.session_id}/traces`)).body.items).toEqual([]);
    expect((await viewer.get(`${SESSIONS}/ses_none/traces`)).status).toBe(404);
  });

  it('can be archived by admins, and are then read-only', async () => {
    const { body: session } = await on.begin();
    const path = `${SESSIONS}/${session.session_id}`;
    expect((await on.editor.post(`${path}/archive`)).status).toBe(403);
    const archived = await on.admin.post(`${path}/archive`);
    expect((await on.admin.post(`${path}/archive`)).body).toEqual(archived.body);
    expect((await on.say(session.session_id, {})).status).toBe(409);
    expect((await on.runtime.patch(path, { title: 'x' })).status).toBe(409);
    expect(await on.messagesOf(session.session_id)).toHaveLength(1);
  });

  it('are open to runtime callers, but not their traces', async () => {
    const { body: session } = await on.begin();
    const path = `${SESSIONS}/${session.session_id}`;
    const viewer = await on.org.member('viewer');
    const answers = [
      await on.runtime.get(`${path}/traces`),
      await on.begin({}, viewer),
      await on.say(session.session_id, {}, viewer),
      await viewer.patch(path, { title: 'x' }),
      await on.runtime.post(`${path}/archive`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    expect((await on.runtime.get(`/agent/v1/agents/${on.agent}`)).status).toBe(200);
    expect((await viewer.get(`${path}/messages`)).status).toBe(200);
    expect((await on.runtime.get(SESSIONS)).status).toBe(200);
  });

  it('are visible only to callers with access to their workspace', async () => {
    const elsewhere = await on.org.newWorkspace();
    const of = await on.makeAgent(elsewhere);
    const { body: session } = await on.begin({}, on.editor, of);
    const path = `${SESSIONS}/${session.session_id}`;
    const [{ message_id }] = (await on.editor.get(`${path}/messages`)).body.items as [Message];
    const strangers = await newOrganization(app);
    for (const outsider of [on.runtime, await strangers.member('owner')]) {
      const answers = [
        await outsider.get(path),
        await outsider.patch(path, { title: 'x' }),
        await outsider.get(`${path}/messages`),
        await outsider.get(`${path}/messages/${message_id}`),
        await on.say(session.session_id, {}, outsider),
        await on.begin({}, outsider, of),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404]);
      const listed = await outsider.get(`${SESSIONS}?agent_id=${of}`);
      expect(listed.body).toMatchObject({ items: [], page: { total: 0 } });
    }
  });
});
