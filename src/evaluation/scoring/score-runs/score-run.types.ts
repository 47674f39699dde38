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
  'scorer_deleted',
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

/** Whether a run or a batch with this status has ended. */
export const hasEnded = (status: RunStatus): boolean => status === 'succeeded' || status === 'failed';
