import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { DayPartitionRepository, PARTITIONED_TABLES } from '../partitions/day-partition.repository';
import { DayDropper, daysBefore } from './day-dropper';
import { type DeletedTraces, TraceRetentionRepository } from './trace-retention.repository';

/** Sources outlive their records by this many days, because a process writes a source only once a day. */
const SOURCE_DAYS = 2;

/**
 * Drops traces that first arrived more than `TRACE_RETENTION_DAYS` ago, day by day, the oldest first. Safe to run in any
 * number of workers at once.
 */
@Injectable()
export class TraceRetention {
  constructor(
    private readonly environment: Environment,
    private readonly partitions: DayPartitionRepository,
    private readonly days: DayDropper,
    private readonly traces: TraceRetentionRepository,
  ) {}

  async deleteExpired(): Promise<void> {
    const { TRACE_RETENTION_DAYS: days } = this.environment;
    const [today] = await this.partitions.days(0);
    if (days !== undefined) {
      const firstRetainedDay = daysBefore(today!, days);
      for (const day of await this.partitions.list('spans')) {
        if (day < firstRetainedDay) await this.dropDay(day);
      }
    }
    await this.traces.deleteSourcesBefore(daysBefore(await this.oldestDay(today!), SOURCE_DAYS));
  }

  /**
   * Deletes the rows of the traces in batches. After that, nobody finds their spans, and a late span creates its trace again,
   * in today's partition. Then drops the partition together with the rows that writers had locked. Locks these rows before
   * the partition, and their sessions after it, in the order that all writers use.
   */
  private async dropDay(day: string): Promise<void> {
    await this.traces.deleteUnlocked(day);
    let deleted: DeletedTraces[] = [];
    await this.days.drop('spans', day, {
      before: async (tx) => void (deleted = await this.traces.deleteRemaining(tx, day)),
      after: (tx) => this.traces.updateSessions(tx, deleted),
    });
  }

  /** Returns the oldest day with records of any signal, but no later than `day`. All signals share the sources. */
  private async oldestDay(day: string): Promise<string> {
    const tables = await Promise.all(PARTITIONED_TABLES.map((table) => this.partitions.list(table)));
    return tables
      .flatMap(([oldest]) => oldest ?? [])
      .reduce((one, other) => (other < one ? other : one), day);
  }
}
