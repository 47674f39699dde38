import type { RawJson } from '#platform/json';

/** What a person can score. */
export const TARGET_KINDS = ['trace', 'session', 'result'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** One person's answer about one target. It never changes, except that the person's next answer supersedes it. */
export interface HumanScoreRow {
  score_id: string;
  workspace_id: string;
  scorer_id: string;
  /** The version whose definition validated the answer. */
  scorer_version: number;
  target_kind: TargetKind;
  /** For a result: the trace and the session that it references. */
  trace_id: string | null;
  session_id: string | null;
  /** Both set for a result, else null. */
  experiment_id: string | null;
  result_id: string | null;
  /** The version of the scored result. It does not count for later ones. */
  result_version: number | null;
  /** The answer as a finite number, by the definition's output. */
  score: number;
  /** The answer to an output of type `choice`. */
  choice: string | null;
  /** The answer to an output of type `boolean` or `numeric`. */
  value: RawJson | null;
  /** The answers to an output of type `questions`, by key. */
  answers: RawJson | null;
  /** SHA-256 of the definition's output. Scores with the same hash are on the same scale. */
  output_sha256: string;
  comment: string | null;
  metadata: RawJson;
  /** The same person's earlier score of the same target by the same scorer. */
  supersedes_score_id: string | null;
  /** Null for the person's current score. */
  superseded_by_score_id: string | null;
  created_at: Date;
  updated_at: Date;
  /** The person. */
  created_by: string;
}
