import fc from 'fast-check';
import { decreased, exchanged, type SharedLimit } from './limit-rules';

const NOW = 1_000_000_000;
const limitOf = (of: Partial<SharedLimit> = {}): SharedLimit => ({
  ...{ maxInFlight: 4, blockedUntil: 0, decreasedAt: NOW, limitedAt: NOW, holders: {}, ...of },
});
const asking = { holder: 'a', held: 0, wanted: 100, answered: 0 };
const limited = { holder: 'a', held: 0, elapsedMs: 0, retryAfterMs: 0 };

describe('the limit of a judge that processes share', () => {
  it('is never gone beyond, in whatever order they ask, begin, end, are refused and die', () => {
    const steps = fc.array(
      fc.record({
        who: fc.constantFrom('a', 'b', '__proto__', 'constructor'),
        does: fc.constantFrom('ask', 'ask', 'ask', 'answered', 'limited', 'dies'),
        wanted: fc.nat(20),
        later: fc.nat(5_000),
      }),
      { maxLength: 150 },
    );
    fc.assert(
      fc.property(steps, (all) => {
        let now = NOW;
        const held = new Map<string, number>();
        const saidAt = new Map<string, number>();
        let limit: SharedLimit | null = decreased(null, { ...limited, holder: 'b', held: 15 }, now);
        held.set('b', 15);
        saidAt.set('b', now);
        for (const { who, does, wanted, later } of all) {
          now += later;
          // who lives says so every few seconds
          for (const [holder, at] of saidAt) if (now - at > 14_000) held.set(holder, 0);
          const mine = held.get(who) ?? 0;
          if (does === 'dies') continue;
          saidAt.set(who, now);
          if (does === 'limited' && mine > 0) {
            held.set(who, mine - 1);
            const before: number = limit.maxInFlight;
            limit = decreased(limit, { ...limited, holder: who, held: mine - 1, elapsedMs: 100 }, now);
            expect(limit.maxInFlight).toBeLessThanOrEqual(before);
            expect(limit.maxInFlight).toBeGreaterThanOrEqual(1);
            continue;
          }
          const answered = does === 'answered' ? mine : 0;
          held.set(who, mine - answered);
          const next = exchanged(limit, { holder: who, held: mine - answered, wanted, answered }, now);
          if (!next.limit) return;
          limit = next.limit;
          held.set(who, mine - answered + next.granted);
          expect(next.granted).toBeLessThanOrEqual(wanted);
          const underWay = [...held.values()].reduce((sum, one) => sum + one, 0);
          if (next.granted > 0) expect(underWay).toBeLessThanOrEqual(limit.maxInFlight);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('gives all there is to who asks alone, and what others hold to nobody', () => {
    expect(exchanged(limitOf({ maxInFlight: 4.9 }), asking, NOW).granted).toBe(4);
    const holders = { b: { held: 3, saidAt: NOW }, a: { held: 9, saidAt: NOW } };
    expect(exchanged(limitOf({ holders }), asking, NOW).granted).toBe(1);
    expect(exchanged(limitOf({ holders }), { ...asking, held: 2 }, NOW).granted).toBe(0);
  });

  it('forgets what a process held that has said nothing for 15 s, and not before', () => {
    const holders = { b: { held: 4, saidAt: NOW } };
    expect(exchanged(limitOf({ holders }), asking, NOW + 14_999).granted).toBe(0);
    const after = exchanged(limitOf({ holders }), asking, NOW + 15_000);
    expect([after.granted, Object.keys(after.limit!.holders)]).toEqual([4, ['a']]);
  });

  it('keeps no word of processes that hold nothing', () => {
    const holders = Object.fromEntries(Array.from({ length: 500 }, (_, id) => [`${id}`, { held: 0, saidAt: NOW }])); // prettier-ignore
    expect(Object.keys(exchanged(limitOf({ holders }), asking, NOW).limit!.holders)).toEqual(['a']);
  });

  it('grows by one with each round of answers', () => {
    let limit = limitOf();
    for (let round = 0; round < 4; round++) limit = exchanged(limit, { ...asking, answered: 1 }, NOW).limit!;
    expect(limit.maxInFlight).toBeGreaterThan(4.9);
    expect(limit.maxInFlight).toBeLessThanOrEqual(5);
  });

  it('is lifted where the judge has not made it felt for ten minutes', () => {
    expect(exchanged(limitOf(), asking, NOW + 600_000).limit).not.toBeNull();
    expect(exchanged(limitOf(), asking, NOW + 600_001)).toEqual({ limit: null, granted: 100 });
  });

  it('is at first half of what was under way, over all processes', () => {
    expect(decreased(null, { ...limited, held: 7 }, NOW).maxInFlight).toBe(4);
    const holders = { b: { held: 4, saidAt: NOW }, gone: { held: 50, saidAt: NOW - 60_000 } };
    expect(decreased(limitOf({ maxInFlight: 100, decreasedAt: 0, holders }), { ...limited, held: 3 }, NOW)).toMatchObject(
      { maxInFlight: 4, holders: { a: { held: 3, saidAt: NOW }, b: { held: 4 } } },
    ); // prettier-ignore
  });

  it('is halved once for one congestion, however many requests meet it, and never below one', () => {
    let limit = limitOf({
      maxInFlight: 16,
      decreasedAt: NOW - 1_000,
      holders: { b: { held: 99, saidAt: NOW } },
    });
    for (const elapsedMs of [500, 300, 700]) limit = decreased(limit, { ...limited, elapsedMs }, NOW);
    expect(limit.maxInFlight).toBe(8);
    for (let later = 1; later <= 9; later++) limit = decreased(limit, limited, NOW + later);
    expect(limit.maxInFlight).toBe(1);
  });

  it('lets nobody ask until the judge wants to be asked, at most five minutes, and the longest wait counts', () => {
    const first = decreased(null, { ...limited, retryAfterMs: 5_000 }, NOW);
    const both = decreased(first, { ...limited, retryAfterMs: 1_000 }, NOW + 1);
    expect([both.blockedUntil, exchanged(both, asking, NOW + 4_999).granted]).toEqual([NOW + 5_000, 0]);
    expect(exchanged(both, asking, NOW + 5_000).granted).toBe(1);
    for (const retryAfterMs of [1e12, Infinity]) {
      expect(decreased(null, { ...limited, retryAfterMs }, NOW).blockedUntil).toBe(NOW + 300_000);
    }
  });
});
