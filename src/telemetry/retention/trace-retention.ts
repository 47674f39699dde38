import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { DayPartitionRepository, PARTITIONED_TABLES } from '../partitions/day-partition.repository';
import { DayDropper } from './day-dropper';
import { daysBefore } from './retention-days';
import { type GoneTraces, TraceRetentionRepository } from './trace-retention.repository';

/** Sources are kept a day longer than what came from them: processes remember for so long that they told them. */
const SOURCE_DAYS = 2;

/**
 * Drops traces that first arrived more than `TRACE_RETENTION_DAYS` ago, a day at a time and the oldest first. Any number
 * of workers may do so at once.
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
    await this.traces.forgetSources(daysBefore(await this.oldestBefore(today!), SOURCE_DAYS));
  }

  /**
   * The rows of the traces go first, in batches: their spans cannot be found any more, and one that still arrives begins
   * the trace anew, today. Then the partition goes together with the rows that were being written to meanwhile: their
   * locks are waited for before that of the partition, and those of their sessions after it, as writers take them.
   */
  private async dropDay(day: string): Promise<void> {
    await this.traces.forgetMost(day);
    let gone: GoneTraces[] = [];
    await this.days.drop('spans', day, {
      before: async (tx) => void (gone = await this.traces.forgetRest(tx, day)),
      after: (tx) => this.traces.keepSessions(tx, gone),
    });
  }

  /** The day, or an earlier one of which something is there that sources are told of: all kinds of telemetry share them. */
  private async oldestBefore(day: string): Promise<string> {
    const tables = await Promise.all(PARTITIONED_TABLES.map((table) => this.partitions.list(table)));
    return tables
      .flatMap(([oldest]) => oldest ?? [])
      .reduce((one, other) => (other < one ? other : one), day);
  }
}
