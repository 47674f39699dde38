import { sharedApp } from '#testing';
import { TraceStore } from '../../../src/telemetry';
import { ANSWER, INSTRUMENTED_AGENTS, QUESTION, sendAgent, TRANSCRIPT } from './instrumented-agent.fixture';
import { ScoringFixture, script } from './scoring.fixture';

const MIRROR = script('function score(subject) { return { score: 1, answers: subject }; }');
const judge = (prompt: string, members: object = {}) => ({
  scorer_kind: 'llm_judge',
  definition: { prompt, output: { type: 'boolean' } },
  ...members,
});

/** Scorers also read messages that are not on the root span of a trace. */
describe('the messages of an agent', () => {
  const app = sharedApp();
  let on: ScoringFixture;

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
  });

  /** Returns the subject that a script sees. */
  const seen = async (body: object, members: object = {}): Promise<any> => {
    const answer = await on.score(await on.scorer({ ...MIRROR, ...members }), { mode: 'test', ...body });
    expect(answer.status).toBe(200);
    expect(answer.body.results[0].error).toBeUndefined();
    return answer.body.results[0].answers;
  };

  /** Returns the values that a prompt inserts, without their delimiters. */
  const insertedBy = async (prompt: string, body: object, members: object = {}): Promise<string[]> => {
    const answer = await on.score(await on.scorer(judge(prompt, members)), { mode: 'preview', ...body });
    expect(answer.status).toBe(200);
    const { messages } = answer.body.results[0].preview_request;
    const blocks: RegExpMatchArray[] = [
      ...messages[1].content.matchAll(/<(data-[0-9a-f]+)>\n([\s\S]*?)\n<\/\1>/g),
    ];
    return blocks.map((block) => block[2]!);
  };

  it.each(INSTRUMENTED_AGENTS.map((agent) => [agent.sentBy, agent] as const))(
    'reach judges, once each even if calls and traces repeat them, and scripts: sent by %s',
    async (_, agent) => {
      const at = Date.now();
      const sentAt = (n: number) => ({ sessionId: 'chat', startedAt: at + n * 1000 });
      const trace_ids = [await sendAgent(on, agent, sentAt(0))];
      expect(await insertedBy('{{input}}{{output}}{{trace}}', { trace_ids })).toEqual([
        QUESTION,
        ANSWER,
        TRANSCRIPT,
      ]);

      const { input, output, trace } = await seen({ trace_ids });
      expect([input, output]).toEqual([QUESTION, ANSWER]);
      const [root, call, tool] = trace.spans;
      expect([root.input, root.output]).toEqual([null, null]);
      expect(JSON.stringify(call.input)).toContain(QUESTION);
      expect(JSON.stringify(call.output)).toContain('get_weather');
      expect([call.model, tool.tool_name]).toEqual(['m', 'get_weather']);

      await sendAgent(on, agent, sentAt(1));
      const [, ...turn] = TRANSCRIPT.split('\n\n');
      const ofSession = { session_ids: ['chat'] };
      expect(await insertedBy('{{input}}{{output}}{{session}}', ofSession, { grain: 'session' })).toEqual([
        QUESTION,
        ANSWER,
        [TRANSCRIPT, ...turn].join('\n\n'),
      ]);
    },
  );

  const [AGENT] = INSTRUMENTED_AGENTS as [(typeof INSTRUMENTED_AGENTS)[number]];

  it('appear next to the attributes, under the member names of the API', async () => {
    const trace_id = await sendAgent(on, AGENT);
    const { trace } = await seen({ trace_ids: [trace_id] });
    const { body } = await on.evaluator.get(`/telemetry/v1/traces/${trace_id}/spans`);
    for (const [index, { resource, scope, ...span }] of body.items.entries()) {
      const { input, output, is_truncated, ...others } = trace.spans[index];
      const { dropped_attributes_count, dropped_events_count, dropped_links_count, ...rest } = span;
      expect([dropped_attributes_count, dropped_events_count, dropped_links_count]).toEqual([0, 0, 0]);
      expect([others, is_truncated]).toEqual([rest, false]);
      expect([resource, scope, input, output].every((one) => one !== undefined)).toBe(true);
    }
  });

  it('are the messages of the session in scripts, if none were stored', async () => {
    await sendAgent(on, AGENT, { sessionId: 'chat' });
    const { session } = await seen({ session_ids: ['chat'] }, { grain: 'session' });
    expect(session.messages.map(({ role }: any) => role)).toEqual([
      ...['system', 'user', 'assistant', 'tool', 'assistant'],
    ]);
    expect(session.messages.at(-1)).toMatchObject({ role: 'assistant', content: ANSWER });
  });

  it.each([undefined, 'root', 'none'] as const)(
    'are the same for a session read alone and together with others, with log records that name the span: %s',
    async (loggedUnder) => {
      const agent = INSTRUMENTED_AGENTS.find(({ sentBy }) => sentBy.endsWith('in log records'))!;
      const root = { 'gen_ai.operation.name': undefined };
      await sendAgent(on, agent, { sessionId: 'chat', root, loggedUnder });
      const subject = () => seen({ session_ids: ['chat'] }, { grain: 'session' });
      const together = await subject();
      const store = app.get(TraceStore);
      const readBatch = store.readBatch.bind(store);
      const spy = jest.spyOn(store, 'readBatch').mockImplementation(async (...args) => ({
        ...(await readBatch(...args)),
        sessions: new Map(),
        spans: new Map(),
      }));
      const alone = await subject();
      expect(spy).toHaveBeenCalled();
      spy.mockRestore();
      expect(together).toEqual(alone);
      expect(together.input).toBe(QUESTION);
      expect(together.session.messages.length).toBeGreaterThan(2);
    },
  );

  it('follow the prompt of a stored session that has no other message', async () => {
    const editor = await on.organization.as('editor');
    const made = await editor.post('/agent/v1/agents', {
      ...{
        workspace_id: on.workspaceId,
        name: 'guide',
        display_name: 'Guide',
        model: 'm',
        instructions: 'x',
      },
    });
    const runtime = await on.organization.as('runtime');
    const path = `/agent/v1/agents/${made.body.agent_id}/sessions`;
    const { session_id } = (await runtime.post(path, { prompt: QUESTION })).body;
    await sendAgent(on, AGENT, { sessionId: session_id });
    const body = { session_ids: [session_id] };
    expect(await insertedBy('{{session}}', body, { grain: 'session' })).toEqual([TRANSCRIPT]);
    const message = { role: 'assistant', content: 'stored' };
    await runtime.post(`/agent/v1/sessions/${session_id}/messages`, message);
    const { output, session } = await seen(body, { grain: 'session' });
    expect([output, session.messages.map(({ content }: any) => content)]).toEqual([
      'stored',
      [QUESTION, 'stored'],
    ]);
  });

  it('reach the judge of a trace if they belong to its session', async () => {
    const at = Date.now();
    await sendAgent(on, AGENT, { sessionId: 'chat', startedAt: at });
    const trace_ids = [await on.trace({ sessionId: 'chat', startedAt: at + 1000, input: 'And now?' })];
    const [transcript] = await insertedBy('{{session}}', { trace_ids });
    expect(transcript).toBe(`${TRANSCRIPT}\n\n[user]\n  And now?`);
  });

  it('are overridden by the input and the output of the root span, each separately', async () => {
    const root = { 'input.value': 'the question' };
    const trace_ids = [await sendAgent(on, AGENT, { root })];
    expect(await insertedBy('{{input}}{{output}}', { trace_ids })).toEqual(['the question', ANSWER]);
    const [transcript] = await insertedBy('{{trace}}', { trace_ids });
    expect(transcript).toBe(`[user]\n  the question\n\n${TRANSCRIPT}`);
  });

  it('replace only the members that a result lacks', async () => {
    const trace_id = await sendAgent(on, AGENT);
    const { experiment_id } = await on.experiment();
    const experiment = { experiment_id };
    await on.result(experiment, { case_id: 'silent', trace_id, expected: 'e' });
    await on.result(experiment, { case_id: 'empty', trace_id, output: '', input: false });
    const scorer = await on.scorer(MIRROR);
    const { body } = await on.score(scorer, { mode: 'test', experiment_id });
    const subjects = body.results.map(({ case_id, answers: { input, output, expected } }: any) => [
      case_id,
      input,
      output,
      expected,
    ]);
    expect(subjects).toEqual([
      ['empty', false, '', null],
      ['silent', QUESTION, ANSWER, 'e'],
    ]);
  });

  it.each(['trace', 'session'])(
    'are absent for a crashed case without a trace, in grain %s',
    async (grain) => {
      const { experiment_id } = await on.experiment();
      const crashed = { trace_id: null, input: QUESTION, expected: ANSWER, error: { message: 'timeout' } };
      await on.result({ experiment_id }, crashed);
      expect(await seen({ experiment_id, grain })).toEqual({
        ...{ input: QUESTION, output: null, expected: ANSWER, metadata: {}, session: null },
        trace: null,
      });
    },
  );

  it('include tool calls that only spans have', async () => {
    const steps = [
      {
        name: 'execute_tool search',
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'search',
          'gen_ai.tool.call.arguments': '{"q":1}',
          'gen_ai.tool.call.result': 'found',
        },
      },
      {
        name: 'unknown',
        attributes: { 'tool.name': 'lookup', tool_arguments: '{"id":2}', tool_response: 'it' },
      },
    ];
    const trace_ids = [await sendAgent(on, { steps })];
    expect(await insertedBy('{{trace}}', { trace_ids })).toEqual([
      '[calls search]\n  {"q":1}\n\n[search answers]\n  found\n\n[calls lookup]\n  {"id":2}\n\n[lookup answers]\n  it',
    ]);
  });

  it('never reach a scorer of another workspace', async () => {
    const other = await ScoringFixture.create(app);
    const agent = INSTRUMENTED_AGENTS.find(({ sentBy }) => sentBy.includes('log record'))!;
    const trace_id = await sendAgent(other, agent);
    await app.database.query(
      `INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, models)
       VALUES ($1, $2, now(), now(), 1, 0, '{}')`,
      [on.workspaceId, trace_id],
    );
    const { input, trace } = await seen({ trace_ids: [trace_id] });
    expect([input, trace.spans]).toEqual([null, []]);
  });
});
