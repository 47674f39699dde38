import type { JobKind } from './job-kind';

/** At most so many jobs of one kind and state are counted: a queue that is longer is long, and costs no more. */
export const COUNTED_MAX = 100_000;

/** The states that jobs of a kind can be found in. */
export const JOB_STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

export type JobState = (typeof JOB_STATES)[number];

/** How much there is to do of one kind of job. */
export interface QueueDepth {
  kind: string;
  jobs: Record<JobState, number>;
  /** Since the job that is next in line was ordered; 0 where none waits. */
  oldestWaitingSeconds: number;
}

/** Tells how long the queues are, wherever they are, at a cost that does not grow with them. */
export abstract class QueueDepths {
  abstract read(kinds: readonly JobKind[]): Promise<QueueDepth[]>;
}

/** @param orderedAt ms since 1970 of the job that is next in line */
export const ageOf = (orderedAt: number | null | undefined): number =>
  orderedAt == null ? 0 : Math.max(0, (Date.now() - orderedAt) / 1000);
