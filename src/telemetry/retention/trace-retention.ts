import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { DayPartitionRepository, PARTITIONED_TABLES } from '../partitions/day-partition.repository';
import { DayDropper, daysBefore } from './day-dropper';
import { type GoneTraces, TraceRetentionRepository } from './trace-retention.repository';

/** Sources are kept a day longer than their records, because processes remember for a day to have stored them. */
const SOURCE_DAYS = 2;

/**
 * Drops traces that first arrived more than `TRACE_RETENTION_DAYS` ago, day by day, the oldest first. Any number of workers
 * may do so at once.
 */
@Injectable()
export class TraceRetention {
  constructor(
    private readonly environment: Environment,
    private readonly partitions: DayPartitionRepository,
    private readonly days: DayDropper,
    private readonly traces: TraceRetentionRepository,
  ) {}

  async sweep(): Promise<void> {
    const { TRACE_RETENTION_DAYS: days } = this.environment;
    const [today] = await this.partitions.days(0);
    if (days !== undefined) {
      const kept = daysBefore(today!, days);
      for (const day of await this.partitions.list('spans')) if (day < kept) await this.dropDay(day);
    }
    await this.traces.deleteSourcesBefore(daysBefore(await this.oldestBefore(today!), SOURCE_DAYS));
  }

  /**
   * Deletes the rows of the traces first, in batches. Their spans cannot be found any more, and a span that still arrives
   * starts the trace anew, today. Then drops the partition together with the trace rows that were being written meanwhile:
   * locks those before the partition, and their sessions after it, as writers do.
   */
  private async dropDay(day: string): Promise<void> {
    await this.traces.deleteUnlocked(day);
    let gone: GoneTraces[] = [];
    await this.days.drop('spans', day, {
      before: async (tx) => void (gone = await this.traces.deleteRest(tx, day)),
      after: (tx) => this.traces.updateSessions(tx, gone),
    });
  }

  /** Returns the day, or the oldest day with records if that is earlier. All signals share the sources. */
  private async oldestBefore(day: string): Promise<string> {
    const tables = await Promise.all(PARTITIONED_TABLES.map((table) => this.partitions.list(table)));
    return tables
      .flatMap(([oldest]) => oldest ?? [])
      .reduce((one, other) => (other < one ? other : one), day);
  }
}
