import { SUMMARY_RESULTS_MAX } from '../experiments/summary.repository';
import type { Pace } from '#platform/turns';
import type { ScoredBatch } from './comparison.repository';

const NOTHING = new Float64Array(0);

/** The results of one experiment as far as a comparison needs all of them: by columns, a few dozen bytes each. */
export class ScoredResults {
  readonly resultIds: string[] = [];
  readonly caseKeys: string[] = [];
  /** About how large each result is as JSON. */
  readonly bytes: number[] = [];
  /** By scorer, a score for each result, and room for further ones; NaN for none. */
  private readonly scores: Map<string, Float64Array>;
  /** Results that there is room for. */
  private room = 0;
  /** There are more results than are compared. */
  isTruncated = false;

  /** @param scorers whose scores are kept. */
  constructor(scorers: readonly string[]) {
    this.scores = new Map(scorers.map((scorer) => [scorer, NOTHING]));
  }

  /** Takes the next results. Room is doubled, so that each score is moved but once or twice, however many batches there are. */
  async add(batch: ScoredBatch, pace: Pace): Promise<void> {
    const first = this.resultIds.length;
    this.resultIds.push(...batch.resultIds);
    this.caseKeys.push(...batch.caseKeys);
    this.bytes.push(...batch.bytes);
    if (this.resultIds.length > this.room) {
      this.room = Math.max(this.resultIds.length, Math.min(2 * this.room, SUMMARY_RESULTS_MAX));
    }
    for (const [scorer, known] of this.scores) {
      const scores = known.length < this.room ? grown(known, this.room) : known;
      for (const [i, own] of batch.scores.entries()) {
        // a scorer may be named as a member that every object has
        const score = Object.hasOwn(own, scorer) ? own[scorer] : null;
        if (typeof score === 'number') scores[first + i] = score;
      }
      this.scores.set(scorer, scores);
      if (pace.isDue()) await pace.rest();
    }
  }

  /** A score for each result, NaN for none; to be read when all results are there. */
  of(scorer: string): Float64Array {
    return (this.scores.get(scorer) ?? NOTHING).subarray(0, this.resultIds.length);
  }
}

function grown(scores: Float64Array, room: number): Float64Array {
  const all = new Float64Array(room).fill(NaN, scores.length);
  all.set(scores);
  return all;
}
