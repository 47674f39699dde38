import type { RawJson } from '#platform/json';
import type { Grain } from '../../scorers';
import type { ScoringTarget } from '../targets/target.entity';

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

/** The final state of a run or a batch. */
export interface Outcome {
  status: Extract<RunStatus, 'succeeded' | 'failed'>;
  failure_code: FailureCode | null;
  failure_detail: string | null;
}

export const SUCCEEDED: Outcome = { status: 'succeeded', failure_code: null, failure_detail: null };

/** Maximum number of targets of one batch. */
export const BATCH_TARGETS_MAX = 100_000;

/** What runs and batches share: one version of a scorer, targets that were selected when it was requested, and counts. */
interface ScoringRow {
  workspace_id: string;
  scorer_id: string;
  scorer_version: number;
  experiment_id: string | null;
  grain: Grain;
  /** Number of targets that a run scores at a time. */
  concurrency: number;
  total: number;
  completed_count: number;
  failed_count: number;
  /** Number of scores that the summary of the experiment does not count. */
  not_written_back_count: number;
  cost_usd: number | null;
  /** Limit for the cost of a run, or of all runs of a batch together. */
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

/** A run over up to 100 targets. */
export interface ScoreRunRow extends ScoringRow {
  score_run_id: string;
  run_status: RunStatus;
  /** The rule that started the run. */
  rule_id: string | null;
  /** The batch that the run belongs to. */
  score_batch_id: string | null;
}

/** A batch of runs. */
export interface ScoreBatchRow extends ScoringRow {
  score_batch_id: string;
  batch_status: RunStatus;
  /** Number of runs started so far. */
  run_count: number;
}

/** The result of one target of a run. */
export interface ScoreResultRow extends Omit<ScoringTarget, 'result_experiment_id' | 'result_version'> {
  score_run_id: string;
  score_id: string;
  scorer_id: string;
  scorer_version: number;
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
