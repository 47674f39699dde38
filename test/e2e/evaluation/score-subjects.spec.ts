import { sharedApp } from '#testing';
import { ScoringFixture, script } from './scoring.fixture';

/** Returns its subject as `answers`. */
const MIRROR = script(
  'function score(subject) { return { score: 1, answers: { seen: subject, spans: subject.trace && subject.trace.spans.length } }; }',
);
describe('a scorer', () => {
  const app = sharedApp();
  let on: ScoringFixture;

  beforeEach(async () => {
    on = await ScoringFixture.create(app);
  });

  const seen = async (body: object, scorer = MIRROR): Promise<any> => {
    const answer = await on.score(await on.scorer(scorer), { mode: 'test', ...body });
    expect(answer.status).toBe(200);
    expect(answer.body.results[0].error).toBeUndefined();
    return answer.body.results[0].answers.seen;
  };

  it('sees the result of the experiment, and without an experiment only the trace itself', async () => {
    const trace_id = await on.trace({ input: 'root in', output: 'root out' });
    const [first, second] = [await on.experiment(), await on.experiment()];
    const content = { input: { q: 1 }, expected: [null], metadata: { m: 1 } };
    await on.result(first, { trace_id, ...content, output: 'first' });
    await on.result(second, { trace_id, output: 'second' });
    expect(await seen({ trace_ids: [trace_id], experiment_id: first.experiment_id })).toMatchObject({
      ...content,
      output: 'first',
    });
    expect(await seen({ trace_ids: [trace_id] })).toMatchObject({
      input: 'root in',
      output: 'root out',
      expected: null,
      metadata: null,
    });
  });

  it('sees the root span’s input and output without a result', async () => {
    const trace_id = await on.trace({ input: 'in', output: 'out' });
    expect(await seen({ trace_ids: [trace_id] })).toMatchObject({
      input: 'in',
      output: 'out',
      expected: null,
      metadata: null,
      session: null,
      trace: { trace_id, root_name: 'root', duration_ms: 100, spans: [{ name: 'root' }] },
    });
  });

  it('sees no trace without spans', async () => {
    const { experiment_id } = await on.experiment();
    await on.result({ experiment_id }, { output: 'x' });
    expect(await seen({ experiment_id })).toMatchObject({ output: 'x', trace: null, session: null });
  });

  it.each(['test', 'preview'])('gets an error for what only a result names, in %s', async (mode) => {
    const named = { output: 'x', expected: 'x', session_id: 'named' };
    const { trace_id } = await on.result(await on.experiment(), named);
    const scorer = await on.scorer();
    const errorOf = async (body: object): Promise<string> => {
      const { results } = (await on.score(scorer, { mode, ...body })).body;
      expect(results).toHaveLength(1);
      expect(results[0]).not.toHaveProperty('score');
      return results[0].error;
    };
    expect(await errorOf({ trace_ids: [trace_id] })).toMatch(
      /spans of this trace never arrived.*`experiment_id`/,
    );
    expect(await errorOf({ session_ids: ['named'] })).toMatch(
      /no stored messages or traces.*`experiment_id`/,
    );
  });

  it('sees the spans of the trace in order, up to a limit, with a flag', async () => {
    const trace_id = await on.trace({ spans: 3 });
    const few = await seen({ trace_ids: [trace_id] });
    expect(few.trace.spans.map((span: any) => span.name)).toEqual(['root', 'step 1', 'step 2']);
    expect(few.trace).toMatchObject({ span_count: 3, is_truncated: false });
    const large = await on.trace({ spans: 1_100 });
    const source = `function score({ trace }) {
      return { score: trace.spans.length, answers: { seen: { cut: trace.is_truncated, of: trace.span_count } } };
    }`;
    const counted = await on.score(await on.scorer(script(source)), { mode: 'test', trace_ids: [large] });
    expect(counted.body.results[0]).toMatchObject({
      score: 1_000,
      answers: { seen: { cut: true, of: 1_100 } },
    });
  });

  it('decides a check of a truncated trace only if the missing part cannot change the outcome', async () => {
    const trace_ids = [await on.trace({ spans: 1_100 })];
    const checked = async (check: object): Promise<any> => {
      const scorer = await on.scorer({ definition: { checks: [check] } });
      return (await on.score(scorer, { mode: 'test', trace_ids })).body.results[0];
    };
    for (const check of [
      { type: 'tool_called', tool: 'rm', max: 0 },
      { type: 'max_steps', max: 1_050 },
      { type: 'contains', path: 'trace.spans', value: { name: 'step 1099' } },
    ]) {
      const item = await checked(check);
      expect(item.error).toContain('too large to be shown to a scorer in full');
      expect(item).not.toHaveProperty('score');
    }
    expect(await checked({ type: 'max_duration_ms', max: 5_000 })).toMatchObject({ score: 1 });
    expect(await checked({ type: 'equals', path: 'trace.span_count', value: 1_100 })).toMatchObject({
      score: 1,
    });
  });

  it('sees no other traces in place of a missing one', async () => {
    const sessionId = 'elsewhere';
    for (let i = 0; i < 2; i++) await on.trace({ sessionId, input: 'ask', output: 'tell' });
    const { experiment_id } = await on.experiment();
    const { trace_id } = await on.result({ experiment_id }, { session_id: sessionId });
    const checks = [{ type: 'max_duration_ms', max: 150 }];
    const scorer = await on.scorer({ definition: { checks } });
    const { body } = await on.score(scorer, { mode: 'test', experiment_id, trace_ids: [trace_id] });
    expect(body.results).toMatchObject([{ trace_id, error: expect.stringContaining('there is no trace') }]);
    expect(body.results[0]).not.toHaveProperty('score');
    const session = await on.score(scorer, { mode: 'test', session_ids: [sessionId] });
    expect(session.body.results).toMatchObject([{ session_id: sessionId, score: 0 }]);
  });

  it('sees the session of a trace', async () => {
    const sessionId = 'chat';
    const at = Date.now();
    const first = await on.trace({ sessionId, startedAt: at - 1000, input: 'hello', output: 'hi' });
    const second = await on.trace({ sessionId, startedAt: at, input: 'and now?', output: 'bye' });
    const { session } = await seen({ trace_ids: [second] });
    expect(session).toMatchObject({
      session_id: sessionId,
      messages: [
        { role: 'user', content: 'hello', trace_id: first },
        { role: 'assistant', content: 'hi', trace_id: first },
        { role: 'user', content: 'and now?', trace_id: second },
        { role: 'assistant', content: 'bye', trace_id: second },
      ],
      traces: [{ trace_id: first }, { trace_id: second }],
      is_truncated: false,
    });
  });

  it('sees the first input and last output of a session with too many traces', async () => {
    const sessionId = 'long';
    const at = Date.now();
    await on.traces(
      Array.from({ length: 102 }, (_, i) => {
        const output = i < 101 ? `tell ${i}` : undefined; // the last has no answer yet
        return { sessionId, startedAt: at + i, input: `ask ${i}`, output };
      }),
    );
    const source = `function score({ input, output, session }) {
      const { traces, messages, trace_count, is_truncated } = session;
      return { score: 1, answers: { input, output, shown: [traces.length, messages.length], trace_count, is_truncated } };
    }`;
    const answer = await on.score(await on.scorer(script(source)), {
      mode: 'test',
      session_ids: [sessionId],
    });
    expect(answer.body.results[0].answers).toEqual({
      input: 'ask 0',
      output: 'tell 100',
      shown: [100, 200],
      trace_count: 102,
      is_truncated: true,
    });
  });

  it('sees a session’s first user message, last answer, and traces with their spans', async () => {
    const sessionId = 'chat';
    const at = Date.now();
    const say = (role: string, content: string) => ({ role, content });
    const history = [say('system', 'be kind'), say('user', 'hello')];
    await on.trace({
      sessionId,
      startedAt: at - 1000,
      input: history,
      output: [say('assistant', 'hi')],
      spans: 2,
    });
    const longer = [...history, say('assistant', 'hi'), say('user', 'and now?')];
    await on.trace({ sessionId, startedAt: at, input: longer, output: [say('assistant', 'bye')] });
    const { experiment_id } = await on.experiment();
    const theirs = { session_id: sessionId, trace_id: null, expected: 'bye', metadata: { m: 1 } };
    await on.result({ experiment_id }, theirs);
    const subject = await seen({ session_ids: [sessionId] });
    const own = { input: 'hello', output: 'bye', trace: null };
    expect(subject).toMatchObject({ ...own, expected: null, metadata: null });
    expect(await seen({ session_ids: [sessionId], experiment_id })).toMatchObject({
      ...own,
      expected: 'bye',
      metadata: { m: 1 },
    });
    expect(subject.session.messages.map((one: any) => [one.role, one.content])).toEqual([
      ['system', 'be kind'],
      ['user', 'hello'],
      ['assistant', 'hi'],
      ['user', 'and now?'],
      ['assistant', 'bye'],
    ]);
    expect(subject.session.traces.map((one: any) => one.spans.length)).toEqual([2, 1]);
  });
});
