import { ofCounts, ofTotals, type Resampled } from './resampled';
import { sumOf } from './sum';

/**
 * Krippendorff's alpha (K. Krippendorff, "Computing Krippendorff's alpha-reliability", 2011; "Content Analysis", 2004,
 * chapter 11): 1 - observed / expected disagreement, over the values of units that any number of raters rated, some of
 * them perhaps not all. A unit with fewer than two values says nothing of agreement and is left out. 1 is complete
 * agreement, 0 what chance would give. NaN where all values are the same: there is no variation to agree on. Intervals
 * resample units (A. Zapf and others, "Measuring inter-rater reliability for nominal data", BMC Medical Research
 * Methodology 16:93, 2016).
 */
export function nominalAlphaOf(units: readonly (readonly (string | number)[])[]): Resampled {
  const { categories, shapes, counts: sizes } = shapesOf(units);
  // by shape, which categories occur in it, and how often
  const starts = new Int32Array(shapes.length + 1);
  const present: number[] = [];
  const times: number[] = [];
  const disagreements = new Float64Array(shapes.length);
  for (const [shape, values] of shapes.entries()) {
    let alike = 0;
    for (let first = 0, next = 1; first < values.length; first = next++) {
      while (next < values.length && values[next] === values[first]) next++;
      present.push(values[first]!);
      times.push(next - first);
      alike += (next - first) ** 2;
    }
    starts[shape + 1] = present.length;
    disagreements[shape] = (values.length ** 2 - alike) / (values.length - 1);
  }
  /** Adds a number of units of a shape to how often each category occurs. */
  const add = (shape: number, count: number, totals: Float64Array): void => {
    for (let i = starts[shape]!; i < starts[shape + 1]!; i++) totals[present[i]!]! += count * times[i]!;
  };
  const alpha = (observed: number, totals: Float64Array): number => {
    let values = 0;
    let alike = 0;
    for (let i = 0; i < totals.length; i++) {
      values += totals[i]!;
      alike += totals[i]! * totals[i]!;
    }
    const expected = values * values - alike;
    return expected === 0 ? NaN : 1 - ((values - 1) * observed) / expected;
  };
  const sum = (counts: Float64Array, totals: Float64Array): number => {
    let observed = 0;
    for (let shape = 0; shape < disagreements.length; shape++) {
      const count = counts[shape]!;
      if (count === 0) continue;
      observed += count * disagreements[shape]!;
      add(shape, count, totals);
    }
    return observed;
  };
  const totals = new Float64Array(categories);
  const ownTotals = new Float64Array(categories);
  const own = sum(sizes, ownTotals);
  return ofCounts(sizes, {
    steps: present.length + categories,
    of(counts) {
      totals.fill(0);
      const observed = sum(counts, totals);
      return alpha(observed, totals);
    },
    without(group) {
      add(group, -1, ownTotals);
      const value = alpha(own - disagreements[group]!, ownTotals);
      add(group, 1, ownTotals);
      return value;
    },
  });
}

/** What was said of units, in numbered categories, in their order; units of which the same was said are of one shape. */
function shapesOf(units: readonly (readonly (string | number)[])[]): {
  categories: number;
  shapes: number[][];
  counts: Float64Array;
} {
  const categories = new Map<string | number, number>();
  const groups = new Map<string, { values: number[]; count: number }>();
  for (const said of units) {
    if (said.length < 2) continue;
    const values = said.map((value) => {
      const known = categories.get(value);
      if (known !== undefined) return known;
      categories.set(value, categories.size);
      return categories.size - 1;
    });
    const key = values.sort((a, b) => a - b).join();
    const group = groups.get(key);
    if (group) group.count++;
    else groups.set(key, { values, count: 1 });
  }
  const all = [...groups.values()];
  return {
    categories: categories.size,
    shapes: all.map(({ values }) => values),
    counts: Float64Array.from(all, ({ count }) => count),
  };
}

/** As `nominalAlphaOf`, of numbers whose disagreement is the square of their distance (the interval metric). */
export function intervalAlphaOf(units: readonly (readonly number[])[]): Resampled {
  const pairable = units.filter((values) => values.length >= 2);
  const counts = new Float64Array(pairable.length);
  // squares of distances are the same around any centre; around this one the sums lose no digits
  let all = 0;
  for (let unit = 0; unit < pairable.length; unit++) {
    const values = pairable[unit]!;
    counts[unit] = values.length;
    for (let i = 0; i < values.length; i++) all += values[i]!;
  }
  const centre = all / Math.max(1, sumOf(counts));
  const sums = new Float64Array(pairable.length);
  const squares = new Float64Array(pairable.length);
  const observed = new Float64Array(pairable.length);
  for (let unit = 0; unit < pairable.length; unit++) {
    const values = pairable[unit]!;
    let isAlike = true;
    for (let i = 0; i < values.length; i++) {
      const distance = values[i]! - centre;
      isAlike &&= values[i] === values[0];
      sums[unit]! += distance;
      squares[unit]! += distance * distance;
    }
    // of two equal values, 0 and not what rounding leaves
    if (isAlike) continue;
    observed[unit] = (2 * values.length * squares[unit]! - 2 * sums[unit]! ** 2) / (values.length - 1);
  }
  return ofTotals([observed, counts, sums, squares], ([disagreement, count, total, square]) => {
    const expected = 2 * count! * square! - 2 * total! * total!;
    return expected <= ROUNDING * count! * square! ? NaN : 1 - ((count! - 1) * disagreement!) / expected;
  });
}

/** A variation that is less than this, for the size of the values, is what rounding leaves. */
const ROUNDING = 1e-12;
