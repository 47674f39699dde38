import type { Pace } from '#platform/turns';
import type { ScoredResults } from './scored-results';

/** What is nearer to each other than this, for the size of what it was worked out from, differs by rounding alone. */
const ROUNDING = 1e-12;
/** What a string takes besides its characters, with the reference to it. */
const STRING_BYTES = 32;

export type Outcome = 'improved' | 'regressed' | 'unchanged' | 'missing';
export const OUTCOMES = ['improved', 'regressed', 'unchanged', 'missing'] as const satisfies Outcome[];

/** What a difference of candidate - baseline is called; NaN is of a case that one side has no score of. */
export function outcomeOf(difference: number): Outcome {
  if (Number.isNaN(difference)) return 'missing';
  if (difference === 0) return 'unchanged';
  return difference > 0 ? 'improved' : 'regressed';
}

/** The results of one side, by the case that they are of; without their scores, which are only read from. */
export class CaseResults {
  readonly resultIds: readonly string[];
  readonly isTruncated: boolean;
  /** How many cases have a result. */
  readonly caseCount: number;
  /** About how large each result is as JSON. */
  readonly sizes: Int32Array;
  /** The results of case i are `results[starts[i]]` to `results[starts[i + 1] - 1]`, in order of arrival. */
  private readonly starts: Int32Array;
  private readonly results: Int32Array;

  constructor(scored: ScoredResults, caseOf: Int32Array, cases: number) {
    this.resultIds = scored.resultIds;
    this.isTruncated = scored.isTruncated;
    this.sizes = Int32Array.from(scored.bytes);
    this.starts = new Int32Array(cases + 1);
    for (const one of caseOf) this.starts[one + 1]!++;
    this.caseCount = this.starts.reduce((count, results) => (results > 0 ? count + 1 : count), 0);
    for (let i = 0; i < cases; i++) this.starts[i + 1]! += this.starts[i]!;
    const next = this.starts.slice();
    this.results = new Int32Array(caseOf.length);
    for (let result = 0; result < caseOf.length; result++) {
      this.results[next[caseOf[result]!]!++] = result;
    }
  }

  /** The places of a case's results among the side's. */
  of(index: number): Int32Array {
    return this.results.subarray(this.starts[index], this.starts[index + 1]);
  }

  /** Sum and number of each case's scores that are not null. @param scores one for each result, NaN for none */
  sums(scores: Float64Array): { sums: Float64Array; counts: Float64Array } {
    const cases = this.starts.length - 1;
    const sums = new Float64Array(cases);
    const counts = new Float64Array(cases);
    for (let one = 0; one < cases; one++) {
      for (let i = this.starts[one]!; i < this.starts[one + 1]!; i++) {
        const score = scores[this.results[i]!]!;
        if (Number.isNaN(score)) continue;
        sums[one]! += score;
        counts[one]!++;
      }
    }
    return { sums, counts };
  }

  /** How much memory it takes. */
  get heldBytes(): number {
    const ids = this.resultIds.reduce((sum, id) => sum + STRING_BYTES + id.length, 0);
    return ids + this.sizes.byteLength + this.starts.byteLength + this.results.byteLength;
  }
}

/**
 * The cases of two experiments, paired by what the results of one case share: `trial_group`, else
 * `dataset_record_id`, else `case_id`. In the order of that key, so that neither side comes first.
 */
export class PairedCases {
  private readonly known = new Map<string, Float64Array>();

  private constructor(
    readonly keys: readonly string[],
    readonly candidate: CaseResults,
    readonly baseline: CaseResults,
  ) {}

  /** @param scorers whose differences are worked out */
  static async of(
    candidate: ScoredResults,
    baseline: ScoredResults,
    scorers: readonly string[],
    pace: Pace,
  ): Promise<PairedCases> {
    // numbered as they are met, then in the order of their keys
    const met = new Map<string, number>();
    const number = (key: string): number => {
      const known = met.get(key);
      if (known !== undefined) return known;
      met.set(key, met.size);
      return met.size - 1;
    };
    const numbered = [candidate, baseline].map((side) => Int32Array.from(side.caseKeys, number));
    if (pace.isDue()) await pace.rest();
    const keys = [...met.keys()].sort();
    if (pace.isDue()) await pace.rest();
    const places = new Int32Array(keys.length);
    keys.forEach((key, place) => (places[met.get(key)!] = place));
    const side = (scored: ScoredResults, numbers: Int32Array): CaseResults =>
      new CaseResults(
        scored,
        numbers.map((one) => places[one]!),
        keys.length,
      );
    const cases = new PairedCases(keys, side(candidate, numbered[0]!), side(baseline, numbered[1]!));
    for (const scorer of scorers) {
      if (pace.isDue()) await pace.rest();
      cases.known.set(scorer, cases.differencesOf(candidate.of(scorer), baseline.of(scorer)));
    }
    return cases;
  }

  /** The difference of each case's mean scores, candidate - baseline; NaN where one side has none. */
  differences(scorer: string): Float64Array {
    const differences = this.known.get(scorer);
    if (!differences) throw new Error('These are not the differences that were worked out.');
    return differences;
  }

  /** The mean of a case's differences over all scorers, of which some may lack it; NaN where all do. */
  async meanDifferences(pace: Pace): Promise<Float64Array> {
    const cases = this.keys.length;
    const sums = new Float64Array(cases);
    const sizes = new Float64Array(cases);
    const counts = new Int32Array(cases);
    for (const differences of this.known.values()) {
      if (pace.isDue()) await pace.rest();
      for (let i = 0; i < cases; i++) {
        const difference = differences[i]!;
        if (Number.isNaN(difference)) continue;
        sums[i]! += difference;
        sizes[i]! += Math.abs(difference);
        counts[i]!++;
      }
    }
    for (let i = 0; i < cases; i++) sums[i] = meanOf(sums[i]!, sizes[i]!, counts[i]!);
    return sums;
  }

  /** How much memory it takes. Keys are counted as if none were plain ASCII. */
  get heldBytes(): number {
    const keys = this.keys.reduce((sum, key) => sum + STRING_BYTES + 2 * key.length, 0);
    const differences = this.known.size * this.keys.length * Float64Array.BYTES_PER_ELEMENT;
    return keys + differences + this.candidate.heldBytes + this.baseline.heldBytes;
  }

  private differencesOf(candidate: Float64Array, baseline: Float64Array): Float64Array {
    const own = this.candidate.sums(candidate);
    const other = this.baseline.sums(baseline);
    const differences = new Float64Array(this.keys.length);
    for (let i = 0; i < differences.length; i++) {
      differences[i] = differenceOf(own.sums[i]! / own.counts[i]!, other.sums[i]! / other.counts[i]!);
    }
    return differences;
  }
}

/** Of numbers so large that their difference is none, NaN: they cannot be compared. */
function differenceOf(candidate: number, baseline: number): number {
  const difference = candidate - baseline;
  if (!Number.isFinite(difference)) return NaN;
  return Math.abs(difference) <= ROUNDING * Math.max(Math.abs(candidate), Math.abs(baseline))
    ? 0
    : difference;
}

/** @param size the sum of the sizes of what `sum` is the sum of */
function meanOf(sum: number, size: number, count: number): number {
  if (count === 0 || !Number.isFinite(sum)) return NaN;
  const rounding = Number.isFinite(size) ? ROUNDING * size : 0;
  return Math.abs(sum) <= rounding ? 0 : sum / count;
}
