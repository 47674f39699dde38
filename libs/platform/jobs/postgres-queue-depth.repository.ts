import { Injectable } from '@nestjs/common';
import { Database, prepared, raw, type Sql, sql } from '#platform/db';
import type { JobKind } from './job-kind';
import { QUEUE_SCHEMA } from './queue-connection';
import { ageOf, COUNTED_MAX, type JobState, type QueueDepth, QueueDepths } from './queue-depth';

/** Counts up to COUNTED_MAX entries in the index of each state. BullMQ's own count would read all of them. */
const count = (state: JobState): Sql =>
  raw(`(SELECT count(*) FROM (SELECT FROM ${QUEUE_SCHEMA}.job
      WHERE queue = kind.name AND state = '${state}' LIMIT ${COUNTED_MAX}) counted) AS ${state}`);

const depths = (kinds: string[]) =>
  prepared(
    'job.depths',
    sql`SELECT kind.name AS kind, ${count('waiting')}, ${count('active')}, ${count('delayed')}, ${count('failed')},
      (SELECT added_at_ms FROM ${raw(QUEUE_SCHEMA)}.job
       WHERE queue = kind.name AND state = 'waiting' ORDER BY priority, seq LIMIT 1) AS ordered_at
    FROM unnest(${kinds}::text[]) AS kind(name)`,
  );

type DepthRow = Record<JobState, number> & { kind: string; ordered_at: number | null };

/** Reads the depth of queues in PostgreSQL. */
@Injectable()
export class PostgresQueueDepthRepository extends QueueDepths {
  constructor(private readonly database: Database) {
    super();
  }

  async read(kinds: readonly JobKind[]): Promise<QueueDepth[]> {
    const rows = await this.database.query<DepthRow>(depths(kinds.map(({ name }) => name)));
    return rows.map(({ kind, ordered_at, ...jobs }) => ({
      kind,
      jobs,
      oldestWaitingSeconds: ageOf(ordered_at),
    }));
  }
}
