import { TestEngine } from './code-engine.fixture';

const LOOP = 'function score() { while (true) {} }';
/** A native call, which stops only when its thread is terminated. */
const JOIN = 'const score = () => Array(2 ** 32 - 1).join("").length';
const returning = (value: number): string => `const score = () => ${value}`;

const subject = { input: 'q', output: '{"answer": 42}', expected: '{"answer": 42}' };

/** The private threads of an engine. */
interface Inspectable {
  pool: { idle: { isDead: boolean }[] };
}
const threadsOf = (engine: TestEngine): unknown[] => [...(engine as unknown as Inspectable).pool.idle];

describe('CodeEngine', () => {
  let engine: TestEngine;
  beforeAll(() => (engine = new TestEngine(2)));
  afterAll(() => engine.close());

  it('runs scripts and checks', async () => {
    const script = {
      language: 'javascript',
      source: 'const score = ({output}) => JSON.parse(output).answer',
    };
    expect(await engine.score(script, subject)).toEqual({ score: 42 });
    const checks = { checks: [{ type: 'equals' }, { type: 'contains', value: '42' }] };
    expect(await engine.score(checks, subject)).toEqual({
      score: 1,
      reasoning: 'All 2 checks passed.',
      answers: { equals: true, contains: true },
    });
  });

  it('enforces the limits of the script', async () => {
    expect(await engine.script(LOOP, {}, { timeoutMs: 50 })).toEqual({
      error: expect.stringContaining('within 50 ms (timeout_ms)'),
    });
    const need = 'const a = new ArrayBuffer(12e6); const score = () => 1';
    expect(await engine.script(need, {}, { memoryMb: 16 })).toEqual({ score: 1 });
    expect(await engine.script(need, {}, { memoryMb: 8 })).toEqual({
      error: expect.stringContaining('more than 8 MB of memory (memory_mb)'),
    });
  });

  it.each([
    [{}, 'needs source'],
    [null, 'must be an object'],
    [{ checks: [{ type: 'regex', pattern: '(?=a)' }] }, '/checks/0/pattern cannot be used'],
    [{ checks: [], source: 'x' }, 'both source and checks'],
    [{ source: 1 }, '/source must be a string'],
  ])('reports an invalid stored definition %j', async (definition, problem) => {
    expect(await engine.score(definition, subject)).toEqual({ error: expect.stringContaining(problem) });
  });

  it('refuses a subject or a definition above the size limits', async () => {
    const checks = { checks: [{ type: 'equals' }] };
    const large = { ...subject, output: 'x'.repeat(9_000_000) };
    const error = 'the subject has 9000035 characters as JSON; at most 8388608 are allowed';
    expect(await engine.script(returning(1), large)).toEqual({ error });
    expect(await engine.score(checks, large)).toEqual({ error });
    const huge = { checks: [{ type: 'equals', value: 'x'.repeat(2_000_000) }] };
    expect(await engine.score(huge, subject)).toEqual({
      error: expect.stringContaining('at most 1048576 characters'),
    });
    expect(await engine.faults(huge)).toEqual([expect.stringContaining('at most 1048576')]);
  });

  it('reports a subject that is not JSON', async () => {
    expect(await engine.score({ checks: [{ type: 'equals' }] }, { ...subject, input: 1n })).toEqual({
      error: expect.stringContaining('cannot be written as JSON'),
    });
  });

  it('validates checks', async () => {
    expect(await engine.faults({ checks: [{ type: 'equals' }] })).toEqual([]);
    expect(await engine.faults({ checks: [{ type: 'regex', pattern: '(a)\\1' }] })).toEqual([
      expect.stringMatching(/^\/checks\/0\/pattern .*backreferences are not supported/),
    ]);
  });
});

describe('the threads of a CodeEngine', () => {
  const engines: TestEngine[] = [];
  function open(threads: number): TestEngine {
    const engine = new TestEngine(threads);
    engines.push(engine);
    return engine;
  }
  afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())));

  it('share one compiled interpreter, and give each run its own result', async () => {
    const compile = jest.spyOn(WebAssembly, 'compile');
    const engine = open(2);
    const outcomes = await Promise.all(Array.from({ length: 200 }, (_, i) => engine.script(returning(i))));
    expect(outcomes).toEqual(Array.from({ length: 200 }, (_, i) => ({ score: i })));
    expect(threadsOf(engine)).toHaveLength(2);
    expect(compile).toHaveBeenCalledTimes(1);
  });

  it('alternate between owners', async () => {
    const engine = open(1);
    const order: string[] = [];
    const run = async (owner: string, source: string): Promise<void> => {
      await engine.script(source, {}, { owner, timeoutMs: 200 });
      order.push(owner);
    };
    const many = Array.from({ length: 6 }, () => run('many', LOOP));
    await Promise.all([...many, run('one', returning(1))]);
    expect(order.indexOf('one')).toBeLessThan(3);
  });

  it('exclude time in the queue from the time limit', async () => {
    const engine = open(1);
    const [first, second] = await Promise.all([
      engine.script(LOOP, {}, { timeoutMs: 700 }),
      engine.script(returning(1), {}, { timeoutMs: 500 }),
    ]);
    expect(first).toEqual({ error: expect.stringContaining('within 700 ms') });
    expect(second).toEqual({ score: 1 });
  });

  it('are replaced only if the interpreter cannot stop the script', async () => {
    const engine = open(1);
    await engine.script(returning(1));
    const threads = threadsOf(engine);
    for (const source of [LOOP, 'const score = () => /^(a+)+$/.test("a".repeat(40) + "b")']) {
      const error = expect.stringContaining('did not finish within 50 ms') as string;
      expect(await engine.script(source, {}, { timeoutMs: 50 })).toEqual({ error });
    }
    expect(threadsOf(engine)[0]).toBe(threads[0]);
    const error = 'the scorer did not finish within 50 ms (timeout_ms)';
    expect(await engine.script(JOIN, {}, { timeoutMs: 50 })).toEqual({ error });
    expect(await engine.script(returning(1))).toEqual({ score: 1 });
    expect(threadsOf(engine)[0]).not.toBe(threads[0]);
  });

  it('end aborted runs with the reason, queued or running, and continue with others', async () => {
    const engine = open(1);
    const controller = new AbortController();
    const { signal } = controller;
    const running = engine.script(LOOP, {}, { signal });
    const waiting = engine.script(returning(1), {}, { signal });
    const other = engine.script(returning(2), {}, { owner: 'c' });
    setTimeout(() => controller.abort(new Error('cancelled')), 300);
    const rejected = { status: 'rejected', reason: new Error('cancelled') };
    expect(await Promise.allSettled([running, waiting])).toEqual([rejected, rejected]);
    expect(await other).toEqual({ score: 2 });
    await expect(engine.script(returning(1), {}, { signal })).rejects.toThrow('cancelled');
  });

  it('fail all running and queued runs when the engine is closed', async () => {
    const engine = open(1);
    const running = engine.script(LOOP);
    const waiting = engine.script(returning(1));
    setTimeout(() => void engine.close(), 300);
    const rejected = { status: 'rejected', reason: expect.any(Error) };
    expect(await Promise.allSettled([running, waiting])).toEqual([rejected, rejected]);
    await expect(engine.script(returning(1))).rejects.toThrow('closed');
  });
});
