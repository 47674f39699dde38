import { Numbering, sumOf } from './numeric';
import { countsStatistic, totalsStatistic, type ResampledStatistic } from './resampled-statistic';

/** A relative variation below this is due to rounding. */
const ROUNDING = 1e-12;

/** The number of units that one rater assigned to `row` and the other to `column`, at least 1. */
export interface Cell {
  row: number;
  column: number;
  count: number;
}

/**
 * Cohen's kappa (J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement
 * 20, 1960): the agreement of two raters beyond chance, given their own frequencies. 1 is complete agreement, 0 is chance.
 * NaN if both always use the same category, because chance alone then agrees.
 *
 * @param categories the number of categories; rows and columns are numbered from 0
 */
export const cohensKappaOf = (cells: readonly Cell[], categories: number): ResampledStatistic =>
  weightedKappa(cells, {
    categories,
    disagreement: (row, column) => (row === column ? 0 : 1),
    steps: categories,
    expected(rows, columns, units) {
      let alike = 0;
      for (let i = 0; i < categories; i++) alike += rows[i]! * columns[i]!;
      return units * units - alike;
    },
  });

/**
 * Weighted kappa (J. Cohen, "Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial
 * credit", Psychological Bulletin 70, 1968) with quadratic weights: 1 - sum(w o) / sum(w e) over all pairs of categories,
 * where o is the observed count of the pair, e the count expected from both raters' frequencies, and w the squared
 * distance of the values. Steps need not be even. Up to 1 / units it is the intraclass correlation of the values (J. L.
 * Fleiss and J. Cohen, Educational and Psychological Measurement 33, 1973).
 *
 * @param values the value of each category
 */
export function quadraticKappaOf(cells: readonly Cell[], values: readonly number[]): ResampledStatistic {
  const categories = values.length;
  const disagreement = (row: number, column: number): number => (values[row]! - values[column]!) ** 2;
  return weightedKappa(cells, {
    categories,
    disagreement,
    steps: categories * categories,
    // the moments of both margins would be faster, but not exactly 0 where they must be
    expected(rows, columns) {
      let expected = 0;
      for (let row = 0; row < categories; row++) {
        if (rows[row] === 0) continue;
        for (let column = 0; column < categories; column++) {
          if (columns[column] !== 0) expected += rows[row]! * columns[column]! * disagreement(row, column);
        }
      }
      return expected;
    },
  });
}

interface Disagreement {
  categories: number;
  disagreement: (row: number, column: number) => number;
  /** The disagreement expected by chance, summed over all pairs of units. */
  expected: (rows: Float64Array, columns: Float64Array, units: number) => number;
  /** The cost of `expected`, in additions. */
  steps: number;
}

/** Returns 1 - observed / expected disagreement. */
function weightedKappa(
  cells: readonly Cell[],
  { categories, disagreement, expected, steps }: Disagreement,
): ResampledStatistic {
  const sizes = Float64Array.from(cells, (cell) => cell.count);
  const weights = Float64Array.from(cells, ({ row, column }) => disagreement(row, column));
  const rowOf = Int32Array.from(cells, ({ row }) => row);
  const columnOf = Int32Array.from(cells, ({ column }) => column);
  /** Returns the observed disagreement, and adds to both margins. */
  const sum = (counts: Float64Array, rows: Float64Array, columns: Float64Array): number => {
    let observed = 0;
    for (let i = 0; i < weights.length; i++) {
      const count = counts[i]!;
      rows[rowOf[i]!]! += count;
      columns[columnOf[i]!]! += count;
      observed += count * weights[i]!;
    }
    return observed;
  };
  const kappa = (observed: number, units: number, chance: number): number =>
    chance === 0 ? NaN : 1 - (observed * units) / chance;
  const rows = new Float64Array(categories);
  const columns = new Float64Array(categories);
  const ownRows = new Float64Array(categories);
  const ownColumns = new Float64Array(categories);
  const own = sum(sizes, ownRows, ownColumns);
  const left = sumOf(sizes) - 1;
  return countsStatistic(sizes, {
    steps: steps + cells.length,
    of(counts, units) {
      rows.fill(0);
      columns.fill(0);
      const observed = sum(counts, rows, columns);
      return kappa(observed, units, expected(rows, columns, units));
    },
    leaveOut(group) {
      const [row, column] = [rowOf[group]!, columnOf[group]!];
      ownRows[row]!--;
      ownColumns[column]!--;
      const chance = expected(ownRows, ownColumns, left);
      ownRows[row]!++;
      ownColumns[column]!++;
      return kappa(own - weights[group]!, left, chance);
    },
  });
}

/**
 * Krippendorff's alpha (K. Krippendorff, "Computing Krippendorff's alpha-reliability", 2011; "Content Analysis", 2004,
 * chapter 11): 1 - observed / expected disagreement, over units rated by any number of raters. It omits units with fewer
 * than two values. 1 is complete agreement, 0 is chance. NaN if all values are equal, because there is no variation to
 * agree on. Intervals resample units (A. Zapf and others, "Measuring inter-rater reliability for nominal data", BMC
 * Medical Research Methodology 16:93, 2016).
 */
export function nominalAlphaOf(units: readonly (readonly (string | number)[])[]): ResampledStatistic {
  const { categories, shapes, counts: sizes } = shapesOf(units);
  // the categories in each shape, and their counts
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
  /** Adds units of a shape to the count of each category. */
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
  return countsStatistic(sizes, {
    steps: present.length + categories,
    of(counts) {
      totals.fill(0);
      const observed = sum(counts, totals);
      return alpha(observed, totals);
    },
    leaveOut(group) {
      add(group, -1, ownTotals);
      const value = alpha(own - disagreements[group]!, ownTotals);
      add(group, 1, ownTotals);
      return value;
    },
  });
}

/** Numbers the categories, sorts the values of each unit, and groups units with equal values into shapes. */
function shapesOf(units: readonly (readonly (string | number)[])[]): {
  categories: number;
  shapes: number[][];
  counts: Float64Array;
} {
  const categories = new Numbering<string | number>();
  const groups = new Map<string, { values: number[]; count: number }>();
  for (const unit of units) {
    if (unit.length < 2) continue;
    const values = unit.map((value) => categories.numberOf(value));
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

/** Krippendorff's alpha of numbers, whose disagreement is the square of their distance (the interval metric). */
export function intervalAlphaOf(units: readonly (readonly number[])[]): ResampledStatistic {
  const pairable = units.filter((values) => values.length >= 2);
  const counts = new Float64Array(pairable.length);
  // squared distances are the same around any centre; around this one the sums lose no digits
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
    // equal values have no disagreement, not even one by rounding
    if (isAlike) continue;
    observed[unit] = (2 * values.length * squares[unit]! - 2 * sums[unit]! ** 2) / (values.length - 1);
  }
  return totalsStatistic([observed, counts, sums, squares], ([disagreement, count, total, square]) => {
    const expected = 2 * count! * square! - 2 * total! * total!;
    return expected <= ROUNDING * count! * square! ? NaN : 1 - ((count! - 1) * disagreement!) / expected;
  });
}
