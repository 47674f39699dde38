import { compareExperiments, measureForGate, pairedDifference, verdictOf } from './paired-statistics';

describe('verdictOf', () => {
  const conclusion = { difference: 0.1, interval: { lower: 0.01, upper: 0.2 }, pValue: 0.049 };

  it('requires both the test and the interval', () => {
    expect(verdictOf(conclusion)).toBe('improved');
    expect(verdictOf({ ...conclusion, pValue: 0.05 })).toBe('inconclusive');
    expect(verdictOf({ ...conclusion, interval: { lower: 0, upper: 0.2 } })).toBe('inconclusive');
    expect(verdictOf({ ...conclusion, interval: null })).toBe('inconclusive');
    const worse = { difference: -0.1, interval: { lower: -0.2, upper: -0.01 }, pValue: 0.049 };
    expect(verdictOf(worse)).toBe('regressed');
    expect(verdictOf({ ...worse, interval: { lower: -0.2, upper: 0 } })).toBe('inconclusive');
  });
});

describe('pairedDifference', () => {
  /** A few differences are so large that the test draws permutations instead of approximating. */
  const differences = Float64Array.from(
    { length: 5_000 },
    (_, i) => ((i * 7_919) % 5_003) / 5_003 + (i % 1_000 === 0 ? 1_000 : 0) - ((i * 104_729) % 5_009) / 5_009,
  );

  it('returns the same interval for any number of scorers, and coarser p-values for many', () => {
    const among = (scorers: number) =>
      pairedDifference(differences, new Uint8Array(differences.length), ['a', 'b'], 's', scorers);
    const [alone, many] = [among(1), among(100)];
    expect(many.interval).toEqual(alone.interval);
    expect(many.pValue! * 1_000).toBeCloseTo(Math.round(many.pValue! * 1_000), 9);
    expect(many.pValue).not.toBe(alone.pValue);
    expect(Math.abs(many.pValue! - alone.pValue!)).toBeLessThan(0.06);
  });

  it('agrees with the measures of a gate', () => {
    const caseKeys = Array.from({ length: 40 }, (_, i) => `case ${i}`);
    const scores = (step: number) =>
      Float64Array.from({ length: 80 }, (_, i) => ((i * step) % 11) / 11 + Math.floor(i / 40));
    const columns = {
      caseKeys,
      nulls: new Uint8Array(80),
      judges: new Int32Array(80),
      areExpected: new Uint8Array(40).fill(1),
      trials: 1,
    };
    const [candidate, baseline] = [
      { ...columns, scores: scores(3) },
      { ...columns, scores: scores(5) },
    ];
    const pair = ['exp_a', 'exp_b'] as const;
    const input = {
      pair,
      scorers: ['s', 't'],
      isComparable: [true, true],
      candidate,
      baseline,
      changed: [],
      minComparable: 0.9,
      withStatistics: true,
    };
    const { statistics } = compareExperiments(input);
    const needs = { meanInterval: true, difference: true, differenceInterval: true, passes: [] };
    const { scorers: measures } = measureForGate({
      candidateId: 'exp_a',
      candidate,
      baseline: { experimentId: 'exp_b', scores: baseline },
      changed: [],
      run: null,
      hasErrors: new Uint8Array(40),
      expectedCases: null,
      needed: ['s', 't'].map((scorer) => ({ scorer, ...needs })),
    });
    for (const [i, { difference, differenceInterval, sharedCases }] of measures.entries()) {
      const { difference: expected, interval, cases } = statistics![i]!;
      expect([difference, differenceInterval, sharedCases]).toEqual([expected, interval, cases]);
    }
    expect(measures[0]!.meanInterval!.upper).toBeLessThan(measures[1]!.meanInterval!.lower);
    expect(compareExperiments({ ...input, withStatistics: false }).statistics).toBeNull();
  });
});
