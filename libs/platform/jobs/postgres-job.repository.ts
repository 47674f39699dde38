import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import { jobData, type JobIds, type JobKind, jobOptions, subjectOf } from './job-kind';
import { JobQueue } from './job-queue';
import { QUEUE_SCHEMA } from './queue-connection';

/**
 * BullMQ's own function for adding a job, called in the caller's transaction. The rows come in the order of their
 * subjects, whose locks it takes, so that two callers cannot wait for each other.
 */
const ADD_JOBS = {
  name: 'job.add',
  text: `SELECT ${QUEUE_SCHEMA}.add_job($1, '', $1, job.data, job.opts, 0, 0, $2, $3, NULL, NULL, NULL, job.subject,
                NULL, false)
    FROM jsonb_to_recordset($4::jsonb) AS job(subject text, data jsonb, opts jsonb)`,
};

/** The queue where it lives in PostgreSQL: ordering a job is one statement of the transaction. */
@Injectable()
export class PostgresJobRepository extends JobQueue {
  async enqueue<Ids extends JobIds>(tx: Tx, kind: JobKind<Ids>, jobs: readonly Ids[]): Promise<void> {
    if (jobs.length === 0) return;
    const rows = jobs
      .map((ids) => ({ subject: subjectOf(kind, ids), data: jobData(ids), opts: jobOptions(kind, ids) }))
      .sort((a, b) => (a.subject < b.subject ? -1 : 1));
    const { attempts } = rows[0]!.opts;
    await tx.query(ADD_JOBS, [kind.name, Date.now(), attempts, toJsonText(rows)]);
  }
}
