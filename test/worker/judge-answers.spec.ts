import { CHOICES, COST, dataOf, GOOD, type JudgedService, says, sha256, withJudge } from './judge.fixture';

describe('a judge', () => {
  let judge: JudgedService['judge'];
  let fixture: JudgedService['fixture'];
  withJudge((service) => ({ judge, fixture } = service));

  describe('answer', () => {
    it.each([
      ['the score of the choice', CHOICES, { choice: 'fair' }, { choice: 'fair', score: 0.5 }],
      ['1 for true', { type: 'boolean' }, { value: true }, { score: 1 }],
      ['0 for false', { type: 'boolean' }, { value: false }, { score: 0 }],
      ['the number itself', { type: 'numeric', min: -1, max: 5 }, { value: 4.5 }, { score: 4.5 }],
    ])('sets the score to %s', async (_, output, answer, expected) => {
      judge.reply = () => says({ reasoning: 'because', ...answer });
      expect(await fixture.testResult({ output })).toEqual({
        trace_id: expect.any(String),
        result_id: expect.any(String),
        case_id: expect.any(String),
        ...expected,
        reasoning: 'because',
        backend: 'llm',
        model: 'judge-1',
        judge_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        cost_usd: COST,
        is_cached: false,
        request_sha256: sha256(judge.requests[0]!.body),
        elapsed_ms: expect.any(Number),
      });
    });

    it('sets the score to the mean of its answers to several questions', async () => {
      const questions = [
        { key: 'polite', question: 'Is it polite?', output: { type: 'boolean' } },
        { key: '__proto__', question: 'How good is it?', output: CHOICES },
        { key: 'length', question: 'How long is it?', output: { type: 'numeric', min: 0, max: 1 } },
      ];
      judge.reply = () => ({
        content: '{"reasoning":"r","answers":{"polite":true,"__proto__":"fair","length":0.75}}',
      });
      const item = await fixture.testResult({ output: { type: 'questions', questions } });
      expect(item.score).toBe(0.75);
      expect(Object.entries(item.answers)).toEqual([
        ['polite', true],
        ['__proto__', 'fair'],
        ['length', 0.75],
      ]);
      for (const { question } of questions)
        expect(judge.requests[0]!.json.messages[0].content).toContain(question);
    });

    it('has no reasoning if the definition does not request it', async () => {
      judge.reply = () => says({ choice: 'good' });
      expect(await fixture.testResult({ reasoning: false })).not.toHaveProperty('reasoning');
      const { schema } = judge.requests[0]!.json.response_format.json_schema;
      expect(schema.required).toEqual(['choice']);
    });

    it.each([
      ['in a Markdown fence', '```json\n{"reasoning":"r","choice":"bad"}\n```'],
      [
        'after the thoughts of the model',
        '<think>{"choice":"good"}?</think>\n\n{"reasoning":"r","choice":"bad"}',
      ],
      [
        'in several parts',
        [
          { type: 'text', text: '{"reasoning":"r",' },
          { type: 'text', text: '"choice":"bad"}' },
        ],
      ],
    ])('is read %s', async (_, content) => {
      judge.reply = () => ({ content });
      expect(await fixture.testResult({})).toMatchObject({ choice: 'bad', score: 0, reasoning: 'r' });
      expect(judge.requests).toHaveLength(1);
    });

    it('has the probabilities of the choices if the server returns logprobs', async () => {
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
      const item = await fixture.testResult({ reasoning: false });
      expect(judge.requests[0]!.json).toMatchObject({ logprobs: true, top_logprobs: 20 });
      expect(item).toMatchObject({ choice: 'good', score: 1 });
      expect(item.probabilities.good).toBeCloseTo(0.6 / 0.95, 9);
      expect(item.probabilities.fair).toBeCloseTo(0.3 / 0.95, 9);
      expect(item.probabilities.bad).toBeCloseTo(0.05 / 0.95, 9);
      expect(item.confidence).toBe(item.probabilities.good);
    });

    it.each([
      ['no JSON', 'I would say: good.'],
      ['an unknown choice', '{"reasoning":"r","choice":"Good"}'],
      ['only an unknown member', '{"verdict":"good"}'],
      ['no content', ''],
    ])('is requested once more if it has %s', async (_, content) => {
      judge.reply = ({ json }) => (json.messages.length === 2 ? { content } : says(GOOD));
      expect(await fixture.testResult({})).toMatchObject({ choice: 'good', score: 1, cost_usd: 2 * COST });
      expect(judge.requests).toHaveLength(2);
      expect(judge.requests[1]!.json.messages.slice(0, 2)).toEqual(judge.requests[0]!.json.messages);
      expect(dataOf(judge.requests[1]!)[0]).toBe(content);
    });

    it.each([
      ['no JSON', 'good', CHOICES],
      ['an unknown choice', '{"reasoning":"r","choice":"excellent"}', CHOICES],
      ['a number out of bounds', '{"value":6}', { type: 'numeric', min: 0, max: 5 }],
      ['a number as text', '{"value":"4"}', { type: 'numeric', min: 0, max: 5 }],
      ['yes for true', '{"value":"yes"}', { type: 'boolean' }],
    ])('fails the target if it has %s twice', async (_, content, output) => {
      judge.reply = () => ({ content });
      const item = await fixture.testResult({ output });
      expect(item.error).toMatch(/^The judge's answer is invalid: /);
      expect(item).not.toHaveProperty('score');
      expect(judge.requests).toHaveLength(2);
    });

    it('fails the target if it is a refusal', async () => {
      judge.reply = () => ({ content: '', finishReason: 'content_filter' });
      expect(await fixture.testResult({})).toMatchObject({
        error: 'The judge refused to answer: its server filtered the answer',
        cost_usd: COST,
      });
    });
  });

  describe('with several samples', () => {
    const inTurn = (...answers: object[]) => {
      let next = 0;
      return () => says(answers[next++ % answers.length]!);
    };

    it('uses the majority, and reports the disagreement', async () => {
      judge.reply = inTurn(
        { choice: 'bad', reasoning: 'no' },
        { choice: 'good', reasoning: 'yes' },
        { choice: 'good' },
      );
      const item = await fixture.testResult({ samples: 3 });
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
      expect(new Set(judge.requests.map(({ body }) => body)).size).toBe(1);
      expect(judge.requests[0]!.json).not.toHaveProperty('temperature');
    });

    it('uses the mean of numbers', async () => {
      judge.reply = inTurn({ value: 1 }, { value: 2 }, { value: 6 });
      const item = await fixture.testResult({ samples: 3, output: { type: 'numeric', min: 0, max: 10 } });
      expect(item).toMatchObject({
        score: 3,
        samples: { scores: [1, 2, 6], spread: expect.closeTo(Math.sqrt(7), 12) },
      });
      expect(item).not.toHaveProperty('confidence');
    });

    it('stores the samples with the result', async () => {
      judge.reply = inTurn({ value: true }, { value: false }, { value: true });
      const scorer = await fixture.scorer({ samples: 3, output: { type: 'boolean' } });
      const { results } = await fixture.completeRun(scorer, await fixture.experiment());
      expect(results[0].samples).toMatchObject({ count: 3, scores: [1, 0, 1] });
    });

    it('requires that more than half of the samples succeed', async () => {
      let requestCount = 0;
      judge.reply = () => (requestCount++ % 3 === 0 ? { status: 404 } : says({ choice: 'fair' }));
      expect(await fixture.testResult({ samples: 3 })).toMatchObject({
        score: 0.5,
        samples: { count: 3, failed_count: 1 },
      });
      judge.reply = () => (requestCount++ % 2 === 0 ? { status: 404 } : says({ choice: 'fair' }));
      const item = await fixture.testResult({ samples: 4 });
      expect(item.error).toMatch(/404/);
      expect(item).not.toHaveProperty('score');
    });
  });

  describe('that is a classifier', () => {
    const classifier = { backend: 'classifier', prompt: null };
    const labelled = (...scores: [string, number][]) => ({
      content: scores.map(([label, score]) => ({ label, score })),
    });

    it('sets the probabilities, the choice, the confidence and the expected score', async () => {
      judge.reply = () => labelled(['fair', 0.5], ['good', 0.3], ['bad', 0.2]);
      expect(await fixture.testResult(classifier, { output: 'the text' })).toEqual({
        trace_id: expect.any(String),
        result_id: expect.any(String),
        case_id: expect.any(String),
        backend: 'classifier',
        judge_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        choice: 'fair',
        confidence: 0.5,
        probabilities: { good: 0.3, fair: 0.5, bad: 0.2 },
        score: 0.55,
        cost_usd: 0,
        is_cached: false,
        request_sha256: sha256(judge.requests[0]!.body),
        elapsed_ms: expect.any(Number),
      });
      expect(judge.requests[0]).toMatchObject({
        path: '/classify',
        json: { inputs: 'the text', labels: ['good', 'fair', 'bad'] },
      });
      expect(Object.keys(judge.requests[0]!.json)).toEqual(['inputs', 'labels']);
    });

    it('gets the expanded prompt', async () => {
      await fixture.testResult(
        { ...classifier, prompt: 'Q: {{input}} A: {{output}}' },
        { input: 'why', output: 'so' },
      );
      expect(judge.requests[0]!.json.inputs).toBe('Q: why A: so');
    });

    it('may return a nested list, or unnormalized probabilities', async () => {
      judge.reply = () => ({
        content: [
          [
            { label: 'good', score: 0.2 },
            { label: 'bad', score: 0.6 },
          ],
        ],
      });
      expect(await fixture.testResult(classifier)).toMatchObject({
        choice: 'bad',
        probabilities: { good: expect.closeTo(0.25, 12), fair: 0, bad: expect.closeTo(0.75, 12) },
      });
    });

    it.each([
      ['an unknown label', labelled(['excellent', 1])],
      ['a score that is not a number', { content: [{ label: 'good', score: 'high' }] }],
      ['a score above 1', labelled(['good', 7])],
      ['no label', labelled()],
      ['an object instead of a list', { content: { label: 'good' } }],
    ])('fails the target if it returns %s', async (_, reply) => {
      judge.reply = () => reply;
      const item = await fixture.testResult(classifier);
      expect(item.error).toMatch(/^The classifier's answer is invalid: /);
      expect(item).not.toHaveProperty('score');
    });

    it.each([
      [
        401,
        'The classifier rejected the API key of this service (401). Ask the operator to check CLASSIFIER_API_KEY.',
      ],
      [
        403,
        'The classifier denied access (403). Ask the operator to check CLASSIFIER_API_KEY, and whether it may use the model.',
      ],
      [404, 'The classifier refused the request (404): status 404'],
    ])('is named in the error if it returns %i', async (status, error) => {
      judge.reply = () => ({ status });
      expect(await fixture.testResult(classifier)).toMatchObject({ error });
    });
  });
});
