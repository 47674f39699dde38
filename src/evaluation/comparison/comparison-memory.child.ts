/**
 * Keeps a comparison in a process of its own, in which nothing else holds or frees buffers, and writes how many bytes
 * that takes: `held` by buffers, `accounted` for by the cache.
 */
import { setImmediate as settle } from 'node:timers/promises';
import type { Scope } from '#platform/auth';
import { Pace } from '#platform/turns';
import { ComparisonCache } from './comparison-cache';
import { preparedOf } from './comparison.fixture';

async function main(cases: number, scorerCount: number): Promise<void> {
  const scorers = Array.from({ length: scorerCount }, (_, i) => `scorer ${i}`);
  const scores = (side: number) =>
    Array.from({ length: cases }, (_, i) =>
      Object.fromEntries(scorers.map((scorer, j) => [scorer, ((i + 1) * (j + 7) * (side + 3)) % 11])),
    );
  const cache = new ComparisonCache();
  const before = await buffers();
  const { signal } = new AbortController();
  const one = await cache.of({ workspaceId: 'wsp_1' } as Scope, ['a', 'b'], true, signal, async () => {
    const whole = await preparedOf(scores(0), scores(1), scorers);
    await whole.compare(new Pace());
    return whole;
  });
  for (const scorer of [undefined, ...scorers]) one.order(scorer);
  const held = (await buffers()) - before;
  process.stdout.write(JSON.stringify({ held, accounted: cache.size }));
}

async function buffers(): Promise<number> {
  // what is free after one collection is given back by the next
  for (let i = 0; i < 3; i++) {
    globalThis.gc!();
    await settle();
  }
  return process.memoryUsage().arrayBuffers;
}

void main(Number(process.argv[2]), Number(process.argv[3]));
