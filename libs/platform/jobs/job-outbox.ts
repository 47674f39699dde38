import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
import { withDeadline } from '#platform/concurrency';
import { Database, type Tx } from '#platform/db';
import { rootLogger } from '#platform/logging';
import { DeclaredJobs } from './declared-jobs';
import { jobData, type JobIds, type JobKind, jobOptions } from './job-kind';
import { JobOutboxRepository, type OutboxRow } from './job-outbox.repository';
import { JobQueue } from './job-queue';

const BATCH = 100;
/** Redis that does not answer for this long counts as away; the jobs stay in the outbox. */
const ANSWER_MS = 5_000;

/**
 * The queue where it is in Redis, which knows nothing of PostgreSQL's transactions: a job is written to an outbox
 * with the caller's transaction and goes on to Redis once that has committed, or with the worker's next sweep.
 */
@Injectable()
export class JobOutbox extends JobQueue {
  private sending: Promise<void> | null = null;
  private isAsked = false;

  constructor(
    private readonly database: Database,
    private readonly rows: JobOutboxRepository,
    private readonly declared: DeclaredJobs,
    private readonly moduleRef: ModuleRef,
  ) {
    super();
  }

  async enqueue<Ids extends JobIds>(tx: Tx, kind: JobKind<Ids>, jobs: readonly Ids[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.rows.insert(tx, kind, jobs.map(jobData));
    tx.afterCommit(() => void this.flush());
  }

  /** Sends what the outbox holds; what cannot be sent stays. One sending at a time, another after it where asked. */
  flush(): Promise<void> {
    this.isAsked = true;
    this.sending ??= this.sendWhileAsked();
    return this.sending;
  }

  private async sendWhileAsked(): Promise<void> {
    while (this.isAsked) {
      this.isAsked = false;
      await this.send().catch((error: unknown) =>
        rootLogger.warn({ err: error }, 'jobs could not be sent to Redis; they stay in the outbox'),
      );
    }
    this.sending = null;
  }

  private async send(): Promise<void> {
    // during an upgrade the outbox may hold kinds that only the newer processes know: those are theirs to send
    const kinds = this.declared.all();
    let sent: number;
    do {
      sent = await this.database.transaction(async (tx) => {
        const rows = await this.rows.take(tx, kinds, BATCH);
        for (const kind of kinds) {
          await this.publish(
            kind,
            rows.filter((row) => row.kind === kind.name),
          );
        }
        return rows.length;
      });
    } while (sent === BATCH);
  }

  /** Should the transaction not commit after this, the jobs are sent again under the same ids. */
  private async publish(kind: JobKind, rows: OutboxRow[]): Promise<void> {
    if (rows.length === 0) return;
    const { name } = kind;
    const queue = this.moduleRef.get<Queue>(getQueueToken(name), { strict: false });
    const added = queue.addBulk(
      rows.map(({ id, data }) => ({
        name,
        data,
        opts: { ...jobOptions(kind, data), jobId: `outbox-${id}` },
      })),
    );
    await withDeadline(added, ANSWER_MS, 'Redis did not answer in time.');
  }
}
