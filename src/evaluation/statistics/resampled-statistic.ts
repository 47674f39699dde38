import { Numbering, sumOf } from './numeric';
import type { Xoshiro128 } from './random';
import { Resampler, type SampledColumn } from './resampler';
import { type BootstrapDistribution, meanDistribution } from './saddlepoint';

/** A statistic of a sample of units, which can also be computed on resamples. */
export interface ResampledStatistic {
  readonly units: number;
  /** The statistic of the sample itself; NaN if it has no value. */
  readonly estimate: number;
  /** Whether all units are equal, so that all resamples are. */
  readonly isConstant: boolean;
  /** The cost of a resample, in draws of single units. */
  readonly cost: number;
  /** Returns the statistic of a new resample: the same number of units, drawn with replacement. */
  replicate(random: Xoshiro128): number;
  /** Returns the statistic of many resamples if that is faster than one by one, else null. */
  replicates?(random: Xoshiro128, samples: number): Float64Array | null;
  /** Yields the statistic without one unit, for each group of equal units, and the size of the group. */
  leaveOneOut(): Iterable<{ value: number; units: number }>;
  /** Returns the distribution over all resamples if it is known without drawing, else null. */
  distribution?(): BootstrapDistribution | null;
}

/** A function of the number of units in each group. */
export interface CountsStatistic {
  /** Returns the statistic of these counts; NaN if it has no value. */
  of(counts: Float64Array, units: number): number;
  /** The cost of `of`, in draws of single units. */
  steps: number;
  /** Returns the statistic of all units except one of this group. */
  leaveOut(group: number): number;
}

/** Creates a statistic from a function of counts. @param sizes number of units in each group, at least 1 */
export function countsStatistic(sizes: Float64Array, statistic: CountsStatistic): ResampledStatistic {
  const units = sumOf(sizes);
  const resampler = new Resampler(sizes, units);
  const counts = new Float64Array(sizes.length);
  return {
    units,
    cost: resampler.cost + sizes.length + statistic.steps,
    isConstant: sizes.length === 1,
    estimate: statistic.of(sizes, units),
    replicate(random) {
      resampler.drawCounts(random, counts);
      return statistic.of(counts, units);
    },
    *leaveOneOut() {
      for (let group = 0; group < sizes.length; group++) {
        yield { value: statistic.leaveOut(group), units: sizes[group]! };
      }
    },
  };
}

/**
 * Creates a statistic from a function of sums over the units. A mean is one sum divided by the number of units.
 *
 * @param columns columns of the same length, with one number per unit
 * @param distribution returns the distribution if it is known without drawing resamples
 */
export const totalsStatistic = (
  columns: readonly Float64Array[],
  statistic: (totals: Float64Array, units: number) => number,
  distribution: () => BootstrapDistribution | null = () => null,
): ResampledStatistic => new TotalsStatistic(columns, statistic, distribution);

/** Returns the arithmetic mean of independent units. */
export const meanOf = (values: Float64Array): ResampledStatistic =>
  totalsStatistic(
    [values],
    (totals, units) => totals[0]! / units,
    () => meanDistribution(values),
  );

/** Returns the mean of |a - b|, on the scale of the values. */
export const meanAbsoluteErrorOf = (a: Float64Array, b: Float64Array): ResampledStatistic =>
  meanOf(a.map((value, i) => Math.abs(value - b[i]!)));

class TotalsStatistic implements ResampledStatistic {
  readonly units: number;
  readonly estimate: number;
  readonly isConstant: boolean;
  private readonly whole: Float64Array;
  /** Created when resamples are drawn. A statistic with a known distribution does not need them. */
  private createdGroups: Groups | undefined;

  constructor(
    private readonly columns: readonly Float64Array[],
    private readonly statistic: (totals: Float64Array, units: number) => number,
    readonly distribution: () => BootstrapDistribution | null,
  ) {
    this.units = columns[0]!.length;
    this.whole = Float64Array.from(columns, sumOf);
    this.estimate = statistic(this.whole, this.units);
    this.isConstant = columns.every((column) => column.every((value) => value === column[0]));
  }

  get cost(): number {
    return this.groups.resampler.cost * this.columns.length;
  }

  replicate(random: Xoshiro128): number {
    const { resampler, columns, totals } = this.groups;
    resampler.drawTotals(random, columns, totals);
    return this.statistic(totals, this.units);
  }

  replicates(random: Xoshiro128, samples: number): Float64Array | null {
    if (this.columns.length > 1) return null;
    const { resampler, columns, totals } = this.groups;
    const sums = resampler.drawSums(random, columns[0]!, samples);
    for (let i = 0; i < samples; i++) {
      totals[0] = sums[i]!;
      sums[i] = this.statistic(totals, this.units);
    }
    return sums;
  }

  *leaveOneOut(): Iterable<{ value: number; units: number }> {
    const { resampler, columns, totals } = this.groups;
    for (let group = 0; group < resampler.sizes.length; group++) {
      for (let i = 0; i < totals.length; i++) totals[i] = this.whole[i]! - columns[i]!.groupValues[group]!;
      yield { value: this.statistic(totals, this.units - 1), units: resampler.sizes[group]! };
    }
  }

  private get groups(): Groups {
    return (this.createdGroups ??= groupsOf(this.columns));
  }
}

interface Groups {
  resampler: Resampler;
  columns: SampledColumn[];
  /** Scratch space for the sums of one resample. */
  totals: Float64Array;
}

/** Groups units with the same numbers in all columns, in order of first appearance. */
function groupsOf(columns: readonly Float64Array[]): Groups {
  const units = columns[0]!.length;
  // numbers units by one column after the other, because text keys take 20 ms for four columns of 10,000 units
  const numbers = new Float64Array(units);
  let groups = 0;
  for (const column of columns) {
    const own = numberValues(column);
    for (let unit = 0; unit < units; unit++) numbers[unit] = numbers[unit]! * units + own.numbers[unit]!;
    const all = own.values === units ? own : numberValues(numbers);
    numbers.set(all.numbers);
    groups = all.values;
    // every unit is already a separate group
    if (groups === units) break;
  }
  const first = new Int32Array(groups);
  const sizes = new Float64Array(groups);
  for (let unit = 0; unit < units; unit++) {
    const group = numbers[unit]!;
    if (sizes[group]!++ === 0) first[group] = unit;
  }
  const resampler = new Resampler(sizes, units);
  const sampled = columns.map((column) => {
    const groupValues = new Float64Array(groups);
    for (let group = 0; group < groups; group++) groupValues[group] = column[first[group]!]!;
    return resampler.column(groupValues);
  });
  return { resampler, columns: sampled, totals: new Float64Array(columns.length) };
}

function numberValues(values: Float64Array): { numbers: Int32Array; values: number } {
  const numbering = new Numbering<number>();
  const numbers = new Int32Array(values.length);
  for (let i = 0; i < values.length; i++) numbers[i] = numbering.numberOf(values[i]!);
  return { numbers, values: numbering.size };
}
