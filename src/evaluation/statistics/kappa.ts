import { ofCounts, type Resampled } from './bootstrap';

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
  weightedKappa(cells, categories, (row, column) => (row === column ? 0 : 1));

/**
 * Weighted kappa (J. Cohen, "Weighted kappa: nominal scale agreement with provision for scaled disagreement or partial
 * credit", Psychological Bulletin 70, 1968) with quadratic weights: 1 - sum(w o) / sum(w e) over all pairs of categories,
 * where o is how often the pair was said, e how often it would be by both raters' frequencies, and w the square of the
 * distance of the values. Steps need not be even. It is the intraclass correlation of the values, but for 1 / units (J. L.
 * Fleiss and J. Cohen, Educational and Psychological Measurement 33, 1973). @param values of the categories.
 */
export const quadraticKappaOf = (cells: readonly Cell[], values: readonly number[]): Resampled =>
  weightedKappa(cells, values.length, (row, column) => (values[row]! - values[column]!) ** 2);

/**
 * 1 - observed / expected disagreement. For quadratic weights what is expected follows from the moments of both
 * margins; to have one form for both, and few categories, it is summed over all pairs of them.
 */
function weightedKappa(
  cells: readonly Cell[],
  categories: number,
  disagreement: (row: number, column: number) => number,
): Resampled {
  const rows = new Float64Array(categories);
  const columns = new Float64Array(categories);
  const weights = Float64Array.from(cells, ({ row, column }) => disagreement(row, column));
  return ofCounts(
    Float64Array.from(cells, (cell) => cell.count),
    (counts, units) => {
      rows.fill(0);
      columns.fill(0);
      let observed = 0;
      for (let i = 0; i < cells.length; i++) {
        const count = counts[i]!;
        rows[cells[i]!.row]! += count;
        columns[cells[i]!.column]! += count;
        observed += count * weights[i]!;
      }
      let expected = 0;
      for (let row = 0; row < categories; row++) {
        if (rows[row] === 0) continue;
        for (let column = 0; column < categories; column++) {
          if (columns[column] !== 0) expected += rows[row]! * columns[column]! * disagreement(row, column);
        }
      }
      return expected === 0 ? NaN : 1 - (observed * units) / expected;
    },
  );
}
