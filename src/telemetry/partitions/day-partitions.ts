import { Injectable } from '@nestjs/common';
import { DayPartitionRepository, type PartitionedTable } from './day-partition.repository';

/** Days after today for which partitions are created. */
const DAYS_AHEAD = 3;

/** PostgreSQL's error for a row without a partition: `check_violation`, raised by this routine. */
const NO_PARTITION = { code: '23514', routine: 'ExecFindPartition' };

/** Ensures that today's rows have a partition. */
@Injectable()
export class DayPartitions {
  constructor(private readonly partitions: DayPartitionRepository) {}

  /** Creates the missing partitions of today and the next days. Safe to run in any number of processes at once. */
  async createAhead(table: PartitionedTable): Promise<void> {
    const existing = new Set(await this.partitions.list(table));
    for (const day of await this.partitions.days(DAYS_AHEAD)) {
      if (!existing.has(day)) await this.partitions.create(table, day);
    }
  }

  /**
   * Runs `work`, a transaction that stores rows of today. If today's partition is missing, creates it and retries the work,
   * which is safe because the failed transaction has stored nothing.
   */
  async withPartitions<Result>(table: PartitionedTable, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.createAhead(table);
      return await work();
    }
  }
}

function isMissing(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as { code?: unknown; routine?: unknown };
  return code === NO_PARTITION.code && routine === NO_PARTITION.routine;
}
