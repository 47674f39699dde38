import { allAmong, measureTrials } from './pass-rates';

/** Returns all choices of k of the values. */
function choices<Value>(values: readonly Value[], k: number): Value[][] {
  if (k === 0) return [[]];
  return values.flatMap((value, i) => choices(values.slice(i + 1), k - 1).map((rest) => [value, ...rest]));
}

describe('allAmong', () => {
  it('equals the enumeration of all draws of k of n trials, and so do pass@k and pass^k', () => {
    for (let n = 1; n <= 7; n++) {
      for (let c = 0; c <= n; c++) {
        const trials = Array.from({ length: n }, (_, i) => i < c);
        for (let k = 1; k <= n; k++) {
          const draws = choices(trials, k);
          const share = (counts: (draw: boolean[]) => boolean) => draws.filter(counts).length / draws.length;
          expect(1 - allAmong(n - c, n, k)).toBeCloseTo(
            share((draw) => draw.some((one) => one)),
            14,
          );
          expect(allAmong(c, n, k)).toBeCloseTo(
            share((draw) => draw.every((one) => one)),
            14,
          );
        }
      }
    }
  });

  it('has no overflow for many trials', () => {
    expect(allAmong(9_999, 10_000, 100)).toBeCloseTo(0.99, 12);
    expect(allAmong(99, 10_000, 100)).toBe(0);
  });
});

describe('measureTrials', () => {
  const NONE = NaN;
  /** Each case with its scores; null for an error. */
  const measure = (cases: Record<string, (number | null)[]>, k: number, threshold = 1, expectedCases = 0) => {
    const results = Object.entries(cases).flatMap(([key, scores]) => scores.map((score) => ({ key, score })));
    return measureTrials({
      experimentId: 'exp_a',
      scorer: 's',
      rule: { k, threshold },
      expectedCases,
      hasErrors: Uint8Array.from(results, ({ score }) => (score === null ? 1 : 0)),
      scores: {
        caseKeys: results.map(({ key }) => key),
        scores: Float64Array.from(results, ({ score }) => score ?? 1),
        nulls: new Uint8Array(results.length),
        judges: new Int32Array(results.length),
        areExpected: new Uint8Array(results.length).fill(1),
        trials: k,
      },
    });
  };

  it('counts errors as not passed, and results without a judgement not at all', () => {
    const { keys, judged, passed } = measure({ b: [1, null, NONE], a: [0.5, 1, 2] }, 1);
    expect([keys, [...judged], [...passed]]).toEqual([
      ['a', 'b'],
      [3, 2],
      [2, 1],
    ]);
    expect([...measure({ a: [0.5, 0.4] }, 1, 0.5).passed]).toEqual([1]);
  });

  it('leaves out and counts cases with fewer trials, and expected cases without any', () => {
    const { rates } = measure({ a: [1, 0], b: [1, 1], c: [1, NONE], d: [] }, 2, 1, 6);
    expect(rates).toMatchObject({
      passAtK: { value: 1 },
      passHatK: { value: 0.5 },
      caseCount: 2,
      leftOutCount: 4,
    });
    expect(rates.passHatK.interval).toEqual({ lower: 0, upper: 1 });
    expect(measure({ a: [1] }, 2).rates).toMatchObject({
      passAtK: { value: null, interval: null },
      caseCount: 0,
      leftOutCount: 1,
    });
  });
});
