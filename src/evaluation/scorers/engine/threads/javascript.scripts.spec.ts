import { TestEngine } from './code-engine.fixture';
import type { ScoreOutcome, ScoringSubject } from '../subject';

describe('a script', () => {
  let engine: TestEngine;
  beforeAll(() => (engine = new TestEngine()));
  afterAll(() => engine.close());

  function run(
    source: string,
    subject: Partial<ScoringSubject> = {},
    timeoutMs = 5_000,
  ): Promise<ScoreOutcome> {
    return engine.script(source, subject, { timeoutMs });
  }
  const returning = (expression: string): Promise<ScoreOutcome> =>
    run(`function score() { return (${expression}); }`);
  async function errorOf(
    source: string,
    subject: Partial<ScoringSubject> = {},
    timeoutMs?: number,
  ): Promise<string> {
    const outcome = await run(source, subject, timeoutMs);
    expect(outcome).toEqual({ error: expect.any(String) });
    return (outcome as { error: string }).error;
  }

  describe('with a result', () => {
    it.each([
      ['0.5', 0.5],
      ['-3', -3],
      ['true', 1],
      ['false', 0],
      ['null', null],
      ['({score: true}).score', 1],
    ])('can return %s for the score %s', async (expression, score) => {
      expect(await returning(expression)).toEqual({ score });
    });

    it('can add a label, reasoning and answers, but no other members', async () => {
      const source = `const score = ({output}) =>
        ({ score: output.length > 2, label: 'long', reasoning: 'counted', answers: { n: output.length }, other: 1 });`;
      expect(await run(source, { output: 'abc' })).toEqual({
        score: 1,
        label: 'long',
        reasoning: 'counted',
        answers: { n: 3 },
      });
    });

    it.each([
      ['NaN', 'score returned NaN'],
      ['Infinity', 'score returned Infinity'],
      ['"1"', 'score returned a string'],
      ['undefined', 'score returned undefined'],
      ['[1]', 'score returned an array'],
      ['10n', 'score returned a bigint'],
      ['() => 1', 'score returned a function'],
      ['({})', 'without the member score'],
      ['({score: "1"})', 'the member score is a string'],
      ['({score: NaN})', 'the member score is NaN'],
      ['({score: 1, label: 3})', 'label is 3; it must be a string'],
      ['({score: 1, reasoning: {}})', 'reasoning is an object; it must be a string'],
      ['({score: 1, answers: [1]})', 'answers is an array'],
      [
        '({score: 1, answers: {toJSON() { return 1 }}})',
        'answers is an object; it must be an object of JSON values',
      ],
      ['Promise.resolve(1)', 'score returned a promise'],
      ['import("fs")', 'score returned a promise'],
    ])('fails if the result is %s', async (expression, problem) => {
      expect(await returning(expression)).toEqual({ error: expect.stringContaining(problem) });
    });

    it('fails if the function is async', async () => {
      expect(await errorOf('async function score() { return 1; }')).toContain('score returned a promise');
    });

    it('fails if the result is too large', async () => {
      expect(await returning('({score: 1, reasoning: "x".repeat(70000)})')).toEqual({
        error: expect.stringMatching(/the result has 700\d\d characters as JSON; at most 65536/),
      });
    });
  });

  describe('in its environment', () => {
    it('has all six members of the subject, and can change them', async () => {
      const subject = {
        input: { q: 'é€😀\u0000"' },
        output: ['a', 1, null, true],
        expected: 'x',
        metadata: { n: 1.5 },
        trace: { spans: [] },
        session: { messages: [{ role: 'user' }] },
      };
      const source = `function score(subject) {
        const keys = Object.keys(subject);
        const answers = JSON.parse(JSON.stringify(subject));
        subject.input.q = 'changed';
        return { score: keys.length, answers };
      }`;
      expect(await run(source, subject)).toEqual({ score: 6, answers: subject });
    });

    it('accepts a trace of 5 MB with a few characters beyond Latin-1', async () => {
      const span = { name: 'chat €', attributes: { 'input.value': 'lorem ipsum '.repeat(45) } };
      const trace = { spans: Array.from({ length: 8_000 }, (_, i) => ({ ...span, span_id: `s${i}` })) };
      expect(JSON.stringify(trace).length).toBeGreaterThan(4_500_000);
      const source = 'const score = ({trace}) => trace.spans.filter((s) => s.name === "chat \\u20ac").length';
      expect(await run(source, { trace }, 10_000)).toEqual({ score: 8_000 });
    });

    it('accepts several MB of text beyond Latin-1', async () => {
      const output = '漢字かな交じり文。'.repeat(150_000);
      expect(await run('const score = ({output}) => output.length', { output }, 10_000)).toEqual({
        score: output.length,
      });
    });

    it('fails for a subject that cannot be written as JSON', async () => {
      const cycle: Record<string, unknown> = {};
      cycle.self = cycle;
      expect(await errorOf('function score() { return 1; }', { input: cycle })).toContain(
        'cannot be written as JSON',
      );
    });

    it('fails for a subject that exceeds its memory, and scores the next', async () => {
      const source = 'const score = ({output}) => output.length';
      expect(await engine.script(source, { output: 'x'.repeat(8_000_000) }, { memoryMb: 8 })).toEqual({
        error: 'the scorer needs more than 8 MB of memory (memory_mb)',
      });
      expect(await returning('1')).toEqual({ score: 1 });
    });

    it('has functions for edit distances', async () => {
      const source = `function score() {
        return { score: levenshtein('kitten', 'sitting'), answers: {
          similarity: levenshteinSimilarity('abcd', 'abce'), empty: levenshteinSimilarity('', ''),
          exact: levenshtein('a\\u0000b\\ud800', 'a\\u0000c\\ud801') } };
      }`;
      expect(await run(source)).toEqual({ score: 3, answers: { similarity: 0.75, empty: 1, exact: 2 } });
    });

    it('gets no edit distance of texts above 20,000 characters', async () => {
      expect(await errorOf('const score = () => levenshtein("a".repeat(20001), "b")')).toContain(
        'levenshtein compares strings of at most 20000 characters',
      );
      expect(await errorOf('const score = () => levenshteinSimilarity("a", 1)')).toContain(
        'compares two strings',
      );
    });

    it('can write to a console that discards its output', async () => {
      expect(await run('function score() { console.log("x"); console.error({}); return 1; }')).toEqual({
        score: 1,
      });
    });
  });

  describe('with an error', () => {
    it.each([
      ['function score() {\n  null.x;\n}', "TypeError: cannot read property 'x' of null (line 2, column 7)"],
      [
        '\n\nfunction score() { return 1 }\nlet x = ;',
        "SyntaxError: unexpected token in expression: ';' (line 4",
      ],
      ['export function score() { return 1 }', 'SyntaxError: unsupported keyword: export (line 1'],
      ['\nthrow new Error("early")', 'Error: early (line 2'],
      ['let other = 1', 'the source defines no function score'],
      ['let score = 1', 'the source defines no function score'],
      ['function score() { throw "a text" }', 'a text'],
      ['function score() { throw {code: 7} }', 'threw {"code":7}'],
      ['function score() { throw undefined }', 'undefined'],
    ])('reports the error of %j, with its position if it has one', async (source, message) => {
      expect(await errorOf(source)).toContain(message);
    });

    it('reports a truncated message if it is long', async () => {
      const error = await errorOf('function score() { throw new Error("x".repeat(3000000)) }');
      expect(error.length).toBe(2_000);
      expect(error).toMatch(/^Error: x+…$/);
    });

    it.each([
      ['an object whose getter throws', '{ get message() { throw 1 } }'],
      ['a proxy', 'new Proxy({}, { get() { throw 1 } })'],
      ['a symbol', 'Symbol("s")'],
      ['a cycle', '(() => { const a = {}; a.a = a; return a })()'],
      ['null', 'null'],
    ])('can throw %s', async (_, thrown) => {
      await errorOf(`function score() { throw ${thrown} }`);
      expect(await returning('1')).toEqual({ score: 1 });
    });
  });

  describe('in validation', () => {
    const faults = (source: string): Promise<string[]> => engine.faults({ language: 'javascript', source });

    it('is accepted if it defines score', async () => {
      expect(await faults('const score = () => 1')).toEqual([]);
      expect(await faults('function score() { throw 1 }')).toEqual([]);
    });

    it('is rejected with the line of a syntax error', async () => {
      expect(await faults('function score() {\n  return 1;\n}}')).toEqual([
        expect.stringMatching(/^\/source SyntaxError: .*line 3/),
      ]);
    });

    it('is rejected without a function score', async () => {
      expect(await faults('const scorer = () => 1')).toEqual([
        '/source the source defines no function score',
      ]);
    });

    it('is stopped at the time limit', async () => {
      expect(await faults('while (true) {}')).toEqual([
        expect.stringMatching(/^\/source .*did not finish within 1000 ms/),
      ]);
    });
  });
});
