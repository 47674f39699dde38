import { Pace } from '../statistics/pace';
import type { ScoredResults } from './scored-results';

/** Means that are nearer to each other than this, for their size, differ by rounding alone. */
const ROUNDING = 1e-12;

export type Outcome = 'improved' | 'regressed' | 'unchanged' | 'missing';
export const OUTCOMES = ['improved', 'regressed', 'unchanged', 'missing'] as const satisfies Outcome[];

/** What a difference of candidate - baseline is called; NaN is of a case that one side has no score of. */
export function outcomeOf(difference: number): Outcome {
  if (Number.isNaN(difference)) return 'missing';
  if (difference === 0) return 'unchanged';
  return difference > 0 ? 'improved' : 'regressed';
}

/** The results of one side, by the case that they are of. */
class CaseResults {
  /** The results of case i are `results[starts[i]]` to `results[starts[i + 1] - 1]`, in order of arrival. */
  private readonly starts: Int32Array;
  private readonly results: Int32Array;

  constructor(
    readonly scored: ScoredResults,
    private readonly caseOf: Int32Array,
    private readonly cases: number,
  ) {
    this.starts = new Int32Array(cases + 1);
    for (const one of caseOf) this.starts[one + 1]!++;
    for (let i = 0; i < cases; i++) this.starts[i + 1]! += this.starts[i]!;
    const next = this.starts.slice();
    this.results = new Int32Array(caseOf.length);
    caseOf.forEach((one, result) => (this.results[next[one]!++] = result));
  }

  /** The places of a case's results among the side's. */
  of(index: number): Int32Array {
    return this.results.subarray(this.starts[index], this.starts[index + 1]);
  }

  /** How many cases have a result. */
  get caseCount(): number {
    let count = 0;
    for (let i = 0; i < this.cases; i++) if (this.starts[i + 1]! > this.starts[i]!) count++;
    return count;
  }

  /** Sum and number of each case's scores that are not null. */
  sums(scorer: string): { sums: Float64Array; counts: Float64Array } {
    const sums = new Float64Array(this.cases);
    const counts = new Float64Array(this.cases);
    this.scored.of(scorer).forEach((score, result) => {
      if (Number.isNaN(score)) return;
      sums[this.caseOf[result]!]! += score;
      counts[this.caseOf[result]!]!++;
    });
    return { sums, counts };
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

  static async of(candidate: ScoredResults, baseline: ScoredResults): Promise<PairedCases> {
    const pace = new Pace();
    const keys = [...new Set([...candidate.caseKeys, ...baseline.caseKeys])];
    await pace.rest();
    keys.sort();
    await pace.rest();
    const indexes = new Map(keys.map((key, index) => [key, index]));
    const side = async (scored: ScoredResults): Promise<CaseResults> => {
      await pace.rest();
      const caseOf = Int32Array.from(scored.caseKeys, (key) => indexes.get(key)!);
      return new CaseResults(scored, caseOf, keys.length);
    };
    return new PairedCases(keys, await side(candidate), await side(baseline));
  }

  /** The difference of each case's mean scores, candidate - baseline; NaN where one side has none. */
  differences(scorer: string): Float64Array {
    let differences = this.known.get(scorer);
    if (!differences) {
      const candidate = this.candidate.sums(scorer);
      const baseline = this.baseline.sums(scorer);
      differences = candidate.sums.map((sum, index) =>
        differenceOf(sum / candidate.counts[index]!, baseline.sums[index]! / baseline.counts[index]!),
      );
      this.known.set(scorer, differences);
    }
    return differences;
  }

  /** The mean of a case's differences over these scorers, of which some may lack it; NaN where all do. */
  meanDifferences(scorers: readonly string[]): Float64Array {
    const sums = new Float64Array(this.keys.length);
    const counts = new Float64Array(this.keys.length);
    for (const scorer of scorers) {
      this.differences(scorer).forEach((difference, index) => {
        if (Number.isNaN(difference)) return;
        sums[index]! += difference;
        counts[index]!++;
      });
    }
    return sums.map((sum, index) => {
      const mean = sum / counts[index]!;
      if (!Number.isFinite(mean)) return NaN;
      return Math.abs(mean) <= ROUNDING ? 0 : mean;
    });
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
