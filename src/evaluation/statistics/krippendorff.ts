import { ofCounts, ofTotals, type Resampled } from './resampled';

/**
 * Krippendorff's alpha (K. Krippendorff, "Computing Krippendorff's alpha-reliability", 2011; "Content Analysis", 2004,
 * chapter 11): 1 - observed / expected disagreement, over the values of units that any number of raters rated, some of
 * them perhaps not all. A unit with fewer than two values says nothing of agreement and is left out. 1 is complete
 * agreement, 0 what chance would give. NaN where all values are the same: there is no variation to agree on. Intervals
 * resample units (A. Zapf and others, "Measuring inter-rater reliability for nominal data", BMC Medical Research
 * Methodology 16:93, 2016).
 */
export function nominalAlphaOf(units: readonly (readonly (string | number)[])[]): Resampled {
  const groups = new Map<string, { values: readonly (string | number)[]; count: number }>();
  const categories = new Map<string | number, number>();
  for (const values of units) {
    if (values.length < 2) continue;
    for (const value of values) if (!categories.has(value)) categories.set(value, categories.size);
    const key = JSON.stringify(values.map((value) => categories.get(value)!));
    const group = groups.get(key);
    if (group) group.count++;
    else groups.set(key, { values, count: 1 });
  }
  const shapes = [...groups.values()].map(({ values }) => {
    const own = new Float64Array(categories.size);
    for (const value of values) own[categories.get(value)!]!++;
    const present = [...own.entries()].filter(([, count]) => count > 0);
    const alike = present.reduce((sum, [, count]) => sum + count * count, 0);
    return { present, disagreement: (values.length ** 2 - alike) / (values.length - 1) };
  });
  const totals = new Float64Array(categories.size);
  return ofCounts(
    Float64Array.from(groups.values(), ({ count }) => count),
    shapes.reduce((steps, { present }) => steps + present.length, categories.size),
    (counts) => {
      totals.fill(0);
      let observed = 0;
      for (let i = 0; i < shapes.length; i++) {
        const count = counts[i]!;
        if (count === 0) continue;
        observed += count * shapes[i]!.disagreement;
        for (const [category, times] of shapes[i]!.present) totals[category]! += count * times;
      }
      const values = totals.reduce((sum, total) => sum + total, 0);
      const alike = totals.reduce((sum, total) => sum + total * total, 0);
      const expected = values * values - alike;
      return expected === 0 ? NaN : 1 - ((values - 1) * observed) / expected;
    },
  );
}

/** As `nominalAlphaOf`, of numbers whose disagreement is the square of their distance (the interval metric). */
export function intervalAlphaOf(units: readonly (readonly number[])[]): Resampled {
  const pairable = units.filter((values) => values.length >= 2);
  const all = pairable.flat();
  // squares of distances are the same around any centre; around this one the sums lose no digits
  const centre = all.reduce((sum, value) => sum + value, 0) / Math.max(1, all.length);
  const column = (of: (values: number[]) => number): Float64Array =>
    Float64Array.from(pairable, (values) => of(values.map((value) => value - centre)));
  const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
  const squares = (values: number[]): number => sum(values.map((value) => value * value));
  const observed = (values: number[]): number =>
    // of two equal values, 0 and not what rounding leaves
    values.every((value) => value === values[0])
      ? 0
      : (2 * values.length * squares(values) - 2 * sum(values) ** 2) / (values.length - 1);
  return ofTotals(
    [column(observed), column((values) => values.length), column(sum), column(squares)],
    ([disagreement, count, total, square]) => {
      const expected = 2 * count! * square! - 2 * total! * total!;
      return expected <= ROUNDING * count! * square! ? NaN : 1 - ((count! - 1) * disagreement!) / expected;
    },
  );
}

/** A variation that is less than this, for the size of the values, is what rounding leaves. */
const ROUNDING = 1e-12;
