import { Injectable } from '@nestjs/common';
import { Database, sql, type Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import type { JobData, JobKind } from './job-kind';

export interface OutboxRow {
  id: number;
  kind: string;
  data: JobData;
}

/** Jobs that are enqueued and not yet sent to Redis. */
@Injectable()
export class JobOutboxRepository {
  constructor(private readonly database: Database) {}

  async insert(tx: Tx, kind: JobKind, jobs: readonly JobData[]): Promise<void> {
    await tx.query(
      sql`INSERT INTO job_outbox (kind, ids)
        SELECT ${kind.name}, value FROM jsonb_array_elements(${toJsonText(jobs)}::jsonb)`,
    );
  }

  /** Returns the number of rows, or `limit` if there are more. */
  async count(limit: number): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM (SELECT FROM job_outbox LIMIT ${limit}) counted`,
    );
    return row!.count;
  }

  /** Deletes and returns the oldest rows of these kinds, except rows that another transaction is taking. */
  take(tx: Tx, kinds: readonly JobKind[], limit: number): Promise<OutboxRow[]> {
    const names = kinds.map(({ name }) => name);
    return tx.query<OutboxRow>(
      sql`DELETE FROM job_outbox WHERE id IN (
         SELECT id FROM job_outbox WHERE kind = ANY (${names}::text[]) ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED
       ) RETURNING id, kind, ids AS data`,
    );
  }
}
