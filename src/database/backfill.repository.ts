import { Injectable } from '@nestjs/common';
import { Database, join, raw, type Sql, sql, type Tx } from '#platform/db';
import type { BackfillStep, NamedStep } from './migrations/migration';

/** Rows of a batch, which are locked together for some milliseconds. */
const BATCH_ROWS = 1_000;

/** The progress of a backfill that has not finished. */
export interface RunningBackfill {
  name: string;
  rows_done: number;
  rows_estimated: number;
}

interface Batch {
  rows: number;
  position: string[];
}

/** Runs the batches of backfills. */
@Injectable()
export class BackfillRepository {
  constructor(private readonly database: Database) {}

  /** Returns the backfills that have not finished. */
  running(): Promise<RunningBackfill[]> {
    return this.database.query<RunningBackfill>(
      sql`SELECT name, rows_done, rows_estimated FROM backfills WHERE finished_at IS NULL ORDER BY started_at, name`,
    );
  }

  /**
   * Runs the next batch of a backfill, and stores its position in the same transaction.
   *
   * @returns whether there may be more rows; null if another worker runs a batch of it, or it has finished
   */
  runBatch({ name, step }: NamedStep<BackfillStep>): Promise<boolean | null> {
    return this.database.transaction(async (tx) => {
      const [backfill] = await tx.query<{ position: string[] | null }>(
        sql`SELECT position FROM backfills WHERE name = ${name} AND finished_at IS NULL FOR UPDATE SKIP LOCKED`,
      );
      if (!backfill) return null;
      const { rows, position } = await this.change(tx, step, backfill.position);
      const hasMore = rows === BATCH_ROWS;
      await tx.query(
        sql`UPDATE backfills SET rows_done = rows_done + ${rows},
            position = coalesce(${position && JSON.stringify(position)}::jsonb, position),
            finished_at = CASE WHEN ${hasMore}::boolean THEN NULL ELSE now() END
          WHERE name = ${name}`,
      );
      return hasMore;
    });
  }

  /** Locks the rows after a position in the order of the key, and changes them. */
  private async change(
    tx: Tx,
    { table, key, sql: statement }: BackfillStep,
    after: string[] | null,
  ): Promise<Batch> {
    const columns = raw(key.join(', '));
    const where: Sql = after ? sql`WHERE (${columns}) > (${join(after)})` : sql``;
    const texts = raw(key.map((column) => `${column}::text`).join(', '));
    const last = raw(key.map((column) => `${column} DESC`).join(', '));
    const [batch] = await tx.query<Batch>(
      sql`WITH batch AS MATERIALIZED (
          SELECT ${columns} FROM ${raw(table)} ${where} ORDER BY ${columns} LIMIT ${BATCH_ROWS} FOR NO KEY UPDATE
        ), changed AS (${raw(statement)})
        SELECT (SELECT count(*)::int FROM batch) AS rows,
          (SELECT jsonb_build_array(${texts}) FROM batch ORDER BY ${last} LIMIT 1) AS position`,
    );
    return batch!;
  }
}
