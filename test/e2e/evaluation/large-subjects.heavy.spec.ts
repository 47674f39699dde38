import { sharedApp } from '#testing';
import { sendAgent } from './instrumented-agent.fixture';
import { ScoringFixture, script } from './scoring.fixture';

describe('a large trace or session', () => {
  const app = sharedApp({ env: { BODY_LIMIT_BYTES: '10485760' } });
  let on: ScoringFixture;

  beforeAll(async () => {
    on = await ScoringFixture.create(app);
  });

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

  it('shows a scorer a root span of 3 MiB once', async () => {
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

  it('shows a scorer a root span of 5 MiB, and the other spans', async () => {
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

  it('shows a scorer the result when the root span alone is too large', async () => {
    const trace_id = await on.trace({ output: 'x'.repeat(9 * MIB), spans: 2 });
    const { experiment_id } = await on.experiment();
    await on.result({ experiment_id }, { trace_id, input: 'i', output: 'o' });
    expect(await shapeOf({ experiment_id })).toMatchObject({
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

  it('shows a scorer nothing when the root span alone is too large', async () => {
    const trace_id = await on.trace({ output: 'x'.repeat(9 * MIB) });
    const answer = await on.score(await on.scorer(), { mode: 'test', trace_ids: [trace_id] });
    expect(answer.body.results).toMatchObject([
      { error: expect.stringContaining('The root span of the trace exceeds') },
    ]);
    expect(answer.body.results[0]).not.toHaveProperty('score');
  });

  it('shows a scorer nothing of a session whose first or last trace is too large', async () => {
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

  it('shows a scorer a session’s messages before its traces, with a flag', async () => {
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

  it('shows a scorer as many messages of a session as fit, with a flag', async () => {
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

  it('shows a scorer its content, also with others that are too large to be read together', async () => {
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

  it('has the output of its last call even if it is too large to read completely', async () => {
    const call = (n: number) => ({
      name: 'chat',
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.input.messages': JSON.stringify([{ role: 'user', content: `question ${n} ${'x'.repeat(1024 * 1024)}` }]),
        'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', content: `answer ${n}` }]),
      },
    });
    const trace_id = await sendAgent(on, { steps: Array.from({ length: 10 }, (_, n) => call(n)) });
    const source = 'function score({ output, trace }) { return { score: 1, answers: { output, cut: trace.is_truncated } }; }';
    const definition = { language: 'javascript', source, memory_mb: 256, timeout_ms: 10_000 };
    const answer = await on.score(await on.scorer({ definition }), { mode: 'test', trace_ids: [trace_id] });
    expect(answer.body.results[0].answers).toEqual({ output: 'answer 9', cut: true });
  }); // oxfmt-ignore

  it('becomes a record, and further ones that are too large together are 413', async () => {
    const dataset = await on.evaluator.post('/eval/v1/datasets', { workspace_id: on.workspaceId, name: 'd' });
    const path = `${dataset.headers.get('location')}/records/from-traces`;
    const statusesOf = async (body: object): Promise<number[]> => {
      const answer = await on.evaluator.post(path, { workspace_id: on.workspaceId, ...body });
      return answer.body.items.map((one: any) => one.status_code);
    };
    const trace_ids: string[] = [];
    for (const size of [7, 7, 7, 0.1])
      trace_ids.push(await on.trace({ input: 'x'.repeat(size * MIB), output: 'y' }));
    expect(await statusesOf({ trace_ids })).toEqual([201, 413, 413, 413]);
    expect(await statusesOf({ trace_ids, on_conflict: 'skip' })).toEqual([200, 413, 413, 413]);
    expect(await statusesOf({ trace_ids: trace_ids.slice(2) })).toEqual([201, 201]);
  });
});
