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

  it('sees the experiment’s result of the trace, else the newest', async () => {
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
      output: 'second',
      expected: null,
      metadata: {},
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
    const { trace_id } = await on.result(await on.experiment(), { output: 'x' });
    expect(await seen({ trace_ids: [trace_id] })).toMatchObject({
      output: 'x',
      trace: null,
      session: null,
    });
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

  it('sees the content of traces and results that are too large to be read together', async () => {
    const input = 'x'.repeat(3.5 * 1024 * 1024);
    const lengths = async (body: object): Promise<unknown[]> => {
      const scorer = await on.scorer(script('const score = ({ input }) => input.length'));
      const { body: answer } = await on.score(scorer, { mode: 'test', ...body });
      return answer.results.map(({ score }: { score: number }) => score);
    };
    const trace_ids = await Promise.all([1, 2, 3].map(() => on.trace({ input, output: 'y' })));
    expect(await lengths({ trace_ids })).toEqual([input.length, input.length, input.length]);
    const experiment = await on.experiment();
    for (let n = 0; n < 3; n++) await on.result(experiment, { input, output: 'y', trace_id: undefined });
    const { experiment_id } = experiment;
    expect(await lengths({ experiment_id })).toEqual([input.length, input.length, input.length]);
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
    const experiment = await on.experiment();
    const { trace_id } = await on.result(experiment, { session_id: sessionId });
    const checks = [{ type: 'max_duration_ms', max: 150 }];
    const scorer = await on.scorer({ definition: { checks } });
    const { body } = await on.score(scorer, { mode: 'test', trace_ids: [trace_id] });
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
    for (let i = 0; i < 102; i++) {
      const output = i < 101 ? `tell ${i}` : undefined; // the last has no answer yet
      await on.trace({ sessionId, startedAt: at + i, input: `ask ${i}`, output });
    }
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

  describe('with a large target', () => {
    const MIB = 1024 * 1024;
    const SHAPE = `function score({ input, output, trace, session }) {
      const size = (value) => (value === null ? 0 : JSON.stringify(value).length);
      const reported = (one) => [size(one.input), size(one.output), one.is_truncated];
      return { score: 1, answers: {
        given: [size(input), size(output)],
        trace: trace && [...reported(trace), trace.spans.map((span) => [size(span.attributes) > 2, span.is_truncated])],
        session: session && {
          messages: session.messages.map(({ content }) => size(content)),
          count: session.trace_count,
          traces: session.traces.map(reported),
          cut: session.is_truncated,
        },
      } };
    }`;

    /** Returns how much of a target a script sees. Checks the size against the engine's limit. */
    async function shapeOf(selection: object): Promise<any> {
      const definition = { language: 'javascript', source: SHAPE, memory_mb: 256, timeout_ms: 10_000 };
      const scorer = await on.scorer({ definition });
      const preview = await on.score(scorer, { mode: 'preview', ...selection });
      const [{ preview_request, error: refusal }] = preview.body.results;
      expect(refusal).toBeUndefined();
      const members = Object.values(preview_request.subject).map((one) => JSON.stringify(one).length);
      expect(members.reduce((sum, length) => sum + length)).toBeLessThanOrEqual(8 * MIB);
      const answer = await on.score(scorer, { mode: 'test', ...selection });
      expect(answer.body.results).toMatchObject([{ score: 1 }]);
      return answer.body.results[0].answers;
    }

    it('sees a root span of 3 MiB once', async () => {
      const size = 3 * MIB;
      const trace_id = await on.trace({ output: 'x'.repeat(size - 2), spans: 3 });
      expect(await shapeOf({ trace_ids: [trace_id] })).toEqual({
        given: [0, size],
        trace: [
          0,
          0,
          true,
          [
            [true, true],
            [false, false],
            [false, false],
          ],
        ],
        session: null,
      });
    });

    it('sees a root span of 5 MiB, and the other spans', async () => {
      const size = 5 * MIB;
      const trace_id = await on.trace({ output: 'x'.repeat(size - 2), spans: 2 });
      expect(await shapeOf({ trace_ids: [trace_id] })).toMatchObject({
        given: [0, size],
        trace: [
          0,
          0,
          true,
          [
            [false, true],
            [false, false],
          ],
        ],
      });
    });

    it('sees the result when the root span alone is too large', async () => {
      const trace_id = await on.trace({ output: 'x'.repeat(9 * MIB), spans: 2 });
      await on.result(await on.experiment(), { trace_id, input: 'i', output: 'o' });
      expect(await shapeOf({ trace_ids: [trace_id] })).toMatchObject({
        given: [3, 3],
        trace: [
          0,
          0,
          true,
          [
            [false, true],
            [false, false],
          ],
        ],
      });
    });

    it('sees nothing when the root span alone is too large', async () => {
      const trace_id = await on.trace({ output: 'x'.repeat(9 * MIB) });
      const answer = await on.score(await on.scorer(), { mode: 'test', trace_ids: [trace_id] });
      expect(answer.body.results).toMatchObject([
        { error: expect.stringContaining('The root span of the trace exceeds') },
      ]);
      expect(answer.body.results[0]).not.toHaveProperty('score');
    });

    it('sees nothing of a session whose first or last trace is too large', async () => {
      const at = Date.now();
      const refusal = async (sessionId: string): Promise<string> => {
        const answer = await on.score(await on.scorer(), { mode: 'test', session_ids: [sessionId] });
        return answer.body.results[0].error;
      };
      const output = 'x'.repeat(9 * MIB);
      await on.trace({ sessionId: 'begins', startedAt: at, output });
      await on.trace({ sessionId: 'begins', startedAt: at + 1, output: 'small' });
      expect(await refusal('begins')).toContain('The first message of the session exceeds');
      await on.trace({ sessionId: 'ends', startedAt: at, output: 'small' });
      await on.trace({ sessionId: 'ends', startedAt: at + 1, output });
      expect(await refusal('ends')).toContain('The last message of the session exceeds');
    });

    it('sees a session’s messages before its traces, with a flag', async () => {
      const sessionId = 'large';
      for (let i = 0; i < 3; i++) {
        await on.trace({ sessionId, startedAt: Date.now() + i, output: 'x'.repeat(MIB - 2) });
      }
      const shape = await shapeOf({ session_ids: [sessionId] });
      expect(shape).toMatchObject({ given: [0, MIB], trace: null });
      expect(shape.session).toEqual({
        messages: [MIB, MIB, MIB],
        count: 3,
        traces: [
          [0, 0, true],
          [0, 0, true],
          [0, 0, true],
        ],
        cut: false,
      });
    });

    it('sees as many messages of a session as fit, with a flag', async () => {
      const sessionId = 'larger';
      for (let i = 0; i < 4; i++) {
        await on.trace({ sessionId, startedAt: Date.now() + i, output: 'x'.repeat(3 * MIB - 2) });
      }
      const { session } = await shapeOf({ session_ids: [sessionId] });
      expect(session).toMatchObject({ count: 4, cut: true });
      expect(session.messages.length).toBeGreaterThan(0);
      expect(session.messages.length).toBeLessThan(4);
      expect(session.traces).toHaveLength(4);
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
    await on.result(await on.experiment(), {
      session_id: sessionId,
      trace_id: null,
      expected: 'bye',
      metadata: { m: 1 },
    });
    const subject = await seen({ session_ids: [sessionId] });
    expect(subject).toMatchObject({
      input: 'hello',
      output: 'bye',
      expected: 'bye',
      metadata: { m: 1 },
      trace: null,
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
