import type { Pace } from '#platform/turns';
import { CaseOrder } from './case-order';
import { type ComparedMeans, meansOf } from './compared-scorers';
import type { SideReading } from './comparison-reader';
import { PairedCases } from './paired-cases';
import { type ExperimentPair, type PairedDifference, pairedDifference } from './scorer-statistics';

export interface ComparedScorer extends ComparedMeans, PairedDifference {}

/** About what a scorer takes besides its differences: its name, its means, what is said of it. */
const SCORER_BYTES = 2_000;

/**
 * Two experiments paired, but for what their results hold besides scores. All that is kept of it is counted in
 * `heldBytes`; what is worked out when it is first asked for is counted from the beginning.
 */
export class PreparedComparison {
  private readonly orders = new Map<string, CaseOrder>();
  private statistics: ComparedScorer[] | undefined;

  private constructor(
    private readonly pair: ExperimentPair,
    readonly cases: PairedCases,
    readonly means: readonly ComparedMeans[],
    /** Of both sides; more than `means` where they are too many. */
    readonly scorerCount: number,
    private readonly overAll: CaseOrder,
  ) {}

  static async of(candidate: SideReading, baseline: SideReading, scorers: string[], pace: Pace) {
    const cases = await PairedCases.of(candidate.scored, baseline.scored, scorers, pace);
    const overAll = new CaseOrder(await cases.meanDifferences(pace));
    return new PreparedComparison(
      [candidate.experimentId, baseline.experimentId],
      cases,
      meansOf(scorers, candidate.means, baseline.means),
      new Set([...candidate.means, ...baseline.means].map((mean) => mean.scorer)).size,
      overAll,
    );
  }

  /** Whether a scorer is one of those that are compared. */
  has(scorer: string): boolean {
    return this.means.some((one) => one.scorer === scorer);
  }

  /** The cases by the differences of one scorer, or by their means over all. */
  order(scorer: string | undefined): CaseOrder {
    if (scorer === undefined) return this.overAll;
    let order = this.orders.get(scorer);
    if (!order) {
      order = new CaseOrder(this.cases.differences(scorer));
      this.orders.set(scorer, order);
    }
    return order;
  }

  /** The statistics, where they have been worked out. */
  get known(): readonly ComparedScorer[] | undefined {
    return this.statistics;
  }

  /** Works out what is said of each scorer. */
  async compare(pace: Pace): Promise<readonly ComparedScorer[]> {
    const compared: ComparedScorer[] = [];
    const among = { pace, scorers: this.means.length };
    for (const means of this.means) {
      compared.push({ ...means, ...(await pairedDifference(this.cases, means.scorer, this.pair, among)) });
    }
    return (this.statistics = compared);
  }

  /** How much memory it takes. */
  get heldBytes(): number {
    const cases = this.cases.keys.length;
    const orders = cases * Int32Array.BYTES_PER_ELEMENT * (this.means.length + 1);
    const overAll = cases * Float64Array.BYTES_PER_ELEMENT;
    return this.cases.heldBytes + orders + overAll + this.means.length * SCORER_BYTES;
  }
}
