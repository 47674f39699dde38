import { checkRequestValues, isCostly, ParsingTurns } from './parsing-turns';

const KIB = 1024;
const { signal } = new AbortController();

describe('ParsingTurns', () => {
  it('runs small work at once, and large work in turns between organizations', async () => {
    const turns = new ParsingTurns();
    const order: string[] = [];
    const run = async (org: string, bytes: number) => turns.run(org, signal, bytes, () => order.push(org));
    expect(await run('a', KIB)).toBe(1);
    const waiting = ['a', 'a', 'a', 'b', 'b'].map((org) => run(org, 64 * KIB));
    expect(await run('c', KIB)).toBeLessThan(4);
    await Promise.all(waiting);
    expect(order.filter((org) => org !== 'c')).toEqual(['a', 'a', 'a', 'b', 'a', 'b']);
  });

  it('lets the event loop run between turns', async () => {
    const turns = new ParsingTurns();
    let iterations = 0;
    const count = (): void => {
      iterations++;
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const busy = (): void => {
      for (const until = performance.now() + 5; performance.now() < until;);
    };
    await Promise.all(Array.from({ length: 20 }, async () => turns.run('a', signal, 64 * KIB, busy)));
    clearImmediate(timer);
    expect(iterations).toBeGreaterThan(15);
  });

  it('passes errors on, and stops waiting when its signal is aborted', async () => {
    const turns = new ParsingTurns();
    const fail = (): never => {
      throw new Error('failed');
    };
    expect(() => turns.run('a', signal, KIB, fail)).toThrow('failed');
    const aborted = new AbortController();
    const failed = turns.run('a', signal, 64 * KIB, fail);
    const waiting = turns.run('a', aborted.signal, 64 * KIB, () => 'done');
    const settled = Promise.allSettled([failed, waiting]);
    aborted.abort(new Error('left'));
    expect(await settled).toMatchObject([{ reason: { message: 'failed' } }, { reason: { message: 'left' } }]);
    await expect(turns.run('a', signal, 64 * KIB, () => 'done')).resolves.toBe('done');
  });
});

it.each([
  ['many values', `[${'{},'.repeat(20_000)}{}]`, true],
  ['embeddings of 100 texts', `[${`[${'-0.1,'.repeat(1_535)}1e-7],`.repeat(100)}[]]`, false],
  ['the tokens of many texts', `[${'1234,'.repeat(190_000)}1]`, false],
  ['too many tokens', `[${'1234,'.repeat(210_000)}1]`, true],
  ['deep lists', '['.repeat(9_000) + ']'.repeat(9_000), true],
  ['deep objects', `${'{"a":'.repeat(65)}"${'x'.repeat(20_000)}"${'}'.repeat(65)}`, true],
  ['64 levels', `${'{"a":'.repeat(64)}"${'[{'.repeat(20_000)}"${'}'.repeat(64)}`, false],
  ['little text', '['.repeat(1_000), false],
])('finds whether an answer with %s is slow to parse', (_, text, costly) => {
  expect(isCostly(Buffer.from(text))).toBe(costly);
});

it.each([
  ['50,000 values', `{"x":[${'{},'.repeat(49_998)}{}]}`, undefined],
  ['more values', `{"x":[${'{},'.repeat(50_000)}{}]}`, 413],
  ['400,000 tokens', `{"input":[${'1234,'.repeat(400_000)}1]}`, undefined],
  ['any nesting', '['.repeat(20_000) + ']'.repeat(20_000), undefined],
])('admits or refuses a request with %s', (_, text, status) => {
  let refused: unknown;
  try {
    checkRequestValues(Buffer.from(text));
  } catch (error) {
    refused = error;
  }
  expect(refused).toEqual(status === undefined ? undefined : expect.objectContaining({ status }));
});
