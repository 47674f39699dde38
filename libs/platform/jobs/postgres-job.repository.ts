import { Injectable } from '@nestjs/common';
import { prepared, raw, sql, type Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import { jobData, type JobIds, type JobKind, jobOptions, subjectOf } from './job-kind';
import { JobQueue } from './job-queue';
import { QUEUE_SCHEMA } from './queue-connection';

/**
 * Calls BullMQ's own function for adding a job. It locks the subject of each job, so the rows must be sorted by subject
 * to avoid deadlocks.
 */
const addJobs = (queue: string, attempts: number, jobs: string) =>
  prepared(
    'job.add',
    sql`SELECT ${raw(QUEUE_SCHEMA)}.add_job(${queue}, '', ${queue}, job.data, job.opts, 0, 0, ${Date.now()}, ${attempts},
        NULL, NULL, NULL, job.subject, NULL, false)
      FROM jsonb_to_recordset(${jobs}::jsonb) AS job(subject text, data jsonb, opts jsonb)`,
  );

/** The queue in PostgreSQL. Enqueuing jobs is one statement of the caller's transaction. */
@Injectable()
export class PostgresJobRepository extends JobQueue {
  async enqueue<Ids extends JobIds>(tx: Tx, kind: JobKind<Ids>, jobs: readonly Ids[]): Promise<void> {
    if (jobs.length === 0) return;
    const rows = jobs
      .map((ids) => ({ subject: subjectOf(kind, ids), data: jobData(ids), opts: jobOptions(kind, ids) }))
      .sort((a, b) => (a.subject < b.subject ? -1 : 1));
    const { attempts } = rows[0]!.opts;
    await tx.query(addJobs(kind.name, attempts, toJsonText(rows)));
  }
}
