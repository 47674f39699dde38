import { Injectable } from '@nestjs/common';
import { DayPartitionRepository, type PartitionedTable } from './day-partition.repository';

/** Days after today for which partitions are created. */
const AHEAD = 3;

/** PostgreSQL's error for a row without a partition: "check_violation", from this routine. */
const NO_PARTITION = { code: '23514', routine: 'ExecFindPartition' };

/** Makes sure that there is a partition for the rows of today. */
@Injectable()
export class DayPartitions {
  constructor(private readonly partitions: DayPartitionRepository) {}

  /** Creates the missing partitions of today and the next days. Any number of processes may do so at once. */
  async makeAhead(table: PartitionedTable): Promise<void> {
    const made = new Set(await this.partitions.list(table));
    for (const day of await this.partitions.days(AHEAD)) {
      if (!made.has(day)) await this.partitions.make(table, day);
    }
  }

  /**
   * Does `work`, a transaction that stores rows of today. Where workers have not created the day's partition, creates it
   * and repeats the work, because a failed transaction has stored nothing.
   */
  async withPartitions<Result>(table: PartitionedTable, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.makeAhead(table);
      return await work();
    }
  }
}

function isMissing(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as { code?: unknown; routine?: unknown };
  return code === NO_PARTITION.code && routine === NO_PARTITION.routine;
}
