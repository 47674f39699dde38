import { ofCounts, ofTotals, type Resampled } from './bootstrap';

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
  // squares of distances are the same around any centre; around this one the sums lose no digits
  const centre = meanOfAll(pairable);
  const [disagreements, counts, totals, squares] = [0, 1, 2, 3].map(() => new Float64Array(pairable.length));
  for (let unit = 0; unit < pairable.length; unit++) {
    const values = pairable[unit]!;
    let [total, square, isSame] = [0, 0, true];
    for (const value of values) {
      total += value - centre;
      square += (value - centre) ** 2;
      isSame &&= value === values[0];
    }
    // of equal values, 0 and not what rounding leaves
    disagreements![unit] = isSame ? 0 : (2 * values.length * square - 2 * total ** 2) / (values.length - 1);
    counts![unit] = values.length;
    totals![unit] = total;
    squares![unit] = square;
  }
  return ofTotals([disagreements!, counts!, totals!, squares!], ([disagreement, count, total, square]) => {
    const expected = 2 * count! * square! - 2 * total! * total!;
    return expected <= ROUNDING * count! * square! ? NaN : 1 - ((count! - 1) * disagreement!) / expected;
  });
}

function meanOfAll(units: readonly (readonly number[])[]): number {
  let [sum, count] = [0, 0];
  for (const values of units) {
    for (const value of values) sum += value;
    count += values.length;
  }
  return count === 0 ? 0 : sum / count;
}

/** A variation that is less than this, for the size of the values, is what rounding leaves. */
const ROUNDING = 1e-12;
