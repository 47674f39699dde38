import { ofCounts, type Resampled } from './resampled';
import { sumOf } from './sum';

/** How often one rater said `row` where the other said `column`; at least once. */
export interface Cell {
  row: number;
  column: number;
  count: number;
}

/**
 * Cohen's kappa (J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement
 * 20, 1960): the agreement of two raters beyond what their own frequencies would give by chance, 1 being complete and 0
 * none beyond chance. NaN where both say one and the same category throughout: chance alone agrees then.
 *
 * @param categories how many there are; rows and columns are numbered below it.
 */
export const cohensKappaOf = (cells: readonly Cell[], categories: number): Resampled =>
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
 * where o is how often the pair was said, e how often it would be by both raters' frequencies, and w the square of the
 * distance of the values. Steps need not be even. It is the intraclass correlation of the values, but for 1 / units (J. L.
 * Fleiss and J. Cohen, Educational and Psychological Measurement 33, 1973). @param values of the categories.
 */
export function quadraticKappaOf(cells: readonly Cell[], values: readonly number[]): Resampled {
  const categories = values.length;
  const disagreement = (row: number, column: number): number => (values[row]! - values[column]!) ** 2;
  return weightedKappa(cells, {
    categories,
    disagreement,
    steps: categories * categories,
    // by the moments of both margins it would be quicker, and not exactly 0 where it is to be
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
  /** What chance gives, summed over all pairs of units. */
  expected: (rows: Float64Array, columns: Float64Array, units: number) => number;
  /** What that takes, in additions. */
  steps: number;
}

/** 1 - observed / expected disagreement. */
function weightedKappa(
  cells: readonly Cell[],
  { categories, disagreement, expected, steps }: Disagreement,
): Resampled {
  const sizes = Float64Array.from(cells, (cell) => cell.count);
  const weights = Float64Array.from(cells, ({ row, column }) => disagreement(row, column));
  const rowOf = Int32Array.from(cells, ({ row }) => row);
  const columnOf = Int32Array.from(cells, ({ column }) => column);
  /** The disagreement observed, and both margins. */
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
  return ofCounts(sizes, {
    steps: steps + cells.length,
    of(counts, units) {
      rows.fill(0);
      columns.fill(0);
      const observed = sum(counts, rows, columns);
      return kappa(observed, units, expected(rows, columns, units));
    },
    without(group) {
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
