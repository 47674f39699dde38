import { ofTotals, type Resampled } from './resampled';
import { meanDistribution } from './saddlepoint';

/** The arithmetic mean of units that are independent of each other. */
export const meanOf = (values: Float64Array): Resampled =>
  ofTotals(
    [values],
    (totals, units) => totals[0]! / units,
    () => meanDistribution(values),
  );

/**
 * The mean over all members of clusters that are independent of each other, as members within one are not: the sum of
 * the clusters' sums over the sum of their sizes.
 */
export const clusteredMeanOf = (sums: Float64Array, sizes: Float64Array): Resampled =>
  sizes.every((size) => size === 1)
    ? meanOf(sums)
    : ofTotals([sums, sizes], (totals) => totals[0]! / totals[1]!);

/** The mean of |a - b|: how far off the one is, on the scale of the values themselves. */
export const meanAbsoluteErrorOf = (a: Float64Array, b: Float64Array): Resampled =>
  meanOf(a.map((value, i) => Math.abs(value - b[i]!)));
