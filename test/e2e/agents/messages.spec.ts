import { type Answer, sharedApp, newTraceId, until } from '#testing';
import { type Message, SESSIONS, SessionsFixture } from './sessions.fixture';

describe('the messages of a session', () => {
  const app = sharedApp();
  let on: SessionsFixture;

  beforeAll(async () => {
    on = await SessionsFixture.create(app);
  });

  it('keep any JSON verbatim, in order', async () => {
    const { body: session } = await on.begin();
    const id = session.session_id;
    const trace_id = newTraceId();
    const bodies = [
      { role: 'assistant', content: null, tool_calls: [{ id: '1', function: { b: 1, a: 2 } }], trace_id },
      {
        role: 'tool',
        content: [{ type: 'text', text: 'found\nit' }, 7],
        tool_call_id: '1',
        name: 'search',
      },
      { role: 'system', content: { z: 1, a: { ['__proto__']: 'x' } } },
      { role: 'assistant', content: 'Done.' },
    ];
    for (const body of bodies) expect((await on.say(id, body)).status).toBe(201);
    const listed = await on.messagesOf(id);
    expect(listed.slice(1)).toEqual(bodies.map((body) => expect.objectContaining(body) as object));
    expect(listed.map(({ ordinal }) => ordinal)).toEqual([1, 2, 3, 4, 5]);
    const path = `${SESSIONS}/${id}/messages/${listed[1]!.message_id}`;
    expect((await on.runtime.get(path)).body).toEqual(listed[1]);
    expect((await on.runtime.get(`${SESSIONS}/${id}/messages/msg_none`)).status).toBe(404);
    const { body: other } = await on.begin();
    expect((await on.runtime.get(path.replace(id, other.session_id))).status).toBe(404);
    expect((await on.runtime.get(`${SESSIONS}/${id}`)).body).toMatchObject({
      message_count: 5,
      generation: 5,
    });
  });

  it('are numbered without gaps across writers and processes', async () => {
    const other = await app.another();
    try {
      const { body: session } = await on.begin();
      const token = await on.org.token('runtime');
      const writers = [app.api(token), other.api(token), app.api(token)];
      const answers = await Promise.all(
        writers.flatMap((by, writer) =>
          Array.from({ length: 10 }, (_, i) => on.say(session.session_id, { content: `${writer}.${i}` }, by)),
        ),
      );
      expect(answers.every(({ status }) => status === 201)).toBe(true);
      const listed = await on.messagesOf(session.session_id, '?limit=500');
      expect(listed.map(({ ordinal }) => ordinal)).toEqual(Array.from({ length: 31 }, (_, i) => i + 1));
      for (const { body } of answers) expect(listed[body.ordinal - 1]).toEqual(body);
    } finally {
      await other.close();
    }
  });

  it('are paged in both directions and filtered by role', async () => {
    const { body: session } = await on.begin();
    for (let i = 2; i <= 5; i++) {
      await on.say(session.session_id, { role: i % 2 ? 'user' : 'assistant', content: i });
    }
    const path = `${SESSIONS}/${session.session_id}/messages`;
    const first = await on.runtime.get(`${path}?limit=2`);
    const second = await on.runtime.get(`${path}?limit=2&cursor=${first.body.page.next_cursor}`);
    const ordinals = (answer: Answer) => (answer.body.items as Message[]).map(({ ordinal }) => ordinal);
    expect([ordinals(first), ordinals(second), first.body.page.total]).toEqual([[1, 2], [3, 4], 5]);
    expect((await on.messagesOf(session.session_id, '?sort=-created_at&limit=1'))[0]!.ordinal).toBe(5);
    expect(
      (await on.messagesOf(session.session_id, '?role=assistant')).map(({ content }) => content),
    ).toEqual([2, 4]);
    expect((await on.runtime.get(`${path}?role=human`)).status).toBe(422);
    expect((await on.runtime.get(`${path}?sort=ordinal`)).status).toBe(422);
    expect((await on.runtime.get(`${path}?include_archived=true`)).status).toBe(400);
  });

  it.each<[string, Record<string, unknown>, number, string]>([
    ['an unknown role', { role: 'human' }, 422, '/role'],
    ['no content', { content: undefined }, 400, '/content'],
    ['a trace id of zeros', { trace_id: '0'.repeat(32) }, 400, '/trace_id'],
    ['a trace id in upper case', { trace_id: 'A'.repeat(32) }, 400, '/trace_id'],
    ['tool calls that are not a list', { tool_calls: { id: 1 } }, 400, '/tool_calls'],
  ])('are rejected with %s', async (_, body, status, pointer) => {
    const { body: session } = await on.begin();
    const answer = await on.say(session.session_id, body);
    expect([answer.status, (answer.body as any).errors[0].pointer]).toEqual([status, pointer]);
    expect(await on.messagesOf(session.session_id)).toHaveLength(1);
  });

  it('are stored once per Idempotency-Key', async () => {
    const { body: session } = await on.begin();
    const path = `${SESSIONS}/${session.session_id}/messages`;
    const send = () => on.runtime.post(path, { role: 'user', content: 'x' }, { 'idempotency-key': 'one' });
    expect((await send()).body).toEqual((await send()).body);
    expect(await on.messagesOf(session.session_id)).toHaveLength(2);
  });

  it('are accepted only while the session is active', async () => {
    const { body: session } = await on.begin();
    const path = `${SESSIONS}/${session.session_id}`;
    for (const session_status of ['completed', 'failed']) {
      expect((await on.runtime.patch(path, { session_status })).body.session_status).toBe(session_status);
      expect((await on.say(session.session_id, {})).status).toBe(409);
    }
    await on.runtime.patch(path, { session_status: 'active' });
    expect((await on.say(session.session_id, {})).status).toBe(201);
  });

  it('are all counted, and none is added after the session ends, while many clients write', async () => {
    for (let round = 0; round < 2; round++) {
      const { body: session } = await on.begin();
      const path = `${SESSIONS}/${session.session_id}`;
      const accepted: number[] = [];
      const writers = Array.from({ length: 16 }, async () => {
        for (;;) {
          const answer = await on.say(session.session_id, { content: round });
          if (answer.status !== 201) return answer.status;
          accepted.push(answer.body.ordinal);
        }
      });
      await until(() => accepted.length > 20 * round);
      const ended = await on.runtime.patch(path, { session_status: 'completed' });
      const { message_count, last_message_at } = ended.body as {
        message_count: number;
        last_message_at: string;
      };
      expect(await Promise.all(writers)).toEqual(writers.map(() => 409));
      expect(accepted.sort((a, b) => a - b)).toEqual(
        Array.from({ length: message_count - 1 }, (_, i) => i + 2),
      );
      const listed = await on.messagesOf(session.session_id, '?limit=500');
      expect(listed.map(({ ordinal }) => ordinal)).toEqual([1, ...accepted].slice(0, 500));
      const times = listed.map(({ created_at }) => created_at);
      expect(times).toEqual([...times].sort());
      if (listed.length === message_count) expect(times.at(-1)).toBe(last_message_at);
    }
  });

  it('are rejected in an archived workspace', async () => {
    const { body: session } = await on.begin();
    const statement = (at: string) =>
      app.database.query(`UPDATE workspaces SET archived_at = ${at} WHERE workspace_id = $1`, [
        session.workspace_id,
      ]);
    const before = await on.messagesOf(session.session_id);
    await statement('now()');
    expect((await on.say(session.session_id, {})).status).toBeGreaterThanOrEqual(403);
    await statement('NULL');
    expect(await on.messagesOf(session.session_id)).toEqual(before);
  });
});
