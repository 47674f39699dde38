import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { ResultKey } from './result.repository';

/** A new result, with the trace and session that it references. */
export type NewResult = Pick<ResultKey, 'result_id' | 'trace_id' | 'session_id'>;

/** All scores of a result after a write-back. */
export interface WrittenBackScores {
  result_id: string;
  scores: Record<string, number | null>;
  score_details: RawJson;
}

/** Writes scores back to results. Implemented by the module that stores human scores. */
export abstract class ScoreWriteBack {
  /**
   * Writes the human scores of the traces and sessions that new results reference to these results, as if the newest human
   * score of each output were recorded now. Returns the results that changed.
   */
  abstract intoNewResults(
    tx: Tx,
    scope: Scope,
    experimentId: string,
    results: readonly NewResult[],
  ): Promise<WrittenBackScores[]>;
}
