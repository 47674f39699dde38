import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { Database } from '#platform/db';
import { rootLogger } from '#platform/logging';
import { DayPartitionRepository } from '../partitions/day-partition.repository';
import { TraceRetentionRepository } from './trace-retention.repository';

/** How long everybody may have to wait for a partition that is dropped, and that for what is under way. */
const LOCK_MS = 500;

const LOCK_NOT_AVAILABLE = '55P03';

/** Sources are kept a day longer than the spans that came from them: processes remember for so long that they told them. */
const SOURCE_DAYS = 2;

/**
 * Drops traces that first arrived more than `TRACE_RETENTION_DAYS` ago, a day at a time and the oldest first. Any number
 * of workers may do so at once.
 */
@Injectable()
export class TraceRetention {
  constructor(
    private readonly environment: Environment,
    private readonly database: Database,
    private readonly partitions: DayPartitionRepository,
    private readonly traces: TraceRetentionRepository,
  ) {}

  async sweep(): Promise<void> {
    const { TRACE_RETENTION_DAYS: days } = this.environment;
    if (days === undefined) return;
    const [today] = await this.partitions.days(0);
    const kept = daysBefore(today!, days);
    for (const day of await this.partitions.list('spans')) if (day < kept) await this.dropDay(day);
    // none of a day that could not be dropped
    const [oldest = kept] = await this.partitions.list('spans');
    await this.traces.forgetSources(daysBefore(oldest < kept ? oldest : kept, SOURCE_DAYS));
  }

  /**
   * The rows of the traces go first, in batches: their spans cannot be found any more, and one that still arrives begins
   * the trace anew, today. Then the partition goes together with the rows that were being written to meanwhile, whose
   * locks are waited for before that of the partition, as writers take them. What cannot be had in time is for another
   * time.
   */
  private async dropDay(day: string): Promise<void> {
    await this.traces.forgetMost(day);
    try {
      await this.database.transaction(async (tx) => {
        await this.partitions.waitAtMost(tx, LOCK_MS);
        await this.traces.forgetRest(tx, day);
        await this.partitions.drop(tx, 'spans', day);
      });
    } catch (error) {
      if ((error as { code?: unknown }).code !== LOCK_NOT_AVAILABLE) throw error;
      rootLogger.info({ day }, 'a day of spans is in use and is dropped later');
    }
  }
}

function daysBefore(day: string, days: number): string {
  const before = new Date(`${day}T00:00:00Z`);
  before.setUTCDate(before.getUTCDate() - days);
  return before.toISOString().slice(0, 10);
}
