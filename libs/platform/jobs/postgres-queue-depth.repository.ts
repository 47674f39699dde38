import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';
import type { JobKind } from './job-kind';
import { QUEUE_SCHEMA } from './queue-connection';
import { ageOf, COUNTED_MAX, type JobState, type QueueDepth, QueueDepths } from './queue-depth';

/** Each state has an index of its own, by which no more than COUNTED_MAX entries are read; BullMQ's counting reads all. */
const count = (state: JobState): string =>
  `(SELECT count(*) FROM (SELECT FROM ${QUEUE_SCHEMA}.job
      WHERE queue = kind.name AND state = '${state}' LIMIT ${COUNTED_MAX}) counted) AS ${state}`;

const DEPTHS = {
  name: 'job.depths',
  text: `SELECT kind.name AS kind, ${count('waiting')}, ${count('active')}, ${count('delayed')}, ${count('failed')},
      (SELECT added_at_ms FROM ${QUEUE_SCHEMA}.job
       WHERE queue = kind.name AND state = 'waiting' ORDER BY priority, seq LIMIT 1) AS ordered_at
    FROM unnest($1::text[]) AS kind(name)`,
};

type DepthRow = Record<JobState, number> & { kind: string; ordered_at: number | null };

/** The depth of queues that are in PostgreSQL. */
@Injectable()
export class PostgresQueueDepthRepository extends QueueDepths {
  constructor(private readonly database: Database) {
    super();
  }

  async read(kinds: readonly JobKind[]): Promise<QueueDepth[]> {
    const rows = await this.database.query<DepthRow>(DEPTHS, [kinds.map(({ name }) => name)]);
    return rows.map(({ kind, ordered_at, ...jobs }) => ({
      kind,
      jobs,
      oldestWaitingSeconds: ageOf(ordered_at),
    }));
  }
}
