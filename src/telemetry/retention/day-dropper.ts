import { Injectable } from '@nestjs/common';
import type { Environment } from '#platform/config';
import { Database, type Tx } from '#platform/db';
import { rootLogger } from '#platform/logging';
import { DayPartitionRepository, type PartitionedTable } from '../partitions/day-partition.repository';

/** How long dropping a partition may wait for running work, and block new work. */
const LOCK_MS = 500;

const LOCK_NOT_AVAILABLE = '55P03';

/** Work in the transaction that drops a partition. */
export interface DropRules {
  before?: (tx: Tx) => Promise<void>;
  after?: (tx: Tx) => Promise<void>;
}

/** Drops the partitions of days. Any number of workers may do so at once. */
@Injectable()
export class DayDropper {
  constructor(
    private readonly database: Database,
    private readonly partitions: DayPartitionRepository,
  ) {}

  /**
   * Drops the partition of a day, in one transaction with the work before and after. A day whose lock is not free in time is
   * left for the next run.
   */
  async drop(table: PartitionedTable, day: string, { before, after }: DropRules = {}): Promise<void> {
    try {
      await this.database.transaction(async (tx) => {
        await this.partitions.waitAtMost(tx, LOCK_MS);
        await before?.(tx);
        await this.partitions.drop(tx, table, day);
        await after?.(tx);
      });
    } catch (error) {
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
      rootLogger.info({ day }, `a day of ${table} is in use and is dropped later`);
    }
  }
}

/** Days to keep rows after the day on which they arrived, by table. Absent: for ever. */
export const retentionDays = (environment: Environment): Record<PartitionedTable, number | undefined> => ({
  spans: environment.TRACE_RETENTION_DAYS,
  log_records: environment.LOG_RETENTION_DAYS ?? environment.TRACE_RETENTION_DAYS,
  metric_points: environment.METRIC_RETENTION_DAYS ?? environment.TRACE_RETENTION_DAYS,
});

/** Returns the day that is this many days earlier. */
export function daysBefore(day: string, days: number): string {
  const before = new Date(`${day}T00:00:00Z`);
  before.setUTCDate(before.getUTCDate() - days);
  return before.toISOString().slice(0, 10);
}
