import type { Pace } from '../statistics/pace';
import type { ScoredBatch } from './comparison.repository';

const NOTHING = new Float64Array(0);

/** The results of one experiment as far as a comparison needs all of them: by columns, a few dozen bytes each. */
export class ScoredResults {
  readonly resultIds: string[] = [];
  readonly caseKeys: string[] = [];
  /** About how large each result is as JSON. */
  readonly bytes: number[] = [];
  /** By scorer, a score for each result; NaN for none. */
  private readonly scores: Map<string, Float64Array>;
  /** There are more results than are compared. */
  isTruncated = false;

  /** @param scorers whose scores are kept. */
  constructor(scorers: readonly string[]) {
    this.scores = new Map(scorers.map((scorer) => [scorer, NOTHING]));
  }

  /** Takes the next results, and room for no more than them: most experiments are small. */
  async add(batch: ScoredBatch, pace: Pace): Promise<void> {
    const first = this.resultIds.length;
    this.resultIds.push(...batch.resultIds);
    this.caseKeys.push(...batch.caseKeys);
    this.bytes.push(...batch.bytes);
    for (const [scorer, scores] of this.scores) {
      const grown = new Float64Array(this.resultIds.length).fill(NaN);
      grown.set(scores);
      for (const [i, own] of batch.scores.entries()) {
        // a scorer may be named as a member that every object has
        const score = Object.hasOwn(own, scorer) ? own[scorer] : null;
        if (typeof score === 'number') grown[first + i] = score;
      }
      this.scores.set(scorer, grown);
      if (pace.isDue()) await pace.rest();
    }
  }

  /** A score for each result, NaN for none. */
  of(scorer: string): Float64Array {
    return this.scores.get(scorer) ?? NOTHING;
  }
}
