import { TestEngine } from './code-engine.fixture';
import type { ScoreOutcome } from '../subject';

const DEADLINE = 'did not finish within';
const MEMORY = 'needs more than 32 MB of memory';

describe('hostile scorers', () => {
  let engine: TestEngine;
  beforeAll(() => (engine = new TestEngine(2)));
  afterAll(() => engine.close());

  const run = (source: string, timeoutMs = 5_000): Promise<ScoreOutcome> =>
    engine.script(source, { output: 'o' }, { timeoutMs });

  /** Expects that the scorer ends with an error, and that concurrent and later scorers are not affected. */
  async function endsIn(source: string, problem: string | RegExp, timeoutMs?: number): Promise<void> {
    const [hostile, beside] = await Promise.all([
      run(source, timeoutMs),
      run('const score = ({output}) => output === "o"'),
    ]);
    expect(hostile).toEqual({ error: expect.stringMatching(problem) });
    expect((hostile as { error: string }).error.length).toBeLessThanOrEqual(2_000);
    expect(beside).toEqual({ score: 1 });
    expect(await run('const score = () => 0.5')).toEqual({ score: 0.5 });
  }

  it.each([
    ['a loop', 'function score() { while (true) {} }'],
    ['a loop at the top level', 'while (true) {}'],
    [
      'a loop that catches errors and continues',
      'function score() { for (;;) try { while (true) {} } catch {} finally { while (true) {} } }',
    ],
    [
      'an endless generator',
      'function* g() { while (true) yield 1 } function score() { for (const x of g()) {} }',
    ],
    ['a getter of the result', 'function score() { return { get score() { while (true) {} } } }'],
    [
      'toJSON of the answers',
      'function score() { return { score: 1, answers: { toJSON() { while (true) {} } } } }',
    ],
    ['then of the result', 'function score() { return { score: 1, get then() { while (true) {} } } }'],
    ['the message of a thrown object', 'function score() { throw { get message() { while (true) {} } } }'],
    ['toString in a template', 'function score() { return `${{ toString() { while (true) {} } }}` }'],
    [
      'Object.prototype.toJSON',
      'Object.prototype.toJSON = () => { while (true) {} }; function score() { return { score: 1, answers: { a: {} } } }',
    ],
    [
      'a regular expression that backtracks',
      'function score() { return /^(a+)+$/.test("a".repeat(40) + "b") }',
    ],
    [
      'a native join that cannot be interrupted',
      'function score() { return Array(2 ** 32 - 1).join("").length }',
    ],
    [
      'a native stringify that cannot be interrupted',
      'let o = {}; for (let i = 0; i < 100000; i++) o = { o }; function score() { return { score: 1, answers: o } }',
    ],
  ])('are stopped: %s', async (_, source) => {
    await endsIn(source, DEADLINE, 300);
  });

  it.each([
    ['lists', 'function score() { const a = []; while (true) a.push(new Array(1000).fill(1)) }'],
    ['buffers', 'function score() { const a = []; while (true) a.push(new ArrayBuffer(1 << 20)) }'],
    ['strings', 'function score() { const a = []; while (true) a.push("x".repeat(1e6) + a.length) }'],
    ['one string', 'function score() { return "x".repeat(2 ** 29).length }'],
    ['at the top level', 'const a = []; while (true) a.push(new Array(1000).fill(1))'],
    ['a flood of microtasks', 'function score() { while (true) Promise.resolve().then(() => {}) }'],
    [
      'answers of 100 MB',
      'function score() { const s = "x".repeat(1e6); return { score: 1, answers: { a: Array(100).fill(s) } } }',
    ],
  ])('run out of memory: %s', async (_, source) => {
    await endsIn(source, MEMORY, 10_000);
  });

  it.each([
    ['a function', 'function score() { return score() }', 'stack overflow'],
    [
      'a getter',
      'const o = { get a() { return this.a } }; function score() { return o.a }',
      'stack overflow',
    ],
    ['a comparison', 'function f() { [1, 2].sort(f) } function score() { f() }', 'stack overflow'],
    ['a replacement', 'function f() { "a".replace(/a/, f) } function score() { f() }', 'stack overflow'],
    [
      'brackets in the source',
      `function score() { return ${'('.repeat(50_000)}1${')'.repeat(50_000)} }`,
      'SyntaxError: stack overflow',
    ],
    [
      'lists in the source',
      `const a = ${'['.repeat(100_000)}; function score() {}`,
      'SyntaxError: stack overflow',
    ],
  ])('overflow the stack: %s', async (_, source, problem) => {
    await endsIn(source, problem);
  });

  it('cannot leave microtasks to run later', async () => {
    const flood =
      'function score() { const f = () => Promise.resolve().then(f); for (let i = 0; i < 100; i++) f(); return 1 }';
    expect(await run(flood)).toEqual({ score: 1 });
    expect(await run('const score = () => 0.5')).toEqual({ score: 0.5 });
  });

  it('cannot change the built-ins that read their result', async () => {
    const source = `
      for (const name of ['toJSON', 'then', 'score', 'get', 'set', 'value', 'label']) Object.prototype[name] = () => 7;
      Array.prototype.toJSON = String.prototype.toJSON = Number.prototype.toJSON = () => 8;
      JSON.stringify = JSON.parse = Reflect.apply = Object.defineProperty = Array.isArray = () => { throw 9 };
      String.prototype.slice = Number.isFinite = () => { throw 9 };
      delete Object.prototype.then;
      function score({ output }) { return output === 'o' ? 0.25 : 0 }`;
    expect(await run(source)).toEqual({ score: 0.25 });
  });

  it('cannot access the host', async () => {
    const source = `function score() {
      const reach = (f) => { try { return typeof f() } catch { return 'undefined' } };
      const root = reach.constructor('return this')();
      const names = ['process', 'require', 'module', 'fetch', 'XMLHttpRequest', 'WebSocket', 'setTimeout', 'Worker',
        'WebAssembly', 'performance', 'SharedArrayBuffer', 'Atomics', 'std', 'os', 'scriptArgs', 'host', 'member'];
      return { score: names.filter((name) => reach(() => root[name]) !== 'undefined').length,
        answers: { found: names.filter((name) => name in root), stack: new Error('x').stack } };
    }`;
    const outcome = await run(source);
    expect(outcome).toMatchObject({ score: 0, answers: { found: [] } });
    expect(JSON.stringify(outcome)).not.toMatch(/node_modules|\/dist\/|file:/);
  });

  it('cannot import', async () => {
    expect(await run('import fs from "fs"; function score() { return 1 }')).toEqual({
      error: expect.stringContaining('SyntaxError'),
    });
  });

  it('leave no state for the next run', async () => {
    const leaving = `
      globalThis.left = [1]; var alsoLeft = 2; let leftToo = 3;
      Object.prototype.left = 4; Array.prototype.map = () => 5; Math.max = () => 6; Date.now = () => 7;
      levenshtein = null; delete globalThis.levenshteinSimilarity; delete globalThis.JSON;
      function score() { return 1 }`;
    const looking = `function score() {
      const found = [typeof left, typeof alsoLeft, typeof leftToo, typeof {}.left].filter((t) => t !== 'undefined');
      return found.length === 0 && [1].map((x) => x + 1)[0] === 2 && Math.max(1, 2) === 2 && Date.now() > 7
        && levenshtein('a', 'b') === 1 && levenshteinSimilarity('a', 'a') === 1 && JSON.stringify([]) === '[]';
    }`;
    for (let i = 0; i < 4; i++) {
      expect(await Promise.all([run(leaving), run(leaving)])).toEqual([{ score: 1 }, { score: 1 }]);
      expect(await Promise.all([run(looking), run(looking)])).toEqual([{ score: 1 }, { score: 1 }]);
    }
  });

  it('get the same time, time zone and random numbers in every run and thread', async () => {
    const source = `function score() { return { score: Date.now(), answers: {
      now: new Date().toISOString(), text: Date(), local: new Date('2020-06-01T12:00').toISOString(),
      parts: new Date(2020, 5, 1, 12).getTime(), offset: new Date().getTimezoneOffset(),
      random: [Math.random(), Math.random()] } } }`;
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => run(source)));
    for (const outcome of outcomes) expect(outcome).toEqual(outcomes[0]);
    expect(outcomes[0]).toMatchObject({
      score: Date.UTC(2000, 0, 1),
      answers: {
        now: '2000-01-01T00:00:00.000Z',
        local: '2020-06-01T12:00:00.000Z',
        parts: Date.UTC(2020, 5, 1, 12),
        offset: 0,
      },
    });
    const other = new TestEngine();
    try {
      expect(await other.script(source)).toEqual(outcomes[0]);
    } finally {
      await other.close();
    }
  });
});

describe('demanding checks', () => {
  const subject = { input: 'q', output: '{"answer": 42}', expected: '{"answer": 42}' };
  let engine: TestEngine;
  beforeAll(() => (engine = new TestEngine(2)));
  afterAll(() => engine.close());

  it('are ended when they take too long, while others continue', async () => {
    const slow = { checks: [{ type: 'regex', pattern: 'a[ab]{980}(?:c|d)$' }] };
    let seed = 1;
    const noise = (): string => 'ab'[((seed = (seed * 1103515245 + 12345) & 0x7fffffff) >> 16) & 1]!;
    const output = `${Array.from({ length: 3_000_000 }, noise).join('')}e`;
    const [ended, beside] = await Promise.all([
      engine.score(slow, { ...subject, output }),
      engine.score({ checks: [{ type: 'equals' }] }, subject),
    ]);
    expect(ended).toEqual({ error: 'the checks did not finish within 5000 ms' });
    expect(beside).toMatchObject({ score: 1 });
  });

  it('may have the largest subject', async () => {
    const value: unknown = JSON.parse(`[${'{},'.repeat(2_790_000)}0]`);
    await engine.score({ checks: [{ type: 'contains', value: 'x' }] }, { ...subject, output: value });
    await engine.score({ checks: [{ type: 'max_steps', max: 1 }] }, { ...subject, trace: value });
    expect(await engine.score({ checks: [{ type: 'equals' }] }, subject)).toMatchObject({ score: 1 });
  });
});
