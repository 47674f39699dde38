import { Injectable } from '@nestjs/common';
import { DayPartitionRepository, type PartitionedTable } from './day-partition.repository';

/** Days after today for which partitions are made. */
const AHEAD = 3;

/** What PostgreSQL says where a row has no partition to go to: "check_violation", and where it was looked for. */
const NO_PARTITION = { code: '23514', routine: 'ExecFindPartition' };

/** Sees to it that what is stored today finds a partition. */
@Injectable()
export class DayPartitions {
  constructor(private readonly partitions: DayPartitionRepository) {}

  /** Makes those of today and the next days that are not there. Any number of processes may do so at once. */
  async makeAhead(table: PartitionedTable): Promise<void> {
    const made = new Set(await this.partitions.list(table));
    for (const day of await this.partitions.days(AHEAD)) {
      if (!made.has(day)) await this.partitions.make(table, day);
    }
  }

  /**
   * Does `work`, which stores what arrives today. Where workers have not made the day's partition it is made, and the work
   * done again: as a transaction it has done nothing.
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
