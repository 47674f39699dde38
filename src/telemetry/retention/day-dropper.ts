import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import { rootLogger } from '#platform/logging';
import { DayPartitionRepository, type PartitionedTable } from '../partitions/day-partition.repository';

/** How long everybody may have to wait for a partition that is dropped, and that for what is under way. */
const LOCK_MS = 500;

const LOCK_NOT_AVAILABLE = '55P03';

/** What goes with a partition, in the same transaction. */
export interface DropRules {
  before?: (tx: Tx) => Promise<void>;
  after?: (tx: Tx) => Promise<void>;
}

/** Drops days of what is kept by day. Any number of workers may do so at once. */
@Injectable()
export class DayDropper {
  constructor(
    private readonly database: Database,
    private readonly partitions: DayPartitionRepository,
  ) {}

  /**
   * Drops the partition of a day, in one transaction with what is done before and after. A day that cannot be had in time
   * is for another time.
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
