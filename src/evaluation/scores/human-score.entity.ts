import type { RawJson } from '#platform/json';

/** What a person can score. */
export const TARGET_KINDS = ['trace', 'session', 'result'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** What was scored, by its id. */
export interface ScoreTarget {
  kind: TargetKind;
  /** The trace's, the session's or the result's. */
  id: string;
}

/** One answer of one person about one target. It never changes but for being superseded by their next one. */
export interface HumanScoreRow {
  score_id: string;
  workspace_id: string;
  scorer_id: string;
  /** The version whose definition the answer was held against. */
  scorer_version: number;
  target_kind: TargetKind;
  /** Of a result: the trace and the session that it names. */
  trace_id: string | null;
  session_id: string | null;
  /** Both of a result, and null of anything else. */
  experiment_id: string | null;
  result_id: string | null;
  /** What the definition's output makes of the answer. Finite. */
  score: number;
  /** The answer, one of three by the output's type: `choice`. */
  choice: string | null;
  /** `boolean` and `numeric`: true, false or a number. */
  value: RawJson | null;
  /** `questions`: key to choice, boolean or number. */
  answers: RawJson | null;
  /** SHA-256 of the definition's output: scores of one scorer are of one scale where it is the same. */
  output_sha256: string;
  comment: string | null;
  metadata: RawJson;
  /** The same person's earlier score of the same target by the same scorer. */
  supersedes_score_id: string | null;
  /** Null of their present one. */
  superseded_by_score_id: string | null;
  created_at: Date;
  updated_at: Date;
  /** The person. */
  created_by: string;
}
