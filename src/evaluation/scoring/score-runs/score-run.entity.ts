import type { RawJson } from '#platform/json';
import type { Grain } from '../../scorers';

export const SCORE_MODES = ['score', 'preview', 'test'] as const;
export type ScoreMode = (typeof SCORE_MODES)[number];

/** Maximum number of targets of one run, and of one request in `preview` or `test`. */
export const TARGETS_MAX = { score: 100, test: 5, preview: 5 } as const satisfies Record<ScoreMode, number>;

export const RUN_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Why a run failed. */
export const FAILURE_CODES = [
  'all_targets_failed',
  'no_scores',
  'cancelled',
  'budget_exceeded',
  'deadline_exceeded',
  'worker_lost',
  'internal_error',
] as const;
export type FailureCode = (typeof FAILURE_CODES)[number];

/** A run of one version of a scorer over targets that were selected when the run was requested. */
export interface ScoreRunRow {
  score_run_id: string;
  workspace_id: string;
  scorer_id: string;
  scorer_version: number;
  experiment_id: string | null;
  /** The rule that started the run. */
  rule_id: string | null;
  /** The batch that the run belongs to. */
  score_batch_id: string | null;
  grain: Grain;
  run_status: RunStatus;
  concurrency: number;
  total: number;
  completed_count: number;
  failed_count: number;
  /** Number of scores that were not written back to their results. */
  not_written_back_count: number;
  cost_usd: number | null;
  max_cost_usd: number | null;
  uses_cache: boolean;
  failure_code: FailureCode | null;
  failure_detail: string | null;
  started_at: Date | null;
  finished_at: Date | null;
  created_at: Date;
  updated_at: Date;
  created_by: string;
}

/** A range of the result ids of an experiment that a selection has scanned. Both ends are inclusive. */
export interface ScannedRange {
  from: string;
  to: string;
}

/** A target: a trace with its session, if it has one; a session; or a result with the trace and session that it names. */
export interface TargetRef {
  /** One of these two may be null; for a result, both may be. */
  trace_id: string | null;
  session_id: string | null;
  /** These are set only if the target is a result. */
  result_experiment_id?: string | null;
  result_id?: string | null;
  result_version?: number | null;
  case_id?: string | null;
}

/** A target of a run. */
export interface ScoringTarget extends Required<TargetRef> {
  ordinal: number;
}

/** Tells whether a target is a result. */
export const isResult = ({ result_version }: TargetRef): boolean => typeof result_version === 'number';

/** Returns the id of a target in the tables. For a result, it includes the version that is scored. */
export const targetIdOf = (target: TargetRef): string =>
  isResult(target) ? `${target.result_id}@${target.result_version}` : (target.trace_id ?? target.session_id)!;

/** The result of one target of a run. */
export interface ScoreResultRow {
  score_run_id: string;
  ordinal: number;
  score_id: string;
  scorer_id: string;
  scorer_version: number;
  trace_id: string | null;
  session_id: string | null;
  /** These two are null unless the target is a result. */
  result_id: string | null;
  case_id: string | null;
  score: number | null;
  choice: string | null;
  confidence: number | null;
  probabilities: RawJson | null;
  answers: RawJson | null;
  reasoning: string | null;
  backend: string | null;
  model: string | null;
  judge_digest: string | null;
  error: string | null;
  elapsed_ms: number;
  cost_usd: number | null;
  request_sha256: string | null;
  is_cached: boolean | null;
  samples: RawJson | null;
  created_at: Date;
}
