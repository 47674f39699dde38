import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { getQueueToken } from '@nestjs/bullmq';
import type { Queue } from 'bullmq';
import { Environment } from '#platform/config';
import { Database, prepared, raw, type Sql, sql } from '#platform/db';
import type { JobKind } from './job-kind';
import { QUEUE_SCHEMA, usesRedis } from './queue-connection';

/** Maximum number of jobs to count of one kind and state, so that the cost does not grow with the queue. */
export const COUNTED_MAX = 100_000;

/** The states of jobs that are counted. */
export const JOB_STATES = ['waiting', 'active', 'delayed', 'failed'] as const;

type JobCounts = Record<(typeof JOB_STATES)[number], number>;

/** The depth of the queue of one kind. */
interface QueueDepth {
  kind: string;
  jobs: JobCounts;
  /** Seconds since the next job was enqueued; 0 if none waits. */
  oldestWaitingSeconds: number;
}

/** Counts up to COUNTED_MAX entries in the index of each state. BullMQ's own count would read all of them. */
const counts: Sql = raw(
  JOB_STATES.map(
    (state) => `(SELECT count(*) FROM (SELECT FROM ${QUEUE_SCHEMA}.job
      WHERE queue = kind.name AND state = '${state}' LIMIT ${COUNTED_MAX}) counted) AS ${state}`,
  ).join(', '),
);

/** Reads the depths of queues, at a cost that does not grow with them. */
@Injectable()
export class QueueDepthRepository {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly moduleRef: ModuleRef,
  ) {}

  read(kinds: readonly JobKind[]): Promise<QueueDepth[]> {
    const names = kinds.map(({ name }) => name);
    return usesRedis(this.environment)
      ? Promise.all(names.map((name) => this.readFromRedis(name)))
      : this.readFromPostgres(names);
  }

  private async readFromPostgres(names: readonly string[]): Promise<QueueDepth[]> {
    const rows = await this.database.query<JobCounts & { kind: string; ordered_at: number | null }>(
      prepared(
        'job.depths',
        sql`SELECT kind.name AS kind, ${counts},
          (SELECT added_at_ms FROM ${raw(QUEUE_SCHEMA)}.job
           WHERE queue = kind.name AND state = 'waiting' ORDER BY priority, seq LIMIT 1) AS ordered_at
        FROM unnest(${names}::text[]) AS kind(name)`,
      ),
    );
    return rows.map(({ kind, ordered_at, ...jobs }) => ({
      kind,
      jobs,
      oldestWaitingSeconds: ageOf(ordered_at),
    }));
  }

  /** Redis knows the length of each of its lists. */
  private async readFromRedis(name: string): Promise<QueueDepth> {
    const queue = this.moduleRef.get<Queue>(getQueueToken(name), { strict: false });
    const [jobs, [next]] = await Promise.all([queue.getJobCounts(...JOB_STATES), queue.getWaiting(0, 0)]);
    const count = (state: (typeof JOB_STATES)[number]): number => jobs[state] ?? 0;
    return {
      kind: name,
      jobs: Object.fromEntries(JOB_STATES.map((state) => [state, count(state)])) as JobCounts,
      oldestWaitingSeconds: ageOf(next?.timestamp),
    };
  }
}

/**
 * Returns the age of the next job, in seconds; 0 if none waits.
 *
 * @param enqueuedAt milliseconds since 1970
 */
const ageOf = (enqueuedAt: number | null | undefined): number =>
  enqueuedAt == null ? 0 : Math.max(0, (Date.now() - enqueuedAt) / 1000);
