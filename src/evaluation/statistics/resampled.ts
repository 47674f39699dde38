import type { BootstrapDistribution } from './bootstrap';
import { Resampler, type SampledColumn } from './resampler';
import { sumOf } from './sum';
import type { Xoshiro128 } from './xoshiro';

/** A statistic of a sample of units, and how it comes out on others. */
export interface Resampled {
  readonly units: number;
  /** Of the sample itself; NaN where the statistic has no value. */
  readonly estimate: number;
  /** All units are alike: so is every sample. */
  readonly isConstant: boolean;
  /** What a sample costs, in draws of single units. */
  readonly cost: number;
  /** Of a new sample of as many units, drawn from this one with replacement. */
  replicate(random: Xoshiro128): number;
  /** Of the sample without one unit, for each group of units that are alike, and how many of them there are. */
  leaveOneOut(): Iterable<{ value: number; units: number }>;
  /** How it comes out on all samples, where that is known without drawing them; else null. */
  distribution?(): BootstrapDistribution | null;
}

/**
 * A statistic that is a function of how many units each group has.
 *
 * @param sizes of the groups, at least one each
 * @param steps that the statistic takes once, in draws of single units
 */
export function ofCounts(
  sizes: Float64Array,
  steps: number,
  statistic: (counts: Float64Array, units: number) => number,
): Resampled {
  const units = sumOf(sizes);
  const resampler = new Resampler(sizes, units);
  const counts = new Float64Array(sizes.length);
  return {
    units,
    cost: resampler.cost + sizes.length + steps,
    isConstant: sizes.length === 1,
    estimate: statistic(sizes, units),
    replicate(random) {
      resampler.drawCounts(random, counts);
      return statistic(counts, units);
    },
    *leaveOneOut() {
      const without = sizes.slice();
      for (let group = 0; group < sizes.length; group++) {
        without[group]!--;
        yield { value: statistic(without, units - 1), units: sizes[group]! };
        without[group]!++;
      }
    },
  };
}

/**
 * A statistic that is a function of sums over the units: a mean is one sum over their number, a mean of clusters a
 * ratio of two sums.
 *
 * @param columns each with one number for each unit; all of the same length
 * @param distribution where it can be known without drawing samples
 */
export const ofTotals = (
  columns: readonly Float64Array[],
  statistic: (totals: Float64Array, units: number) => number,
  distribution: () => BootstrapDistribution | null = () => null,
): Resampled => new TotalsStatistic(columns, statistic, distribution);

class TotalsStatistic implements Resampled {
  readonly units: number;
  readonly estimate: number;
  readonly isConstant: boolean;
  private readonly whole: Float64Array;
  private made: Groups | undefined;

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

  *leaveOneOut(): Iterable<{ value: number; units: number }> {
    const { resampler, columns, totals } = this.groups;
    for (let group = 0; group < resampler.sizes.length; group++) {
      for (let i = 0; i < totals.length; i++) totals[i] = this.whole[i]! - columns[i]!.ofGroup[group]!;
      yield { value: this.statistic(totals, this.units - 1), units: resampler.sizes[group]! };
    }
  }

  /** Made when they are asked for: not every interval is drawn. */
  private get groups(): Groups {
    return (this.made ??= groupsOf(this.columns));
  }
}

interface Groups {
  resampler: Resampler;
  columns: SampledColumn[];
  /** Room for the sums of one sample. */
  totals: Float64Array;
}

/** Groups units that have the same number in every column, in the order in which they are first met. */
function groupsOf(columns: readonly Float64Array[]): Groups {
  const groups = new Map<number | string, number>();
  const first: number[] = [];
  const sizes: number[] = [];
  const [only] = columns;
  for (let unit = 0; unit < only!.length; unit++) {
    const key = columns.length === 1 ? only![unit]! : columns.map((column) => column[unit]!).join();
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, sizes.length);
      first.push(unit);
      sizes.push(1);
    } else {
      sizes[group]!++;
    }
  }
  const resampler = new Resampler(sizes, only!.length);
  return {
    resampler,
    columns: columns.map((column) => resampler.column(Float64Array.from(first, (unit) => column[unit]!))),
    totals: new Float64Array(columns.length),
  };
}
