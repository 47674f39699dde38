import {
  type Answer,
  type ApiClient,
  sharedApp,
  jsonExport,
  newOrganization,
  newSpan,
  newTraceId,
  SPAN_START,
  type TestOrganization,
} from '#testing';

interface Scored {
  session_id: string;
  answers: Record<string, any>;
  error?: string;
}

describe('scoring the sessions of agents', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let evaluator: ApiClient;
  let runtime: ApiClient;
  let scorer: string;

  beforeAll(async () => {
    org = await newOrganization(app);
    evaluator = await org.as('evaluator');
    runtime = await org.as('runtime');
    const source = `function score({ input, output, session }) {
      const { messages, ...rest } = session;
      return { score: 1, answers: { input, output, count: messages.length, last: messages.at(-1), ...rest } };
    }`;
    const made = await evaluator.post('/eval/v1/scorers', {
      workspace_id: org.workspaceId,
      name: 'summary',
      scorer_kind: 'code',
      grain: 'session',
      definition: { language: 'javascript', source },
    });
    scorer = made.body.scorer_id as string;
  });

  let made = 0;
  const makeAgent = async (): Promise<string> => {
    const body = { workspace_id: org.workspaceId, name: `agent-${(made += 1)}` };
    return (await evaluator.post('/agent/v1/agents', body)).body.agent_id as string;
  };
  const begin = async (agent: string, prompt = 'Hello'): Promise<string> =>
    (await runtime.post(`/agent/v1/agents/${agent}/sessions`, { prompt })).body.session_id as string;
  const say = (session: string, role: string, content: unknown, more = {}): Promise<Answer> =>
    runtime.post(`/agent/v1/sessions/${session}/messages`, { role, content, ...more });
  const score = (selection: Record<string, unknown>): Promise<Answer> =>
    evaluator.post(`/eval/v1/scorers/${scorer}/score`, { mode: 'test', ...selection });
  const scored = async (selection: Record<string, unknown>): Promise<Scored[]> => {
    const answer = await score(selection);
    expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
    return answer.body.results as Scored[];
  };

  it('shows scorers the first user message, the last answer and all messages', async () => {
    const agent = await makeAgent();
    const session = await begin(agent, 'Plan\nmy trip');
    await say(session, 'assistant', null, { tool_calls: [{ name: 'search' }] });
    await say(session, 'tool', { found: 3 });
    await say(session, 'assistant', 'Three ways.');
    await say(session, 'user', 'Thanks');
    const [result] = await scored({ agent_ids: [agent] });
    expect(result).toMatchObject({
      session_id: session,
      answers: {
        input: 'Plan\nmy trip',
        output: 'Three ways.',
        count: 5,
        last: { role: 'user', content: 'Thanks' },
        session_id: session,
        trace_count: 0,
        is_truncated: false,
      },
    });
  });

  it('selects the named agents’ sessions, with or without traces, newest first', async () => {
    const agents = [await makeAgent(), await makeAgent(), await makeAgent()];
    const sessions = [];
    for (const agent of agents) sessions.push(await begin(agent));
    const span = newSpan({ traceId: newTraceId(), attributes: { 'session.id': sessions[0]! } });
    await runtime.post('/telemetry/v1/traces', jsonExport([span]));
    const ids = (results: Scored[]) => results.map(({ session_id }) => session_id);
    expect(ids(await scored({ agent_ids: agents.slice(0, 2) })).sort()).toEqual(sessions.slice(0, 2).sort());
    await say(sessions[1]!, 'assistant', 'later');
    expect(ids(await scored({ agent_ids: [agents[1]!, agents[2]!] }))).toEqual([sessions[1], sessions[2]]);
    expect(ids(await scored({ agent_ids: [agents[1]!, agents[2]!], limit: 1 }))).toEqual([sessions[1]]);
    expect(ids(await scored({ agent_ids: agents, session_ids: [sessions[2]!] }))).toEqual([sessions[2]]);
    expect(ids(await scored({ session_ids: [sessions[1]!] }))).toEqual([sessions[1]]);
  });

  it('selects sessions by the time of their messages and traces', async () => {
    const agent = await makeAgent();
    const session = await begin(agent);
    const span = newSpan({ traceId: newTraceId(), attributes: { 'session.id': session } });
    await runtime.post('/telemetry/v1/traces', jsonExport([span]));
    const traced = new Date(Number(SPAN_START / 1_000_000n));
    const around = (time: Date) => ({
      since: new Date(time.getTime() - 60_000).toISOString(),
      until: new Date(time.getTime() + 3_600_000).toISOString(),
    });
    expect(await scored({ agent_ids: [agent], ...around(traced) })).toHaveLength(1);
    expect(await scored({ agent_ids: [agent], ...around(new Date()) })).toHaveLength(1);
    const before = { until: '2001-01-01T00:00:00Z' };
    expect(await scored({ agent_ids: [agent], ...before })).toEqual([]);
  });

  it('includes the last answer of a truncated session', async () => {
    const agent = await makeAgent();
    const session = await begin(agent);
    await app.database.query(
      `INSERT INTO session_messages
         (session_id, ordinal, message_id, org_id, workspace_id, role, content, created_at, created_by)
       SELECT session_id, n, session_id || n, org_id, workspace_id, CASE n % 2 WHEN 0 THEN 'assistant' ELSE 'user' END,
         to_json('said ' || n), now(), 'test'
       FROM agent_sessions, generate_series(2, 1200) n WHERE session_id = $1`,
      [session],
    );
    const [result] = await scored({ session_ids: [session] });
    expect(result!.answers).toMatchObject({ output: 'said 1200', count: 1000, is_truncated: true });
  });

  it('omits large messages, and marks the session as truncated', async () => {
    const session = await begin(await makeAgent());
    // Larger than the API accepts by default.
    const insertLarge = (ordinal: number, role: string) =>
      app.database.query(
        `INSERT INTO session_messages
           (session_id, ordinal, message_id, org_id, workspace_id, role, content, created_at, created_by)
         SELECT session_id, $2::int, session_id || $3, org_id, workspace_id, $3, to_json(repeat('x', 9 * 1024 * 1024)), now(), 'test'
         FROM agent_sessions WHERE session_id = $1`,
        [session, ordinal, role],
      );
    await say(session, 'assistant', 'small');
    await insertLarge(3, 'user');
    const [result] = await scored({ session_ids: [session] });
    expect(result!.answers).toMatchObject({ output: 'small', count: 2, is_truncated: true });
    await insertLarge(4, 'assistant');
    const [refused] = await scored({ session_ids: [session] });
    expect(refused!.error).toMatch(/The last message of the session exceeds 8 MiB/);
  });

  it('rejects agents and sessions of other workspaces', async () => {
    const elsewhere = await org.newWorkspace();
    const editor = await org.member('editor');
    const { body: agent } = await editor.post('/agent/v1/agents', { workspace_id: elsewhere, name: 'a' });
    const answer = await score({ agent_ids: [agent.agent_id] });
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([404, '/agent_ids/0']);
    const { body: session } = await editor.post(`/agent/v1/agents/${agent.agent_id}/sessions`, {
      prompt: 'x',
    });
    const named = await score({ session_ids: [session.session_id] });
    expect([named.status, named.body.errors[0].pointer]).toEqual([404, '/session_ids/0']);
  });
});
