import type { Tx } from '#platform/db';
import type { JobIds, JobKind } from './job-kind';

/** Where jobs are ordered. Nothing above knows whether the queue is in PostgreSQL or in Redis. */
export abstract class JobQueue {
  /**
   * Orders jobs as part of the caller's transaction: committed, each is delivered at least once; rolled back, there
   * never was one. A job whose subject has one waiting or running already is dropped.
   */
  abstract enqueue<Ids extends JobIds>(tx: Tx, kind: JobKind<Ids>, jobs: readonly Ids[]): Promise<void>;
}
