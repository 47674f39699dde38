import { Injectable } from '@nestjs/common';
import type { Environment } from '#platform/config';
import { Database, type Tx } from '#platform/db';
import { rootLogger } from '#platform/logging';
import { isLockTimeout } from '#platform/problem';
import { DayPartitionRepository, type PartitionedTable } from '../partitions/day-partition.repository';

/** How long dropping a partition may wait for running statements and block new ones. */
const LOCK_MS = 500;

/** Steps in the transaction that drops a partition. */
export interface DropSteps {
  before?: (tx: Tx) => Promise<void>;
  after?: (tx: Tx) => Promise<void>;
}

/** Drops the partitions of days. Safe to run in any number of workers at once. */
@Injectable()
export class DayDropper {
  constructor(
    private readonly database: Database,
    private readonly partitions: DayPartitionRepository,
  ) {}

  /**
   * Drops the partition of a day, in one transaction with the steps before and after. If the lock is not free in time, leaves
   * the day to the next run.
   */
  async drop(table: PartitionedTable, day: string, { before, after }: DropSteps = {}): Promise<void> {
    try {
      await this.database.transaction(async (tx) => {
        await this.partitions.setLockTimeout(tx, LOCK_MS);
        await before?.(tx);
        await this.partitions.drop(tx, table, day);
        await after?.(tx);
      });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      rootLogger.info({ day }, `a partition of ${table} is in use; the next run will try again`);
    }
  }
}

/** Returns for how many days each kind of row is stored after its arrival; undefined means forever. */
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
