import type { Scope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';

/** Who gives scores: a client, hosted scoring, people (by a human scorer), or the end users of an application. */
export const SCORE_SOURCES = ['client', 'hosted', 'human', 'end_user'] as const;
export type ScoreSource = (typeof SCORE_SOURCES)[number];

/** Bounds of a scorer's scores, inclusive, which may be infinite. */
export interface ScoreBounds {
  /** The name of the scorer. */
  scorer: string;
  from: number;
  to: number;
}

/** A condition that a trace has a score within bounds. */
export interface ScoreCondition extends ScoreBounds {
  /** Null for all sources. */
  source: ScoreSource | null;
}

/** The position of a trace in the order of a scorer's scores. */
export interface ScorePosition {
  score: number;
  score_id: string;
}

export interface ScoredTrace extends ScorePosition {
  trace_id: string;
}

/** A part of the traces in the order of a scorer's scores. */
export interface ScoreOrder extends Pick<ScoreCondition, 'scorer' | 'source'> {
  /** Restricts the order to these traces. Absent: all traces. */
  traceIds?: readonly string[] | undefined;
  descending: boolean;
  /** Absent: from the start. */
  after?: ScorePosition | undefined;
  limit: number;
}

/** A current score of a trace, or of a result that references it if the trace itself has none by the scorer. */
export interface TraceScore {
  target_kind: string;
  /** Set for a result. */
  experiment_id: string | null;
  result_id: string | null;
  scorer_name: string;
  scorer_id: string | null;
  scorer_version: number | null;
  source: string;
  score: number | null;
  label: string | null;
  author: string | null;
  score_id: string;
  created_at: Date;
}

/** Maximum number of scores of each trace in a list, the newest first. */
export const TRACE_SCORES_MAX = 100;

/**
 * Finds traces by their scores. The evaluation area implements it. Every method reads with `on`, so that the statements of a
 * page see one snapshot. The current scores of a trace count. Those of the results that reference it count under names that no
 * score of the trace itself has. If a scorer has several hosted scores, such as one per version, only the newest counts.
 */
export abstract class TraceScores {
  /**
   * Returns the ids of the traces that meet one of the conditions: the first condition that at most `limit` traces meet.
   * Returns null if more traces meet every condition. All conditions must have the same source.
   */
  abstract findMatching(
    on: SqlExecutor,
    scope: Scope,
    conditions: readonly ScoreCondition[],
    limit: number,
  ): Promise<string[] | null>;

  /** Returns the ids among `traceIds` that meet all conditions. */
  abstract filterMatching(
    on: SqlExecutor,
    scope: Scope,
    traceIds: readonly string[],
    conditions: readonly ScoreCondition[],
  ): Promise<Set<string>>;

  /**
   * Returns traces in the order of a scorer's scores. A trace with several scores is at the position of its first score: the
   * highest in descending order, else the lowest.
   */
  abstract listByScore(on: SqlExecutor, scope: Scope, order: ScoreOrder): Promise<ScoredTrace[]>;

  /** Returns the names that no scorer has, and no score. */
  abstract unknownScorers(on: SqlExecutor, scope: Scope, names: readonly string[]): Promise<string[]>;

  /** Returns the newest scores of each trace that count, at most TRACE_SCORES_MAX, newest first. */
  abstract findByTraces(
    on: SqlExecutor,
    scope: Scope,
    traceIds: readonly string[],
  ): Promise<Map<string, TraceScore[]>>;
}
