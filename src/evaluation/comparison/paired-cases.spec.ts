import { Pace } from '#platform/turns';
import { scoredOf } from './comparison.fixture';
import { PairedCases } from './paired-cases';

type Scores = Record<string, number | null>;

describe('the mean of the differences of a case', () => {
  const SCORERS = ['a', 'b', 'c'];
  const meanOf = async (candidate: Scores, baseline: Scores): Promise<number> => {
    const sides = [await scoredOf('0', [candidate], SCORERS), await scoredOf('1', [baseline], SCORERS)] as const;
    const cases = await PairedCases.of(...sides, SCORERS, new Pace());
    return (await cases.meanDifferences(new Pace()))[0]!;
  }; // prettier-ignore

  it('is 0 where rounding alone keeps it from being so, whatever the scale', async () => {
    expect(0.1 + 0.2 - 0.3).not.toBe(0);
    for (const scale of [1, 1e-15, 1e200]) {
      const candidate = { a: 0.1 * scale, b: 0.2 * scale, c: 0 };
      expect(await meanOf(candidate, { a: 0, b: 0, c: 0.3 * scale })).toBe(0);
    }
  });

  it('is not 0 where the differences themselves are small', async () => {
    expect(await meanOf({ a: 1e-14, b: 2e-14 }, { a: 0, b: 0 })).toBeCloseTo(1.5e-14, 26);
    expect(await meanOf({ a: 1e-300 }, { a: 0 })).toBe(1e-300);
  });

  it('is none where no scorer has one, or it is no number', async () => {
    expect(await meanOf({ a: 1 }, { b: 1 })).toBeNaN();
    expect(await meanOf({ a: 1e308, b: 1e308 }, { a: 0, b: 0 })).toBeNaN();
    expect(await meanOf({ a: 1.5e308, b: -1.5e308 }, { a: 0, b: 0 })).toBe(0);
  });
});
