import { SUBJECT_MEMBERS } from '../../definitions/limits';
import { SandboxWorker, type ThreadTask } from './sandbox.worker';

describe('SandboxWorker', () => {
  let worker: SandboxWorker;
  beforeEach(() => (worker = new SandboxWorker(undefined)));
  afterEach(() => worker.end());

  const script = (source: string, timeoutMs = 10_000): ThreadTask => ({
    kind: 'script',
    source,
    timeoutMs,
    memoryMb: 32,
    members: SUBJECT_MEMBERS.map(() => 'null'),
  });
  const one = script('function score() { return 1 }');

  it('is kept where the interpreter itself can stop a script', async () => {
    for (const source of [
      'while (true) {}',
      'function score() { return /^(a+)+$/.test("a".repeat(40) + "b") }',
    ]) {
      expect(await worker.run(script(source, 50), 30_000, undefined)).toEqual({
        answer: { error: expect.stringContaining('did not finish within 50 ms') },
      });
    }
    expect(worker.isDead).toBe(false);
    expect(await worker.run(one, 30_000, undefined)).toEqual({ answer: { score: 1 } });
  });

  it('is ended where nothing else stops a script', async () => {
    const join = script('function score() { return Array(2 ** 32 - 1).join("").length }', 10);
    expect(await worker.run(join, 300, undefined)).toEqual({ ended: 'deadline' });
    expect(worker.isDead).toBe(true);
  });

  it('is ended when the run is aborted', async () => {
    await worker.run(one, 30_000, undefined);
    const controller = new AbortController();
    const run = worker.run(script('while (true) {}'), 30_000, controller.signal);
    setTimeout(() => controller.abort(), 50);
    expect(await run).toEqual({ ended: 'aborted' });
    expect(worker.isDead).toBe(true);
  });

  it('takes an answer that waited while this process was held up for an answer in time', async () => {
    await worker.run(one, 30_000, undefined);
    const run = worker.run(one, 400, undefined);
    await new Promise((resolve) => setImmediate(resolve));
    const until = performance.now() + 900;
    while (performance.now() < until);
    expect(await run).toEqual({ answer: { score: 1 } });
  });

  it('gives the compiled interpreter on to the next', async () => {
    await worker.run(one, 30_000, undefined);
    expect(worker.wasm).toBeDefined();
    const next = new SandboxWorker(worker.wasm);
    expect(await next.run(one, 30_000, undefined)).toEqual({ answer: { score: 1 } });
    await next.end();
  });
});
