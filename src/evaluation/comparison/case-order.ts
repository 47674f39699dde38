import { type Outcome, outcomeOf } from './paired-cases';

/** By the difference of a case: the worst regression first, or the largest improvement. */
export const CASE_SORTS = ['difference', '-difference'] as const;
export type CaseSort = (typeof CASE_SORTS)[number];

/**
 * Cases in the order of their differences, those of the same difference in the order of their keys, and those without
 * one last. Sorted once, so that every page of either order, and of one outcome, is a piece of it.
 */
export class CaseOrder {
  /** By the difference, the least first. */
  private readonly ascending: Int32Array;
  /** Where the cases of each outcome begin and end there. */
  private readonly ranges: Record<Outcome, readonly [begin: number, end: number]>;

  /** @param differences of the cases, which are in the order of their keys; NaN for none */
  constructor(readonly differences: Float64Array) {
    const counts: Record<Outcome, number> = { regressed: 0, unchanged: 0, improved: 0, missing: 0 };
    for (const difference of differences) counts[outcomeOf(difference)]++;
    const improved = counts.regressed + counts.unchanged;
    const missing = improved + counts.improved;
    this.ranges = {
      regressed: [0, counts.regressed],
      unchanged: [counts.regressed, improved],
      improved: [improved, missing],
      missing: [missing, differences.length],
    };
    this.ascending = new Int32Array(differences.length);
    // numbers alone are sorted without a call for each comparison, which of 20,000 would hold up others for long
    const sorted = differences.filter((one) => !Number.isNaN(one)).sort();
    const placed = new Int32Array(missing);
    let unknown = missing;
    for (let i = 0; i < differences.length; i++) {
      if (Number.isNaN(differences[i]!)) {
        this.ascending[unknown++] = i;
        continue;
      }
      const first = placeOf(sorted, differences[i]!);
      this.ascending[first + placed[first]!++] = i;
    }
  }

  /** How many cases have each outcome. */
  get counts(): Record<Outcome, number> {
    const of = (outcome: Outcome): number => this.ranges[outcome][1] - this.ranges[outcome][0];
    return {
      improved: of('improved'),
      regressed: of('regressed'),
      unchanged: of('unchanged'),
      missing: of('missing'),
    };
  }

  /** The places of the cases, all or those of one outcome, in this order. Not to be written to. */
  places(sort: CaseSort, outcome: Outcome | undefined): Int32Array {
    if (outcome !== undefined) {
      const own = this.ascending.subarray(...this.ranges[outcome]);
      return sort === 'difference' ? own : this.descending(own);
    }
    if (sort === 'difference') return this.ascending;
    const [missing] = this.ranges.missing;
    const places = this.ascending.slice();
    places.set(this.descending(this.ascending.subarray(0, missing)));
    return places;
  }

  /** The other way round, but for cases of the same difference, or of none, which stay in the order of their keys. */
  private descending(places: Int32Array): Int32Array {
    const { differences } = this;
    const turned = new Int32Array(places.length);
    let end = places.length;
    for (let at = 0; end > 0;) {
      let begin = end - 1;
      while (begin > 0 && isAlike(differences[places[begin - 1]!]!, differences[places[begin]!]!)) begin--;
      turned.set(places.subarray(begin, end), at);
      at += end - begin;
      end = begin;
    }
    return turned;
  }
}

/** The first place among sorted numbers that is not before this one. */
function placeOf(sorted: Float64Array, number: number): number {
  let [begin, end] = [0, sorted.length];
  while (begin < end) {
    const middle = (begin + end) >>> 1;
    if (sorted[middle]! < number) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/** Zeros of either sign are, and so are those that are none. */
const isAlike = (one: number, other: number): boolean =>
  one === other || (Number.isNaN(one) && Number.isNaN(other));
