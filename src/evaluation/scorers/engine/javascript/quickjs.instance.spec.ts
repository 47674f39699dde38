import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { SUBJECT_MEMBERS } from '../../definitions/limits';
import { QuickJsInstance, type RawOutcome } from './quickjs.instance';

const BOMB = 'function score() { const a = []; while (true) a.push(new Array(1000).fill(1)) }';
const ONE = { text: '={"score":1}', isExhausted: false };

const wasm = new WebAssembly.Module(
  readFileSync(require.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')),
);

/** Scripts that leave a lot of data in the heap, the static data or the stack. */
const LITTERING = [
  'function score() { return 1 }',
  'let n = 0; function f() { n++; f() } function score() { try { f() } catch {} return n }',
  'function f() { [1, 2].sort(f) } function score() { f() }',
  'function f() { "a".replace(/a/, f) } function score() { f() }',
  `function score() { return ${'('.repeat(50_000)}1${')'.repeat(50_000)} }`,
  'const a = []; for (let i = 0; i < 2000; i++) a.push("left behind " + i); function score() { throw a }',
  'globalThis.kept = new ArrayBuffer(3e6); new Uint8Array(kept).fill(255); function score() { return 1 }',
  'function score() { while (true) {} }',
  'levenshtein = null; const f = () => Promise.resolve().then(f); f(); function score() { return 1 }',
  'syntax error',
];

/** Runs the body of an async function in a thread with the native stack that sandbox threads have. */
async function inThread(body: string): Promise<unknown> {
  const script = `
    const { parentPort, workerData: { file, wasm, sources } } = require('node:worker_threads');
    const { QuickJsInstance } = require(file);
    (async () => { ${body} })().then((value) => parentPort.postMessage(value));`;
  const workerData = { file: path.join(__dirname, 'quickjs.instance.js'), wasm, sources: LITTERING };
  const worker = new Worker(script, { eval: true, workerData, resourceLimits: { stackSizeMb: 16 } });
  try {
    return await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  } finally {
    await worker.terminate();
  }
}

/** The private memory of an instance. */
interface Inspectable {
  memory: { memory: WebAssembly.Memory };
}

describe('QuickJsInstance', () => {
  const wasm = new WebAssembly.Module(
    readFileSync(require.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')),
  );
  const members = SUBJECT_MEMBERS.map(() => 'null');

  function run(instance: QuickJsInstance, source: string, timeoutMs = 10_000): RawOutcome {
    return instance.run({ source, members, timeoutMs });
  }
  function bytesOf(instance: QuickJsInstance): Uint8Array {
    return new Uint8Array((instance as unknown as Inspectable).memory.memory.buffer);
  }

  it('restores its initial memory after each run', async () => {
    const results = await inThread(`
      const instance = await QuickJsInstance.create(wasm, 32);
      const bytes = () => Buffer.from(instance.memory.memory.buffer);
      const before = Buffer.from(bytes());
      return sources.map((source) => {
        instance.run({ source, members: Array(6).fill('null'), timeoutMs: 200 });
        const isSame = bytes().subarray(0, before.length).equals(before);
        return [instance.isSpent, isSame, bytes().subarray(before.length).some((byte) => byte !== 0)];
      });`);
    expect(results).toEqual(LITTERING.map(() => [false, true, false]));
  });

  it('allows calls 2,000 deep, and survives deeper nesting', async () => {
    const results = await inThread(`
      const instance = await QuickJsInstance.create(wasm, 32);
      const run = (source) => instance.run({ source, members: Array(6).fill('null'), timeoutMs: 10000 }).text;
      const depth = 'const f = (n) => n === 0 ? 0 : 1 + f(n - 1); function score() { return f(2000) }';
      const nested = 'function score() { return ' + '('.repeat(50000) + '1' + ')'.repeat(50000) + ' }';
      return [run(depth), run(nested), instance.isSpent];`);
    expect(results).toEqual(['={"score":2000}', expect.stringContaining('stack overflow'), false]);
  });

  it('stays within its memory limit, and is spent once it reaches the limit', async () => {
    for (const memoryMb of [2, 8, 64]) {
      const instance = await QuickJsInstance.create(wasm, memoryMb);
      const before = bytesOf(instance).length;
      expect(run(instance, BOMB)).toEqual({
        text: expect.stringContaining('out of memory'),
        isExhausted: true,
      });
      expect(bytesOf(instance).length - before).toBeLessThanOrEqual(memoryMb * 1024 * 1024);
      expect(instance.isSpent).toBe(true);
    }
  });

  it('is spent even if the script caught the memory error', async () => {
    const instance = await QuickJsInstance.create(wasm, 16);
    run(instance, BOMB.replace('const a', 'try { const a').replace(/}$/, '} catch { return 1 } }'));
    expect(instance.isSpent).toBe(true);
  });

  it('is spent if its memory grew a lot, but not if it grew a little', async () => {
    const instance = await QuickJsInstance.create(wasm, 64);
    run(instance, 'const a = new ArrayBuffer(3e6); function score() { return 1 }');
    expect(instance.isSpent).toBe(false);
    run(instance, 'const a = new ArrayBuffer(3e7); function score() { return 1 }');
    expect(instance.isSpent).toBe(true);
  });

  it('has the memory limit that it was created with', async () => {
    const need = 'const a = new ArrayBuffer(12e6); function score() { return 1 }';
    expect(run(await QuickJsInstance.create(wasm, 16), need)).toEqual(ONE);
    expect(run(await QuickJsInstance.create(wasm, 8), need)).toMatchObject({ isExhausted: true });
  });

  it('reports a subject that does not fit its memory', async () => {
    const instance = await QuickJsInstance.create(wasm, 4);
    const large = ['null', JSON.stringify('x'.repeat(9_000_000)), ...members.slice(2)];
    const source = 'function score({ output }) { return output.length }';
    expect(instance.run({ source, members: large, timeoutMs: 10_000 })).toEqual({
      text: expect.stringMatching(/^!"InternalError: out of memory/),
      isExhausted: true,
    });
  });

  it('only checks for a function score without a subject', async () => {
    const instance = await QuickJsInstance.create(wasm, 8);
    const check = (source: string): RawOutcome => instance.run({ source, timeoutMs: 10_000 });
    expect(check('function score() { throw 1 }')).toMatchObject({ text: 'true' });
    expect(check('class score {}')).toMatchObject({ text: 'true' });
    expect(check('let score')).toMatchObject({ text: 'false' });
  });
});
