import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';

/** Tables that are partitioned by `day`. */
export const PARTITIONED_TABLES = ['spans', 'log_records', 'metric_points'] as const;
export type PartitionedTable = (typeof PARTITIONED_TABLES)[number];

/** Advisory lock under which partitions are made: any number, the same in every process. */
const MAKING_LOCK = 7_160_301_448;

const nameOf = (table: PartitionedTable, day: string): string => `${table}_${day.replaceAll('-', '')}`;

/** UTC, by the clock of the database, as `2026-11-20`. */
const DAYS = `SELECT ((now() AT TIME ZONE 'UTC')::date + ahead)::text AS day FROM generate_series(0, $1) ahead`;

const PARTITIONS = `SELECT to_date(right(c.relname, 8), 'YYYYMMDD')::text AS day
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = $1::regclass ORDER BY 1`;

/** Makes, finds and drops the partitions of a day. Their tables are named by it, as `spans_20261120`. */
@Injectable()
export class DayPartitionRepository {
  constructor(private readonly database: Database) {}

  /** Today, and so many days after it. */
  async days(ahead: number): Promise<string[]> {
    return (await this.database.query<{ day: string }>(DAYS, [ahead])).map(({ day }) => day);
  }

  /** The days of a table, in their order. */
  async list(table: PartitionedTable): Promise<string[]> {
    return (await this.database.query<{ day: string }>(PARTITIONS, [table])).map(({ day }) => day);
  }

  /** Makes the partition of a day, unless it is there. Neither reading nor writing of the other days has to wait. */
  async make(table: PartitionedTable, day: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [MAKING_LOCK]);
      const made = await tx.query<{ day: string }>(PARTITIONS, [table]);
      if (made.some((one) => one.day === day)) return;
      // made apart and then attached: PARTITION OF would lock out everybody
      await tx.query(`CREATE TABLE ${nameOf(table, day)} (LIKE ${table} INCLUDING ALL)`);
      await tx.query(
        `ALTER TABLE ${table} ATTACH PARTITION ${nameOf(table, day)} FOR VALUES FROM ('${day}') TO ('${nextDay(day)}')`,
      );
    });
  }

  /** Has the transaction fail where it would wait longer for a lock. */
  async waitAtMost(tx: Tx, milliseconds: number): Promise<void> {
    await tx.query(`SET LOCAL lock_timeout = ${milliseconds}`);
  }

  /** Drops the partition of a day. All that is done with the table has to wait, and this for what is being done. */
  async drop(tx: Tx, table: PartitionedTable, day: string): Promise<void> {
    await tx.query(`DROP TABLE IF EXISTS ${nameOf(table, day)}`);
  }
}

function nextDay(day: string): string {
  const next = new Date(`${day}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return next.toISOString().slice(0, 10);
}
