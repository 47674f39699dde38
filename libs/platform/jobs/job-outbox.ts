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
/** Milliseconds for a response from Redis. After that, the jobs stay in the outbox. */
const RESPONSE_MS = 5_000;

/**
 * The queue in Redis, which does not take part in PostgreSQL's transactions. The caller's transaction writes a job to an
 * outbox. The job is sent to Redis after the commit, or when a worker next flushes the outbox.
 */
@Injectable()
export class JobOutbox extends JobQueue {
  private sending: Promise<void> | null = null;
  private isRequested = false;

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

  /**
   * Sends the jobs in the outbox. Jobs that cannot be sent stay in it. A call during a flush causes another one after it,
   * because the first may have missed the newest jobs.
   */
  flush(): Promise<void> {
    this.isRequested = true;
    this.sending ??= this.sendWhileRequested();
    return this.sending;
  }

  private async sendWhileRequested(): Promise<void> {
    while (this.isRequested) {
      this.isRequested = false;
      await this.send().catch((error: unknown) =>
        rootLogger.warn({ err: error }, 'cannot send jobs to Redis; they stay in the outbox'),
      );
    }
    this.sending = null;
  }

  private async send(): Promise<void> {
    // during an upgrade the outbox may contain kinds that only newer processes know and send
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

  /** If the transaction then fails to commit, the jobs are sent again under the same ids. */
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
    await withDeadline(added, RESPONSE_MS, 'Redis did not respond in time.');
  }
}
