import type { Tx } from '#platform/db';
import type { JobIds, JobKind } from './job-kind';

/** Enqueues jobs, in PostgreSQL or in Redis. Code outside of this folder does not know which. */
export abstract class JobQueue {
  /**
   * Enqueues jobs in the caller's transaction. After a commit each is delivered at least once; after a rollback never.
   * A job is dropped if another one waits or runs for the same subject.
   */
  abstract enqueue<Ids extends JobIds>(tx: Tx, kind: JobKind<Ids>, jobs: readonly Ids[]): Promise<void>;
}
