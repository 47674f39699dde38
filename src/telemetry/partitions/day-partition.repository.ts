import { Injectable } from '@nestjs/common';
import { Database, raw, sql, type Tx } from '#platform/db';

/** Tables that are partitioned by `day`. */
export const PARTITIONED_TABLES = ['spans', 'log_records', 'metric_points'] as const;
export type PartitionedTable = (typeof PARTITIONED_TABLES)[number];

/** The current UTC day, by the clock of the database. */
export const TODAY = raw(`(clock_timestamp() AT TIME ZONE 'UTC')::date`);

/** Key of the advisory lock for creating partitions: an arbitrary number, the same in every process. */
const CREATION_LOCK = 7_160_301_448;

const nameOf = (table: PartitionedTable, day: string): string => `${table}_${day.replaceAll('-', '')}`;

const partitionsOf = (table: PartitionedTable) =>
  sql`SELECT to_date(right(c.relname, 8), 'YYYYMMDD')::text AS day
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = ${table}::regclass ORDER BY 1`;

/** Creates, lists and drops the partitions of days. A partition's name ends with its day: `spans_20261120`. */
@Injectable()
export class DayPartitionRepository {
  constructor(private readonly database: Database) {}

  /** Returns today and the days after it, as `2026-11-20`: UTC, by the clock of the database. */
  async days(ahead: number): Promise<string[]> {
    const rows = await this.database.query<{ day: string }>(
      sql`SELECT ((now() AT TIME ZONE 'UTC')::date + ahead)::text AS day FROM generate_series(0, ${ahead}) ahead`,
    );
    return rows.map(({ day }) => day);
  }

  /** Returns the days that a table has partitions for, oldest first. */
  async list(table: PartitionedTable): Promise<string[]> {
    return (await this.database.query<{ day: string }>(partitionsOf(table))).map(({ day }) => day);
  }

  /** Creates the partition of a day unless it exists. Blocks neither reads nor writes of other days. */
  async create(table: PartitionedTable, day: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.query(sql`SELECT pg_advisory_xact_lock(${CREATION_LOCK})`);
      const existing = await tx.query<{ day: string }>(partitionsOf(table));
      if (existing.some((one) => one.day === day)) return;
      // created on its own and then attached, because PARTITION OF would lock the whole table
      await tx.query(`CREATE TABLE ${nameOf(table, day)} (LIKE ${table} INCLUDING ALL)`);
      await tx.query(
        `ALTER TABLE ${table} ATTACH PARTITION ${nameOf(table, day)} FOR VALUES FROM ('${day}') TO ('${nextDay(day)}')`,
      );
    });
  }

  /** Makes the transaction fail if it waits longer than this for a lock. */
  async setLockTimeout(tx: Tx, milliseconds: number): Promise<void> {
    await tx.query(`SET LOCAL lock_timeout = ${milliseconds}`);
  }

  /** Drops the partition of a day. Waits until no statement uses the table, and blocks new statements in the meantime. */
  async drop(tx: Tx, table: PartitionedTable, day: string): Promise<void> {
    await tx.query(`DROP TABLE IF EXISTS ${nameOf(table, day)}`);
  }
}

function nextDay(day: string): string {
  const next = new Date(`${day}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return next.toISOString().slice(0, 10);
}
