import { Injectable } from '@nestjs/common';
import { Database, DELETE_BATCH, deleteInBatches, indexOrdered, raw, type Sql, sql } from '#platform/db';
import type { PartitionedTable } from '../partitions/day-partition.repository';

/** Tables whose rows of one workspace and day can be found, with the order of the index that finds them. */
const ORDERS: Record<'traces' | Exclude<PartitionedTable, 'spans'>, Sql> = {
  traces: raw('day, workspace_id'),
  log_records: raw('workspace_id, logged_at'),
  metric_points: raw('workspace_id, measured_at'),
};

/** Finds and deletes what a workspace keeps shorter than the installation. */
@Injectable()
export class RecordRetentionRepository {
  constructor(private readonly database: Database) {}

  /** Returns which of the days have rows of a workspace, in the same order. Reads one row for each day. */
  async daysWithRows(
    table: keyof typeof ORDERS,
    workspaceId: string,
    days: readonly string[],
  ): Promise<string[]> {
    const rows = await this.database.query<{ day: string }>(
      indexOrdered(
        sql`SELECT d.day::text AS day FROM unnest(${days}::date[]) WITH ORDINALITY AS d(day, place)
          WHERE (SELECT true FROM ${raw(table)} WHERE workspace_id = ${workspaceId} AND day = d.day
                 ORDER BY ${ORDERS[table]} LIMIT 1)
          ORDER BY d.place`,
      ),
    );
    return rows.map(({ day }) => day);
  }

  /** Deletes the rows of a workspace and a day in batches. Not prepared, because only a plan that knows the day reads one partition. */
  deleteDay(table: 'log_records' | 'metric_points', workspaceId: string, day: string): Promise<void> {
    const ofDay = sql`workspace_id = ${workspaceId} AND day = ${day}::date`;
    return deleteInBatches(
      this.database,
      indexOrdered(
        sql`WITH deleted AS (
            DELETE FROM ${raw(table)} WHERE ${ofDay} AND ctid = ANY (ARRAY(
              SELECT ctid FROM ${raw(table)} WHERE ${ofDay} ORDER BY ${ORDERS[table]}
              LIMIT ${raw(String(DELETE_BATCH))} FOR UPDATE SKIP LOCKED
            )) RETURNING 1
          ) SELECT count(*) AS deleted FROM deleted`,
      ),
    );
  }
}
