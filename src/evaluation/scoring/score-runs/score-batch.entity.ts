import type { Grain } from '../../scorers';
import type { FailureCode } from './score-run.entity';

export const BATCH_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** Maximum number of targets of one batch. */
export const BATCH_TARGETS_MAX = 100_000;

/** A batch of runs of one version of a scorer, over targets that were selected when the batch was requested. */
export interface ScoreBatchRow {
  score_batch_id: string;
  workspace_id: string;
  scorer_id: string;
  scorer_version: number;
  experiment_id: string | null;
  grain: Grain;
  batch_status: BatchStatus;
  /** Number of targets that each run scores at a time. */
  concurrency: number;
  total: number;
  completed_count: number;
  failed_count: number;
  not_written_back_count: number;
  /** Number of runs started so far. */
  run_count: number;
  cost_usd: number | null;
  /** Limit for the cost of all runs together. */
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
