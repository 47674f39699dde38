import type { ScoringSubject } from '../score-outcome';
import { ScorerEngine } from './scorer.engine';

const subject: ScoringSubject = {
  input: 'q',
  output: '{"answer": 42}',
  expected: '{"answer": 42}',
  metadata: null,
  trace: null,
  session: null,
};

describe('ScorerEngine', () => {
  let engine: ScorerEngine;
  beforeAll(() => (engine = new ScorerEngine({ threads: 2 })));
  afterAll(() => engine.close());

  it('runs scripts and checks', async () => {
    const script = {
      language: 'javascript',
      source: 'const score = ({output}) => JSON.parse(output).answer',
    };
    expect(await engine.run(script, subject)).toEqual({ score: 42 });
    const checks = { checks: [{ type: 'equals' }, { type: 'contains', value: '42' }] };
    expect(await engine.run(checks, subject)).toEqual({
      score: 1,
      reasoning: 'All 2 checks passed.',
      answers: { equals: true, contains: true },
    });
  });

  it('keeps to the limits of the script', async () => {
    const loop = { language: 'javascript', source: 'function score() { while (true) {} }', timeout_ms: 50 };
    expect(await engine.run(loop, subject)).toEqual({
      error: expect.stringContaining('within 50 ms (timeout_ms)'),
    });
    const need = { language: 'javascript', source: 'const a = new ArrayBuffer(12e6); const score = () => 1' };
    expect(await engine.run({ ...need, memory_mb: 16 }, subject)).toEqual({ score: 1 });
    expect(await engine.run({ ...need, memory_mb: 8 }, subject)).toEqual({
      error: expect.stringContaining('more than 8 MB of memory (memory_mb)'),
    });
  });

  it.each([
    [{}, 'needs source'],
    [null, 'must be an object'],
    [{ checks: [{ type: 'regex', pattern: '(?=a)' }] }, '/checks/0/pattern cannot be used'],
    [{ checks: [], source: 'x' }, 'both source and checks'],
    [{ source: 1 }, '/source must be a string'],
  ])('reports a definition %j that should not have been stored', async (definition, problem) => {
    expect(await engine.run(definition, subject)).toEqual({ error: expect.stringContaining(problem) });
  });

  it('ends checks that take too long, and scores others meanwhile', async () => {
    const slow = { checks: [{ type: 'regex', pattern: 'a[ab]{980}(?:c|d)$' }] };
    let seed = 1;
    const noise = (): string => 'ab'[((seed = (seed * 1103515245 + 12345) & 0x7fffffff) >> 16) & 1]!;
    const output = `${Array.from({ length: 600_000 }, noise).join('')}e`;
    const [ended, beside] = await Promise.all([
      engine.run(slow, { ...subject, output }),
      engine.run({ checks: [{ type: 'equals' }] }, subject),
    ]);
    expect(ended).toEqual({ error: 'the checks did not finish within 5000 ms' });
    expect(beside).toMatchObject({ score: 1 });
  });

  it('outlives the largest subject', async () => {
    const value: unknown = JSON.parse(`[${'{},'.repeat(2_790_000)}0]`);
    await engine.run({ checks: [{ type: 'contains', value: 'x' }] }, { ...subject, output: value });
    await engine.run({ checks: [{ type: 'max_steps', max: 1 }] }, { ...subject, trace: value });
    expect(await engine.run({ checks: [{ type: 'equals' }] }, subject)).toMatchObject({ score: 1 });
  });

  it('refuses a subject or a definition that could fill a thread', async () => {
    const script = { language: 'javascript', source: 'const score = () => 1' };
    const checks = { checks: [{ type: 'equals' }] };
    const large = { ...subject, output: 'x'.repeat(9_000_000) };
    const error = 'the subject has 9000035 characters as JSON; at most 8388608 are allowed';
    expect(await engine.run(script, large)).toEqual({ error });
    expect(await engine.run(checks, large)).toEqual({ error });
    const huge = { checks: [{ type: 'equals', value: 'x'.repeat(2_000_000) }] };
    expect(await engine.run(huge, subject)).toEqual({
      error: expect.stringContaining('at most 1048576 characters'),
    });
    expect(await engine.validate(huge)).toEqual([
      { pointer: '', detail: expect.stringContaining('at most 1048576') },
    ]);
  });

  it('reports a subject that is no JSON', async () => {
    expect(await engine.run({ checks: [{ type: 'equals' }] }, { ...subject, input: 1n })).toEqual({
      error: expect.stringContaining('cannot be written as JSON'),
    });
  });

  it('rejects with the reason when it is aborted', async () => {
    const loop = {
      language: 'javascript',
      source: 'function score() { while (true) {} }',
      timeout_ms: 10_000,
    };
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error('cancelled')), 100);
    await expect(engine.run(loop, subject, controller.signal)).rejects.toThrow('cancelled');
  });

  describe('validate', () => {
    it('accepts what can be run', async () => {
      expect(await engine.validate({ language: 'javascript', source: 'const score = () => 1' })).toEqual([]);
      expect(await engine.validate({ checks: [{ type: 'equals' }] })).toEqual([]);
    });

    it('looks into a source', async () => {
      expect(await engine.validate({ language: 'javascript', source: 'const score = () => 1;\n}' })).toEqual([
        { pointer: '/source', detail: expect.stringMatching(/SyntaxError.*line 2/) },
      ]);
      expect(await engine.validate({ language: 'javascript', source: 'while (true) {}' })).toEqual([
        { pointer: '/source', detail: expect.stringContaining('did not finish') },
      ]);
    });

    it('tells what is wrong with the rest', async () => {
      expect(await engine.validate({ checks: [{ type: 'regex', pattern: '(a)\\1' }] })).toEqual([
        { pointer: '/checks/0/pattern', detail: expect.stringContaining('backreferences are not supported') },
      ]);
    });
  });
});
