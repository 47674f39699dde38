import type { JobKind } from './job-kind';

/** Maximum number of jobs to count of one kind and state, so that the cost does not grow with the queue. */
export const COUNTED_MAX = 100_000;

/** The states of jobs that are counted. */
export const JOB_STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** The depth of the queue of one kind. */
export interface QueueDepth {
  kind: string;
  jobs: Record<JobState, number>;
  /** Seconds since the next job was enqueued; 0 if none waits. */
  oldestWaitingSeconds: number;
}

/** Reads the depths of queues, at a cost that does not grow with them. */
export abstract class QueueDepths {
  abstract read(kinds: readonly JobKind[]): Promise<QueueDepth[]>;
}

/**
 * Returns the age of the next job, in seconds; 0 if none waits.
 *
 * @param enqueuedAt milliseconds since 1970
 */
export const ageOf = (enqueuedAt: number | null | undefined): number =>
  enqueuedAt == null ? 0 : Math.max(0, (Date.now() - enqueuedAt) / 1000);
