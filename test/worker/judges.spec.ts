import { createHash } from 'node:crypto';
import {
  createTestApp,
  createTestWorker,
  type JudgeAsked,
  type TestApp,
  TestJudge,
  type TestWorker,
} from '#testing';
import { CHOICES, JudgeFixture, says } from './judge.fixture';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const GOOD = { reasoning: 'because', choice: 'good' };
/** US dollars for the 100 and 10 tokens that the judge says it used. */
const COST = (100 * 10 + 10 * 100) / 1e6;
const PRICES = { 'judge-1': { input_usd_per_million: 10, output_usd_per_million: 100 } };

describe('a judge', () => {
  let judge: TestJudge;
  let app: TestApp;
  let worker: TestWorker;
  let on: JudgeFixture;

  beforeAll(async () => {
    judge = await TestJudge.listen();
    app = await createTestApp({ env: { ...judge.env, MODEL_PRICES: JSON.stringify(PRICES) } });
    worker = await createTestWorker(app);
  });
  afterAll(async () => {
    await worker.close();
    await app.close();
    await judge.close();
  });
  beforeEach(async () => {
    judge.reset();
    judge.reply = () => says(GOOD);
    await app.database.query('DELETE FROM judge_features');
    on = await JudgeFixture.create(app);
  });

  describe('is sent a request', () => {
    it('that preview shows byte for byte, as test and score then send it, and whose digest is kept', async () => {
      const scorer = await on.scorer();
      const experiment = await on.experiment({
        input: 'Grüße 👋 "\u2028',
        output: { n: 1e21, '10': [null] },
      });
      const [preview] = await on.at('preview', scorer, experiment);
      expect(judge.asked).toEqual([]);
      const [tested] = await on.at('test', scorer, experiment);
      const { results } = await on.scored(scorer, experiment);
      expect(judge.asked.map(({ body }) => body)).toEqual(
        Array(2).fill(JSON.stringify(preview.preview_request)),
      );
      const digests = [preview, tested, results[0]].map((one) => one.request_sha256);
      expect(digests).toEqual(Array(3).fill(sha256(judge.asked[0]!.body)));
    });

    it('with the key of the service, which nobody sees', async () => {
      const scorer = await on.scorer();
      const experiment = await on.experiment();
      const [preview] = await on.at('preview', scorer, experiment);
      await on.at('test', scorer, experiment);
      expect(judge.asked[0]).toMatchObject({
        path: '/v1/chat/completions',
        headers: { authorization: 'Bearer sk-of-the-judge' },
      });
      expect(JSON.stringify(preview)).not.toContain('sk-of-the-judge');
    });

    it('for the model that the definition names, else that of the service', async () => {
      await on.tested({});
      await on.tested({ model: 'another', temperature: 0.3 });
      expect(judge.asked.map(({ json }) => [json.model, json.temperature])).toEqual([
        ['judge-1', 0],
        ['another', 0.3],
      ]);
    });

    it.each([
      ['choice', CHOICES, { choice: { type: 'string', enum: ['good', 'fair', 'bad'] } }],
      ['boolean', { type: 'boolean' }, { value: { type: 'boolean' } }],
      ['numeric', { type: 'numeric', min: 0, max: 5 }, { value: { type: 'number' } }],
    ])('for structured output of a %s', async (_, output, members) => {
      await on.tested({ output });
      const { strict, schema } = judge.asked[0]!.json.response_format.json_schema;
      expect(strict).toBe(true);
      expect(schema).toEqual({
        type: 'object',
        properties: { reasoning: { type: 'string' }, ...members },
        required: ['reasoning', ...Object.keys(members)],
        additionalProperties: false,
      });
    });

    it('with the session as a transcript, with its tool calls', async () => {
      const traceId = await conversation(on);
      const scorer = await on.scorer({ prompt: 'How was it?\n{{session}}' }, { grain: 'session' });
      const { body } = await on.on.score(scorer, { session_ids: ['talk'], mode: 'test' });
      expect(body.results).toMatchObject([{ session_id: 'talk', choice: 'good' }]);
      expect(traceId).toHaveLength(32);
      expect(dataOf(judge.asked[0]!)).toEqual([
        [
          '[user]\n  Where is order 12?',
          '[calls find_order]\n  {"id":12}',
          '[find_order answers]\n  {"state":"sent"}',
          '[assistant]\n  It was sent.\n  Anything else?',
        ].join('\n\n'),
      ]);
    });

    it('that is cut in the middle, visibly, where it would be too long for the judge', async () => {
      const input = `BEGIN${'x'.repeat(1_000_000)}END`;
      await on.tested({}, { input, output: 'short' });
      const [shown, whole] = dataOf(judge.asked[0]!).sort((a, b) => b.length - a.length);
      expect(shown).toMatch(/^BEGINx+\n\[… \d+ characters are left out here.*\]\n…x+END$/);
      expect(whole).toBe('short');
      const bytes = Buffer.byteLength(judge.asked[0]!.json.messages[1].content);
      expect(bytes).toBeLessThan(128_000 * 3);
      expect(bytes).toBeGreaterThan(128_000 * 2);
    });

    it('that cannot be made is the error of its target', async () => {
      const item = await on.tested(
        { prompt: `{{#metadata.list}}${'long '.repeat(1000)}{{/metadata.list}}{{output}}` },
        {
          output: 'x',
          metadata: { list: Array(500).fill(1) },
        },
      );
      expect(item).toMatchObject({ error: 'The prompt is longer than the judge can read.' });
      expect(judge.asked).toEqual([]);
    });
  });

  describe('answers', () => {
    it.each([
      ['a choice, by the score of the choice', CHOICES, { choice: 'fair' }, { choice: 'fair', score: 0.5 }],
      ['true, by 1', { type: 'boolean' }, { value: true }, { score: 1 }],
      ['false, by 0', { type: 'boolean' }, { value: false }, { score: 0 }],
      ['a number, by itself', { type: 'numeric', min: -1, max: 5 }, { value: 4.5 }, { score: 4.5 }],
    ])('with %s', async (_, output, answer, expected) => {
      judge.reply = () => says({ reasoning: 'because', ...answer });
      expect(await on.tested({ output })).toEqual({
        trace_id: expect.any(String),
        ...expected,
        reasoning: 'because',
        backend: 'llm',
        model: 'judge-1',
        cost_usd: COST,
        is_cached: false,
        request_sha256: sha256(judge.asked[0]!.body),
        elapsed_ms: expect.any(Number),
      });
    });

    it('with several questions, by the mean of their scores', async () => {
      const questions = [
        { key: 'polite', question: 'Is it polite?', output: { type: 'boolean' } },
        { key: '__proto__', question: 'How good is it?', output: CHOICES },
        { key: 'length', question: 'How long is it?', output: { type: 'numeric', min: 0, max: 1 } },
      ];
      judge.reply = () => ({
        content: '{"reasoning":"r","answers":{"polite":true,"__proto__":"fair","length":0.75}}',
      });
      const item = await on.tested({ output: { type: 'questions', questions } });
      expect(item.score).toBe(0.75);
      expect(Object.entries(item.answers)).toEqual([
        ['polite', true],
        ['__proto__', 'fair'],
        ['length', 0.75],
      ]);
      for (const { question } of questions)
        expect(judge.asked[0]!.json.messages[0].content).toContain(question);
    });

    it('without reasoning, where none is wanted', async () => {
      judge.reply = () => says({ choice: 'good' });
      expect(await on.tested({ reasoning: false })).not.toHaveProperty('reasoning');
      const { schema } = judge.asked[0]!.json.response_format.json_schema;
      expect(schema.required).toEqual(['choice']);
    });

    it.each([
      ['in a Markdown fence', '```json\n{"reasoning":"r","choice":"bad"}\n```'],
      ['behind what it thought', '<think>{"choice":"good"}?</think>\n\n{"reasoning":"r","choice":"bad"}'],
      [
        'in parts',
        [
          { type: 'text', text: '{"reasoning":"r",' },
          { type: 'text', text: '"choice":"bad"}' },
        ],
      ],
    ])('%s', async (_, content) => {
      judge.reply = () => ({ content });
      expect(await on.tested({})).toMatchObject({ choice: 'bad', score: 0, reasoning: 'r' });
      expect(judge.asked).toHaveLength(1);
    });

    it('with the probabilities of its choices, where the server tells those of its tokens', async () => {
      const top = (tokens: [string, number][]) =>
        tokens.map(([token, p]) => ({ token, logprob: Math.log(p), bytes: null }));
      const token = (text: string, p: number, others: [string, number][] = []) => ({
        ...top([[text, p]])[0],
        top_logprobs: top([[text, p], ...others]),
      });
      const content = [
        token('{"choice": "', 1),
        token('go', 0.6, [
          ['f', 0.3],
          ['b', 0.05],
          ['x', 0.05],
        ]),
        token('od', 1),
        token('"}', 1),
      ];
      judge.reply = () => ({ content: '{"choice": "good"}', logprobs: { content } });
      const item = await on.tested({ reasoning: false });
      expect(judge.asked[0]!.json).toMatchObject({ logprobs: true, top_logprobs: 20 });
      expect(item).toMatchObject({ choice: 'good', score: 1 });
      expect(item.probabilities.good).toBeCloseTo(0.6 / 0.95, 9);
      expect(item.probabilities.fair).toBeCloseTo(0.3 / 0.95, 9);
      expect(item.probabilities.bad).toBeCloseTo(0.05 / 0.95, 9);
      expect(item.confidence).toBe(item.probabilities.good);
    });

    it.each([
      ['no JSON', 'I would say: good.'],
      ['another choice', '{"reasoning":"r","choice":"Good"}'],
      ['a member that was not asked for alone', '{"verdict":"good"}'],
      ['nothing', ''],
    ])('with %s, is told so once, and may do better', async (_, content) => {
      judge.reply = ({ json }) => (json.messages.length === 2 ? { content } : says(GOOD));
      expect(await on.tested({})).toMatchObject({ choice: 'good', score: 1, cost_usd: 2 * COST });
      expect(judge.asked).toHaveLength(2);
      expect(judge.asked[1]!.json.messages.slice(0, 2)).toEqual(judge.asked[0]!.json.messages);
      expect(dataOf(judge.asked[1]!)[0]).toBe(content);
    });

    it.each([
      ['no JSON', 'good', CHOICES],
      ['another choice', '{"reasoning":"r","choice":"excellent"}', CHOICES],
      ['a number out of bounds', '{"value":6}', { type: 'numeric', min: 0, max: 5 }],
      ['a number that is a text', '{"value":"4"}', { type: 'numeric', min: 0, max: 5 }],
      ['yes for true', '{"value":"yes"}', { type: 'boolean' }],
    ])('again with %s: that is the error of its target, and no score', async (_, content, output) => {
      judge.reply = () => ({ content });
      const item = await on.tested({ output });
      expect(item.error).toMatch(/^The judge's answer cannot be read/);
      expect(item).not.toHaveProperty('score');
      expect(judge.asked).toHaveLength(2);
    });

    it('not at all: its refusal is the error of its target', async () => {
      judge.reply = () => ({ content: '', finishReason: 'content_filter' });
      expect(await on.tested({})).toMatchObject({
        error: 'The judge would not answer: its server filtered the answer',
        cost_usd: COST,
      });
    });
  });

  describe('of a server that does not take everything', () => {
    const refuse = (param: string) => ({
      status: 400,
      body: JSON.stringify({
        error: { message: `Unsupported parameter: '${param}'.`, param, code: 'unsupported_parameter' },
      }),
    });
    /** Takes nothing that is not in every server since the first. */
    const old = ({ json }: JudgeAsked) => {
      if (json.response_format) return refuse('response_format');
      if (json.logprobs) return refuse('logprobs');
      if (json.max_tokens) return refuse('max_tokens: use max_completion_tokens instead');
      if (json.temperature !== undefined) return refuse('temperature');
      return says(GOOD);
    };

    it('is asked for less until it answers, once for all, and preview then shows that', async () => {
      judge.reply = old;
      const scorer = await on.scorer({ model: 'old' });
      const experiment = await on.experiment();
      const [tested] = await on.at('test', scorer, experiment);
      const taken = judge.asked.at(-1)!;
      expect(Object.keys(taken.json).sort()).toEqual(['max_completion_tokens', 'messages', 'model']);
      expect(tested).toMatchObject({ choice: 'good', request_sha256: sha256(taken.body) });
      const before = judge.asked.length;
      const [preview] = await on.at('preview', scorer, experiment);
      expect(JSON.stringify(preview.preview_request)).toBe(taken.body);
      // another process has learned it, too
      const { results } = await on.scored(scorer, experiment);
      expect(results[0].request_sha256).toBe(sha256(taken.body));
      expect(judge.asked).toHaveLength(before + 1);
    });

    it('that refuses the request for another reason is not asked for less in vain', async () => {
      judge.reply = () => refuse('logprobs');
      expect((await on.tested({ model: 'refuses all' })).error).toMatch(
        /^The judge refused the request \(400\): Unsupported parameter/,
      );
      expect(judge.asked).toHaveLength(2);
      const [row] = await app.database.query<any>('SELECT count(*) AS count FROM judge_features');
      expect(row.count).toBe(0);
    });

    it('or of one that refuses the key: that is told, and nothing of the key', async () => {
      judge.reply = () => ({
        status: 401,
        body: '{"error":{"message":"Incorrect API key: sk-of-the-judge"}}',
      });
      expect(await on.tested({})).toMatchObject({
        error: 'The judge backend refused this service (401): its operator has to look at the key.',
      });
      judge.reply = () => ({ status: 404, body: '{"error":{"message":"no model for sk-of-the-judge"}}' });
      expect((await on.tested({})).error).toBe('The judge refused the request (404): no model for …');
      judge.reply = () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } });
      expect((await on.tested({})).error).toMatch(/redirects are not followed/);
      expect(judge.asked).toHaveLength(3);
    });
  });

  describe('that is asked several times', () => {
    const inTurn = (...answers: object[]) => {
      let next = 0;
      return () => says(answers[next++ % answers.length]!);
    };

    it('answers what most of its samples say, and tells how far they were apart', async () => {
      judge.reply = inTurn(
        { choice: 'bad', reasoning: 'no' },
        { choice: 'good', reasoning: 'yes' },
        { choice: 'good' },
      );
      const item = await on.tested({ samples: 3 });
      expect(item).toMatchObject({
        choice: 'good',
        score: 1,
        reasoning: 'yes',
        cost_usd: expect.closeTo(3 * COST, 12),
        samples: {
          count: 3,
          failed_count: 0,
          scores: [0, 1, 1],
          spread: expect.closeTo(Math.sqrt(1 / 3), 12),
        },
      });
      expect(item.confidence).toBeCloseTo(2 / 3, 12);
      expect(new Set(judge.asked.map(({ body }) => body)).size).toBe(1);
      expect(judge.asked[0]!.json).not.toHaveProperty('temperature');
    });

    it('answers with the mean of its numbers', async () => {
      judge.reply = inTurn({ value: 1 }, { value: 2 }, { value: 6 });
      const item = await on.tested({ samples: 3, output: { type: 'numeric', min: 0, max: 10 } });
      expect(item).toMatchObject({
        score: 3,
        samples: { scores: [1, 2, 6], spread: expect.closeTo(Math.sqrt(7), 12) },
      });
      expect(item).not.toHaveProperty('confidence');
    });

    it('keeps what is stored of them with the result', async () => {
      judge.reply = inTurn({ value: true }, { value: false }, { value: true });
      const scorer = await on.scorer({ samples: 3, output: { type: 'boolean' } });
      const { results } = await on.scored(scorer, await on.experiment());
      expect(results[0].samples).toMatchObject({ count: 3, scores: [1, 0, 1] });
    });

    it('needs more than half of them', async () => {
      let asked = 0;
      judge.reply = () => (asked++ % 3 === 0 ? { status: 404 } : says({ choice: 'fair' }));
      expect(await on.tested({ samples: 3 })).toMatchObject({
        score: 0.5,
        samples: { count: 3, failed_count: 1 },
      });
      judge.reply = () => (asked++ % 2 === 0 ? { status: 404 } : says({ choice: 'fair' }));
      const item = await on.tested({ samples: 4 });
      expect(item.error).toMatch(/404/);
      expect(item).not.toHaveProperty('score');
    });
  });

  describe('that was asked the same before', () => {
    it('is not asked again: a rerun costs nothing', async () => {
      const scorer = await on.scorer({ samples: 3 });
      const experiment = await on.experiment({ input: 1 }, { input: 2 });
      const first = await on.scored(scorer, experiment);
      expect(judge.asked).toHaveLength(6);
      expect(first.run.cost_usd).toBeCloseTo(6 * COST, 12);
      const again = await on.scored(scorer, experiment);
      expect(judge.asked).toHaveLength(6);
      expect(again.run).toMatchObject({ run_status: 'succeeded', cost_usd: 0 });
      const content = ({ score, choice, reasoning, samples, request_sha256, trace_id }: any) => ({
        score,
        choice,
        reasoning,
        samples,
        request_sha256,
        trace_id,
      });
      const byTrace = (items: any[]) => items.map(content).sort((a, b) => (a.trace_id < b.trace_id ? -1 : 1));
      expect(byTrace(again.results)).toEqual(byTrace(first.results));
      expect(again.results.map((one) => one.is_cached)).toEqual([true, true]);
    });

    it('is asked again with "cache": false, by another version, and by test', async () => {
      const scorer = await on.scorer();
      const experiment = await on.experiment();
      await on.scored(scorer, experiment);
      await on.scored(scorer, experiment, { cache: false });
      expect(judge.asked).toHaveLength(2);
      await on.at('test', scorer, experiment);
      expect(judge.asked).toHaveLength(3);
      await on.on.evaluator.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { description: 'other' });
      await on.scored(scorer, experiment);
      expect(judge.asked).toHaveLength(4);
      await on.scored(scorer, experiment);
      expect(judge.asked).toHaveLength(4);
    });

    it('is asked again where all that it has are failures', async () => {
      judge.reply = () => ({ status: 404 });
      const scorer = await on.scorer();
      const experiment = await on.experiment();
      expect((await on.scored(scorer, experiment)).run.run_status).toBe('failed');
      judge.reply = () => says(GOOD);
      expect((await on.scored(scorer, experiment)).run.run_status).toBe('succeeded');
    });

    it('is asked by each workspace for itself', async () => {
      const ask = async (): Promise<string> => {
        const [fixture, item] = [await JudgeFixture.create(app), { input: 'same', output: 'same' }];
        await fixture.scored(await fixture.scorer(), await fixture.experiment(item));
        return judge.asked.at(-1)!.body;
      };
      expect(await ask()).toBe(await ask());
      expect(judge.asked).toHaveLength(2);
    });

    it('is asked again where what it answered is of another workspace', async () => {
      const scorer = await on.scorer();
      const experiment = await on.experiment();
      await on.scored(scorer, experiment);
      await app.database.query(`UPDATE judge_answers SET workspace_id = 'wsp_other'`);
      await on.scored(scorer, experiment);
      expect(judge.asked).toHaveLength(2);
    });
  });

  describe('under a budget', () => {
    const items = (count: number) => Array.from({ length: count }, (_, input) => ({ input }));

    it('stops when it is spent: what was judged stays, the rest says why', async () => {
      const scorer = await on.scorer();
      const experiment = await on.experiment(...items(10));
      const { run, results } = await on.scored(scorer, experiment, {
        max_cost_usd: 2.5 * COST,
        concurrency: 1,
      });
      expect(run).toMatchObject({
        run_status: 'failed',
        failure_code: 'budget_exceeded',
        max_cost_usd: 2.5 * COST,
        completed_count: 3,
        failed_count: 7,
        cost_usd: expect.closeTo(3 * COST, 12),
      });
      expect(judge.asked).toHaveLength(3);
      expect(results.filter(({ error }) => /max_cost_usd/.test(error ?? ''))).toHaveLength(7);
      for (const { error, score } of results) expect(error === undefined).toBe(score === 1);
    });

    it('counts what failed and cost all the same', async () => {
      judge.reply = () => ({ content: 'nonsense' });
      const experiment = await on.experiment(...items(5));
      const { run } = await on.scored(await on.scorer(), experiment, {
        max_cost_usd: 3 * COST,
        concurrency: 1,
      });
      expect(run).toMatchObject({ failure_code: 'budget_exceeded', cost_usd: expect.closeTo(4 * COST, 12) });
      expect(judge.asked).toHaveLength(4);
    });

    it('that is just enough succeeds', async () => {
      const experiment = await on.experiment(...items(2));
      const { run } = await on.scored(await on.scorer(), experiment, {
        max_cost_usd: 2 * COST,
        concurrency: 1,
      });
      expect(run).toMatchObject({ run_status: 'succeeded', completed_count: 2 });
    });

    it('is refused where nobody knows what the judge costs', async () => {
      const { experiment_id } = await on.experiment();
      const scorer = await on.scorer({ model: 'of unknown price' });
      const answer = await on.on.score(scorer, { experiment_id, max_cost_usd: 1 });
      expect(answer).toMatchObject({
        status: 422,
        body: { code: 'validation_failed', errors: [{ pointer: '/max_cost_usd' }] },
      });
      for (const wrong of [0, -1, '1']) {
        expect((await on.on.score(scorer, { experiment_id, max_cost_usd: wrong })).status).toBe(400);
      }
    });
  });

  describe('that is a classifier', () => {
    const classifier = { backend: 'classifier', prompt: null };
    const labelled = (...scores: [string, number][]) => ({
      content: scores.map(([label, score]) => ({ label, score })),
    });

    it('fills probabilities, choice, confidence, and the score that is to be expected', async () => {
      judge.reply = () => labelled(['fair', 0.5], ['good', 0.3], ['bad', 0.2]);
      expect(await on.tested(classifier, { output: 'the text' })).toEqual({
        trace_id: expect.any(String),
        backend: 'classifier',
        choice: 'fair',
        confidence: 0.5,
        probabilities: { good: 0.3, fair: 0.5, bad: 0.2 },
        score: 0.55,
        cost_usd: 0,
        is_cached: false,
        request_sha256: sha256(judge.asked[0]!.body),
        elapsed_ms: expect.any(Number),
      });
      expect(judge.asked[0]).toMatchObject({
        path: '/classify',
        json: { inputs: 'the text', labels: ['good', 'fair', 'bad'] },
      });
      expect(Object.keys(judge.asked[0]!.json)).toEqual(['inputs', 'labels']);
    });

    it('is sent its prompt with what is judged in it', async () => {
      await on.tested(
        { ...classifier, prompt: 'Q: {{input}} A: {{output}}' },
        { input: 'why', output: 'so' },
      );
      expect(judge.asked[0]!.json.inputs).toBe('Q: why A: so');
    });

    it('may answer in a list of its own, or with what does not add up to one', async () => {
      judge.reply = () => ({
        content: [
          [
            { label: 'good', score: 0.2 },
            { label: 'bad', score: 0.6 },
          ],
        ],
      });
      expect(await on.tested(classifier)).toMatchObject({
        choice: 'bad',
        probabilities: { good: expect.closeTo(0.25, 12), fair: 0, bad: expect.closeTo(0.75, 12) },
      });
    });

    it.each([
      ['another label', labelled(['excellent', 1])],
      ['a score that is none', { content: [{ label: 'good', score: 'high' }] }],
      ['a score beyond 1', labelled(['good', 7])],
      ['no label', labelled()],
      ['something else', { content: { label: 'good' } }],
    ])('that answers with %s: that is the error of its target, and no score', async (_, reply) => {
      judge.reply = () => reply;
      const item = await on.tested(classifier);
      expect(item.error).toMatch(/^The classifier's answer cannot be read/);
      expect(item).not.toHaveProperty('score');
    });
  });

  it('runs the starters that ask one, to the scores of their examples', async () => {
    const { body } = await on.on.evaluator.get('/eval/v1/scorer-starters');
    const starters = body.items.filter((one: any) => one.scorer_kind === 'llm_judge');
    expect(starters.length).toBeGreaterThanOrEqual(6);
    for (const starter of starters) {
      const { scorer_kind, definition, grain } = starter;
      const scorer = await on.on.scorer({ scorer_kind, definition, grain: 'trace' });
      expect(grain).toMatch(/trace|session/);
      for (const example of [starter.example, starter.failing_example]) {
        judge.reply = () => says({ reasoning: 'r', ...example.answer });
        const { input, output, expected, metadata } = example.subject;
        const result = Object.fromEntries(
          Object.entries({ input, output, expected, metadata }).filter(([, value]) => value != null),
        );
        const [item] = await on.at('test', scorer, await on.experiment(result));
        expect([starter.starter_id, item.score]).toEqual([starter.starter_id, example.result.score]);
      }
    }
  });
});

/** What stands between the delimiters of data in the last message of the user. */
function dataOf({ prompt }: JudgeAsked): string[] {
  return [...prompt.matchAll(/<data-([0-9a-f]{32})>\n([\s\S]*?)\n<\/data-\1>/g)].map(([, , data]) => data!);
}

/** A session in which a tool is called, as an instrumented agent sends it. */
async function conversation({ on }: JudgeFixture): Promise<string> {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const nanos = (ms: number): string => `${BigInt(ms) * 1_000_000n}`;
  const now = Date.now();
  const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const span = (spanId: string, at: number, name: string, attributes: object[], parentSpanId?: string) => ({
    ...{ traceId, spanId, name, attributes, parentSpanId },
    ...{ startTimeUnixNano: nanos(now + at), endTimeUnixNano: nanos(now + at + 5) },
  });
  const spans = [
    span('00f067aa0ba902b7', 0, 'agent', [
      text('session.id', 'talk'),
      text('input.value', 'Where is order 12?'),
      text('output.value', 'It was sent.\nAnything else?'),
    ]),
    span(
      '00f067aa0ba902b8',
      1,
      'execute_tool find_order',
      [
        text('gen_ai.operation.name', 'execute_tool'),
        text('gen_ai.tool.name', 'find_order'),
        text('gen_ai.tool.call.arguments', '{"id":12}'),
        text('gen_ai.tool.call.result', '{"state":"sent"}'),
      ],
      '00f067aa0ba902b7',
    ),
  ];
  const answer = await on.evaluator.post('/telemetry/v1/traces', {
    resourceSpans: [{ scopeSpans: [{ spans }] }],
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return traceId;
}
