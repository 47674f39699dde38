import { type TestJudgeRequest } from '#testing';
import {
  CHOICES,
  dataOf,
  GOOD,
  type JudgedService,
  JudgeFixture,
  says,
  sha256,
  withJudge,
} from './judge.fixture';

describe('a judge', () => {
  let judge: JudgedService['judge'];
  let app: JudgedService['app'];
  let fixture: JudgedService['fixture'];
  withJudge((service) => ({ judge, app, fixture } = service));

  describe('request', () => {
    it('equals the preview byte for byte', async () => {
      const scorer = await fixture.scorer();
      const experiment = await fixture.experiment({
        input: 'Grüße 👋 "\u2028',
        output: { n: 1e21, '10': [null] },
      });
      const [preview] = await fixture.scoreInMode('preview', scorer, experiment);
      expect(judge.requests).toEqual([]);
      const [tested] = await fixture.scoreInMode('test', scorer, experiment);
      const { results } = await fixture.completeRun(scorer, experiment);
      expect(judge.requests.map(({ body }) => body)).toEqual(
        Array(2).fill(JSON.stringify(preview.preview_request)),
      );
      const digests = [preview, tested, results[0]].map((one) => one.request_sha256);
      expect(digests).toEqual(Array(3).fill(sha256(judge.requests[0]!.body)));
    });

    it('has the service’s API key, which no response contains', async () => {
      const scorer = await fixture.scorer();
      const experiment = await fixture.experiment();
      const [preview] = await fixture.scoreInMode('preview', scorer, experiment);
      await fixture.scoreInMode('test', scorer, experiment);
      expect(judge.requests[0]).toMatchObject({
        path: '/v1/chat/completions',
        headers: { authorization: 'Bearer sk-of-the-judge' },
      });
      expect(JSON.stringify(preview)).not.toContain('sk-of-the-judge');
    });

    it('names the model of the definition, else the default model', async () => {
      await fixture.testResult({});
      await fixture.testResult({ model: 'another', temperature: 0.3 });
      expect(judge.requests.map(({ json }) => [json.model, json.temperature])).toEqual([
        ['judge-1', 0],
        ['another', 0.3],
      ]);
    });

    it.each([
      ['choice', CHOICES, { choice: { type: 'string', enum: ['good', 'fair', 'bad'] } }],
      ['boolean', { type: 'boolean' }, { value: { type: 'boolean' } }],
      ['numeric', { type: 'numeric', min: 0, max: 5 }, { value: { type: 'number' } }],
    ])('requires structured output of type %s', async (_, output, members) => {
      await fixture.testResult({ output });
      const { strict, schema } = judge.requests[0]!.json.response_format.json_schema;
      expect(strict).toBe(true);
      expect(schema).toEqual({
        type: 'object',
        properties: { reasoning: { type: 'string' }, ...members },
        required: ['reasoning', ...Object.keys(members)],
        additionalProperties: false,
      });
    });

    it.each([
      ['answers', undefined, '[find_order answers]\n  {"state":"sent"}'],
      ['fails', { code: 2, message: 'no route' }, '[find_order fails]\n  no route\n  {"state":"sent"}'],
    ])('contains a session as a transcript, with a tool that %s', async (_, status, reported) => {
      await conversation(fixture, status);
      const scorer = await fixture.scorer({ prompt: 'How was it?\n{{session}}' }, { grain: 'session' });
      const { body } = await fixture.scoring.score(scorer, { session_ids: ['talk'], mode: 'test' });
      expect(body.results).toMatchObject([{ session_id: 'talk', choice: 'good' }]);
      expect(dataOf(judge.requests[0]!)).toEqual([transcript(reported)]);
    });

    it('contains the session of a trace as a transcript, with the tool calls of that trace', async () => {
      const trace_ids = [await conversation(fixture)];
      const scorer = await fixture.scorer({ prompt: 'How was it?\n{{session}}' }, { grain: 'trace' });
      const { body } = await fixture.scoring.score(scorer, { trace_ids, mode: 'test' });
      expect(body.results).toMatchObject([{ trace_id: trace_ids[0], choice: 'good' }]);
      expect(dataOf(judge.requests[0]!)).toEqual([transcript('[find_order answers]\n  {"state":"sent"}')]);
    });

    it('is visibly cut in the middle if a transcript is too long', async () => {
      const scorer = await fixture.scorer({ prompt: '{{output}}: {{trace}}' });
      const input = `BEGIN${'x'.repeat(1_000_000)}END`;
      const trace_ids = [await fixture.scoring.trace({ input, output: 'short' })];
      const { body } = await fixture.scoring.score(scorer, { mode: 'test', trace_ids });
      expect(body.results).toMatchObject([{ score: 1, is_truncated: true }]);
      const [cut, whole] = dataOf(judge.requests[0]!).sort((a, b) => b.length - a.length);
      expect(cut).toMatch(/BEGINx+\n\[… \d+ characters were removed here.*\]\n…x+END\n/);
      expect(whole).toBe('short');
      const bytes = Buffer.byteLength(judge.requests[0]!.json.messages[1].content);
      expect(bytes).toBeLessThan(128_000 * 3);
      expect(bytes).toBeGreaterThan(128_000 * 2);
    });

    it('fails the target if it cannot be built', async () => {
      const item = await fixture.testResult(
        { prompt: `{{#metadata.list}}${'long '.repeat(1000)}{{/metadata.list}}{{output}}` },
        {
          output: 'x',
          metadata: { list: Array(500).fill(1) },
        },
      );
      expect(item).toMatchObject({ error: 'The prompt is too long for the judge.' });
      expect(judge.requests).toEqual([]);
    });
  });

  describe('with limited features', () => {
    const refuse = (param: string) => ({
      status: 400,
      body: JSON.stringify({
        error: { message: `Unsupported parameter: '${param}'.`, param, code: 'unsupported_parameter' },
      }),
    });
    /** Supports only the oldest features of the API. */
    const old = ({ json }: TestJudgeRequest) => {
      if (json.response_format) return refuse('response_format');
      if (json.logprobs) return refuse('logprobs');
      if (json.max_tokens) return refuse('max_tokens: use max_completion_tokens instead');
      if (json.temperature !== undefined) return refuse('temperature');
      return says(GOOD);
    };

    it('gets simpler requests until it answers, and preview shows them', async () => {
      judge.reply = old;
      const scorer = await fixture.scorer({ model: 'old' });
      const experiment = await fixture.experiment();
      const [tested] = await fixture.scoreInMode('test', scorer, experiment);
      const request = judge.requests.at(-1)!;
      expect(Object.keys(request.json).sort()).toEqual(['max_completion_tokens', 'messages', 'model']);
      expect(tested).toMatchObject({ choice: 'good', request_sha256: sha256(request.body) });
      const before = judge.requests.length;
      const [preview] = await fixture.scoreInMode('preview', scorer, experiment);
      expect(JSON.stringify(preview.preview_request)).toBe(request.body);
      // Another process knows the features as well.
      const { results } = await fixture.completeRun(scorer, experiment);
      expect(results[0].request_sha256).toBe(sha256(request.body));
      expect(judge.requests).toHaveLength(before + 1);
    });

    it('gets unchanged requests from other scorers after it refused one scorer’s temperature', async () => {
      judge.reply = ({ json }) =>
        json.temperature > 1
          ? {
              status: 400,
              body: '{"error":{"message":"temperature must be between 0 and 1","param":"temperature"}}',
            }
          : says(GOOD);
      const item = await fixture.testResult({ model: 'careful', temperature: 2 });
      expect(item.error).toBe('The judge refused the request (400): temperature must be between 0 and 1');
      const other = await JudgeFixture.create(app);
      await other.testResult({ model: 'careful' });
      expect(judge.requests.at(-1)!.json).toMatchObject({ temperature: 0, logprobs: true });
    });

    it('fails the target, and has no features stored, if it also refuses the simpler request', async () => {
      judge.reply = () => refuse('logprobs');
      expect((await fixture.testResult({ model: 'refuses all' })).error).toMatch(
        /^The judge refused the request \(400\): Unsupported parameter/,
      );
      expect(judge.requests).toHaveLength(2);
      const [row] = await app.database.query<any>('SELECT count(*) AS count FROM judge_features');
      expect(row.count).toBe(0);
    });

    it('has its refusals reported without the API key and without internal addresses', async () => {
      judge.reply = () => ({
        status: 401,
        body: '{"error":{"message":"Incorrect API key: sk-of-the-judge"}}',
      });
      expect(await fixture.testResult({})).toMatchObject({
        error:
          'The judge rejected the API key of this service (401). Ask the operator to check JUDGE_API_KEY.',
      });
      judge.reply = () => ({ status: 404, body: '<h1>llm-gw.internal.example (10.3.4.5)</h1>' });
      expect((await fixture.testResult({})).error).toBe('The judge refused the request (404)');
      judge.reply = () => says({ reasoning: 'I was sent Bearer sk-of-the-judge', choice: 'good' });
      expect(JSON.stringify(await fixture.testResult({}))).not.toContain('sk-of-the-judge');
      judge.reply = () => ({ status: 404, body: '{"error":{"message":"no model for sk-of-the-judge"}}' });
      expect((await fixture.testResult({})).error).toBe(
        'The judge refused the request (404): no model for …',
      );
      judge.reply = () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } });
      expect((await fixture.testResult({})).error).toMatch(/redirect \(\d+\)\. Redirects are not followed/);
      expect(judge.requests).toHaveLength(5);
    });
  });

  it('scores the examples of the starters as documented', async () => {
    const { body } = await fixture.scoring.evaluator.get('/eval/v1/scorer-starters');
    const starters = body.items.filter((one: any) => one.scorer_kind === 'llm_judge');
    expect(starters.length).toBeGreaterThanOrEqual(6);
    for (const starter of starters) {
      const { scorer_kind, definition, grain } = starter;
      const scorer = await fixture.scoring.scorer({ scorer_kind, definition, grain: 'trace' });
      expect(grain).toMatch(/trace|session/);
      for (const example of [starter.example, starter.failing_example]) {
        judge.reply = () => says({ reasoning: 'r', ...example.answer });
        const { input, output, expected, metadata } = example.subject;
        const result = Object.fromEntries(
          Object.entries({ input, output, expected, metadata }).filter(([, value]) => value != null),
        );
        const [item] = await fixture.scoreInMode('test', scorer, await fixture.experiment(result));
        expect([starter.starter_id, item.score]).toEqual([starter.starter_id, example.result.score]);
      }
    }
  });
});

/** The transcript of `conversation`. @param toolEntry the outcome of its tool call */
const transcript = (toolEntry: string): string =>
  [
    '[user]\n  Where is order 12?',
    '[calls find_order]\n  {"id":12}',
    toolEntry,
    '[assistant]\n  It was sent.\n  Anything else?',
  ].join('\n\n');

/** Sends the trace of a session with a tool call of this status, as an instrumented agent does. Returns the trace id. */
async function conversation({ scoring }: JudgeFixture, status?: object): Promise<string> {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const nanos = (ms: number): string => `${BigInt(ms) * 1_000_000n}`;
  const now = Date.now();
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const span = (spanId: string, at: number, name: string, attributes: object[]) => ({
    ...{ traceId, spanId, name, attributes },
    ...{ startTimeUnixNano: nanos(now + at), endTimeUnixNano: nanos(now + at + 5) },
  });
  const spans = [
    span('00f067aa0ba902b7', 0, 'agent', [
      text('session.id', 'talk'),
      text('input.value', 'Where is order 12?'),
      text('output.value', 'It was sent.\nAnything else?'),
    ]),
    {
      ...span('00f067aa0ba902b8', 1, 'execute_tool find_order', [
        text('gen_ai.operation.name', 'execute_tool'),
        text('gen_ai.tool.name', 'find_order'),
        text('gen_ai.tool.call.arguments', '{"id":12}'),
        text('gen_ai.tool.call.result', '{"state":"sent"}'),
      ]),
      parentSpanId: '00f067aa0ba902b7',
      status,
    },
  ];
  const answer = await scoring.evaluator.post('/telemetry/v1/traces', {
    resourceSpans: [{ scopeSpans: [{ spans }] }],
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return traceId;
}
