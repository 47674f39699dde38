import type { Pages } from '../api/calls.cjs';
import type { BulkScore, BulkScoreItem, CreateScore, Score } from '../api/types.cjs';
import { chunksOf, type ListOf, Resource } from './resource.js';

/** Most scores that one request records. */
const BULK_MAX = 100;

/** Scores of traces, sessions and results. */
export class Scores extends Resource {
  /** Lists the scores of the workspace, newest first. */
  list(filters: ListOf<'listScores'> = {}): Pages<Score> {
    return this.api.listScores(filters);
  }

  /** Records a score of a `trace_id`, a `session_id` or a `result_id`, by any `scorer_name`. */
  create(score: CreateScore): Promise<Score> {
    return this.api.createScore({ body: score });
  }

  /** Records many scores, 100 for each request. The item of a score that is not valid has an `error`; the others are kept. */
  async bulk(scores: readonly BulkScore[]): Promise<BulkScoreItem[]> {
    const all: BulkScoreItem[] = [];
    for (const items of chunksOf(scores, BULK_MAX)) {
      const offset = all.length;
      const answer = await this.api.createScoresBulk({ body: { items } });
      all.push(...answer.items.map((item) => ({ ...item, index: item.index + offset })));
    }
    return all;
  }
}

/** What a user of your application thinks of an answer. Names one trace, session or result. */
export interface Feedback {
  traceId?: string;
  sessionId?: string;
  resultId?: string;
  /** A thumb or a number, or null to withdraw it. Absent to leave it as it is. */
  score?: boolean | number | null;
  /** At most 2,000 characters. */
  comment?: string;
  /** Any id that tells your users apart: their next feedback to the same target replaces this one. */
  author?: string;
  /** Name of the scorer that the score is listed under (`feedback`). */
  scorer?: string;
  metadata?: Record<string, unknown>;
}

/** Returns the score that feedback becomes. It has the source `end_user`, so that it cannot decide a gate. */
export function scoreOfFeedback({
  traceId,
  sessionId,
  resultId,
  scorer = 'feedback',
  ...rest
}: Feedback): CreateScore {
  return {
    ...rest,
    source: 'end_user',
    scorer_name: scorer,
    ...(traceId !== undefined && { trace_id: traceId }),
    ...(sessionId !== undefined && { session_id: sessionId }),
    ...(resultId !== undefined && { result_id: resultId }),
  };
}
