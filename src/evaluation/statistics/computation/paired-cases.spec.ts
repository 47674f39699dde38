import { caseDifferences, caseTotals, meanDifferences, pairCases, resultsOf, totalsOf } from './paired-cases';

type Scores = Record<string, number | null>;

/** The columns of one scorer, whose results are cases of their own. */
const columnsWith = (scores: number[], judges: number[]) => ({
  caseKeys: scores.map((_, i) => (scores.length === 1 ? 'case' : `case ${i}`)),
  scores: Float64Array.from(scores),
  nulls: new Uint8Array(scores.length),
  areExpected: new Uint8Array(scores.length).fill(1),
  trials: 1,
  judges: Int32Array.from(judges),
});

describe('caseDifferences', () => {
  it('leaves out and counts the cases that different judges scored on the two sides', () => {
    const candidate = columnsWith([1, 1, 1, 1, NaN], [1, 1, 0, 1, 1]);
    const baseline = columnsWith([0, 0, 0, 0, 0], [1, 2, 2, 0, 2]);
    const cases = pairCases(candidate.caseKeys, baseline.caseKeys);
    const { differences, judgeChanged } = caseDifferences(cases, candidate, baseline, 0);
    expect([...differences]).toEqual([1, NaN, 1, 1, NaN]);
    expect(judgeChanged).toBe(1);
  });

  it('leaves out a case whose trials were scored by several judges', () => {
    const candidate = { ...columnsWith([1, 0.5], [1, 2]), caseKeys: ['case', 'case'] };
    const baseline = columnsWith([0], [1]);
    const cases = pairCases(candidate.caseKeys, baseline.caseKeys);
    expect(caseDifferences(cases, candidate, baseline, 0)).toEqual({
      differences: Float64Array.of(NaN),
      judgeChanged: 1,
    });
  });
});

describe('totalsOf', () => {
  const totals = (caseKeys: string[], scores: number[], nulls: number[] = [], trials = 1) => {
    const columns = {
      ...columnsWith(
        scores,
        scores.map(() => 0),
      ),
      caseKeys,
      trials,
    };
    nulls.forEach((result) => (columns.nulls[result] = 1));
    return totalsOf(pairCases(caseKeys, []).candidate, columns, 0);
  };

  it('counts each case once, however many trials it has', () => {
    const keys = [...new Array<string>(9).fill('easy'), 'hard'];
    expect(totals(keys, [1, 1, 1, 1, 1, 1, 1, 1, 1, 0])).toEqual({
      mean: 0.5,
      count: 2,
      scoredCount: 2,
      nullCount: 0,
    });
  });

  it('returns the exact mean of trials, also of the largest doubles', () => {
    expect(totals(['a', 'a'], [0.1, 0.2]).mean).toBe(0.15);
    expect(totals(['a', 'a'], [1.7e308, 1.7e308]).mean).toBe(1.7e308);
  });

  it('does not count a case as covered if one of its trials has no score', () => {
    expect(totals(['a', 'a', 'b'], [1, NaN, 1])).toEqual({ mean: 1, count: 2, scoredCount: 1, nullCount: 0 });
    expect(totals(['a', 'a', 'b'], [1, NaN, NaN], [1, 2])).toMatchObject({ scoredCount: 1, nullCount: 1 });
    expect(totals(['a', 'a', 'b'], [1, NaN, NaN], [1, 2], 2)).toMatchObject({ scoredCount: 1, nullCount: 0 });
  });
});

describe('pairCases', () => {
  it('counts a case that has changed as no pair', () => {
    const cases = pairCases(['a', 'b', 'c'], ['b', 'c', 'd'], ['c']);
    expect(caseTotals(cases)).toEqual({ paired: 1, changed: 1, onlyInCandidate: 1, onlyInBaseline: 1 });
    expect([...cases.isChanged]).toEqual([0, 0, 1, 0]);
  });

  it('sorts the cases by key, and groups the results of both sides', () => {
    const { keys, candidate, baseline } = pairCases(['b', 'a', 'b'], ['c', 'b']);
    expect(keys).toEqual(['a', 'b', 'c']);
    expect(keys.map((_, i) => [...resultsOf(candidate, i)])).toEqual([[1], [0, 2], []]);
    expect(keys.map((_, i) => [...resultsOf(baseline, i)])).toEqual([[], [1], [0]]);
  });
});

describe('meanDifferences', () => {
  const meanOf = (candidate: Scores, baseline: Scores): number => {
    const cases = pairCases(['case'], ['case']);
    const columnsOf = (scores: Scores, name: string) => columnsWith([scores[name] ?? NaN], [0]);
    const columns = ['a', 'b', 'c'].map(
      (name) => caseDifferences(cases, columnsOf(candidate, name), columnsOf(baseline, name), 0).differences,
    );
    return meanDifferences(columns, 1)[0]!;
  };

  it('returns 0 if the mean differs from 0 only by rounding, at any scale', () => {
    expect(0.1 + 0.2 - 0.3).not.toBe(0);
    for (const scale of [1, 1e-15, 1e200]) {
      const candidate = { a: 0.1 * scale, b: 0.2 * scale, c: 0 };
      expect(meanOf(candidate, { a: 0, b: 0, c: 0.3 * scale })).toBe(0);
    }
  });

  it('keeps small differences', () => {
    expect(meanOf({ a: 1e-14, b: 2e-14 }, { a: 0, b: 0 })).toBeCloseTo(1.5e-14, 26);
    expect(meanOf({ a: 1e-300 }, { a: 0 })).toBe(1e-300);
  });

  it('returns NaN if no scorer has a difference, or the mean overflows', () => {
    expect(meanOf({ a: 1 }, { b: 1 })).toBeNaN();
    expect(meanOf({ a: 1e308, b: 1e308 }, { a: 0, b: 0 })).toBeNaN();
    expect(meanOf({ a: 1.5e308, b: -1.5e308 }, { a: 0, b: 0 })).toBe(0);
  });
});
