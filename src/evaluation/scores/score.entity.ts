import type { RawJson } from '#platform/json';
import type { ScoreSource } from '../../telemetry';
import type { ScorerKind } from '../scorers';

/** The kinds of targets that can be scored. */
export const TARGET_KINDS = ['trace', 'session', 'result'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

/** A score of one target. It never changes, except that a newer score may supersede it. */
export interface ScoreRow {
  score_id: string;
  workspace_id: string;
  /** Null, like the kind, if the score names no scorer. */
  scorer_id: string | null;
  scorer_kind: ScorerKind | null;
  /** Null if the score names no scorer, or its version is unknown. */
  scorer_version: number | null;
  /** The scorer's name when the score was given. */
  scorer_name: string;
  source: ScoreSource;
  target_kind: TargetKind;
  /** For a result: the trace and the session that it references. */
  trace_id: string | null;
  session_id: string | null;
  /** Set for a result, else null. */
  experiment_id: string | null;
  result_id: string | null;
  result_version: number | null;
  case_id: string | null;
  /** The span of an evaluation event, hexadecimal. */
  span_id: string | null;
  /** Null if the scorer deliberately gave no score. */
  score: number | null;
  label: string | null;
  /** The answers to an output of type `questions`, by key. */
  answers: RawJson | null;
  comment: string | null;
  metadata: RawJson;
  /** Distinguishes the people or systems behind one principal. */
  author: string | null;
  score_run_id: string | null;
  /** The model of a judge, as its provider answered. */
  model: string | null;
  /** Identifies a judge: SHA-256 over its definition, backend, provider and model. */
  judge_digest: string | null;
  /** Whether a hosted scorer saw only a part of a transcript. */
  is_truncated: boolean;
  /** SHA-256 of the output of a human scorer's definition. Scores with the same hash are on the same scale. */
  output_sha256: string | null;
  /** For a human score: the number of people that the answered definition asks for. */
  min_annotations: number | null;
  /** Whether the experiment of the scored result was finalized before. */
  is_late: boolean;
  /** Whether it is the current score of its result and name. Never set for people's scores, which are combined. */
  is_current: boolean;
  supersedes_score_id: string | null;
  superseded_by_score_id: string | null;
  /** Null if nothing superseded it. */
  superseded_at: Date | null;
  /** When a worker looks for the trace, which had not arrived. Null for all other scores. */
  trace_check_at: Date | null;
  created_at: Date;
  created_by: string;
}
