import { Pace } from '../statistics/pace';
import type { ScoredRow } from './comparison.repository';

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
  private readonly pace = new Pace();

  /** @param scorers whose scores are kept. */
  constructor(scorers: readonly string[]) {
    this.scores = new Map(scorers.map((scorer) => [scorer, NOTHING]));
  }

  /** Bytes that the scores take. */
  get scoreBytes(): number {
    let bytes = 0;
    for (const { byteLength } of this.scores.values()) bytes += byteLength;
    return bytes;
  }

  /** Takes the next results, and room for no more than them: most experiments are small, and many may be kept. */
  async add(rows: readonly ScoredRow[]): Promise<void> {
    for (const [scorer, scores] of this.scores) {
      const grown = new Float64Array(this.resultIds.length + rows.length).fill(NaN);
      grown.set(scores);
      this.scores.set(scorer, grown);
    }
    for (const row of rows) {
      const at = this.resultIds.length;
      this.resultIds.push(row.result_id);
      this.caseKeys.push(row.case_key);
      this.bytes.push(row.bytes);
      for (const [scorer, scores] of this.scores) {
        // a scorer may be named as a member that every object has
        const score = Object.hasOwn(row.scores, scorer) ? row.scores[scorer] : null;
        if (typeof score === 'number') scores[at] = score;
      }
      if (this.pace.isDue()) await this.pace.rest();
    }
  }

  /** A score for each result, NaN for none. */
  of(scorer: string): Float64Array {
    return this.scores.get(scorer) ?? NOTHING;
  }
}
