import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { ExportRepository } from '../exports/export.repository';
import { DayPartitionRepository } from '../partitions/day-partition.repository';
import { DayDropper, daysBefore, retentionDays } from './day-dropper';

/** Days for which stored exports are remembered. Exporters stop retrying after minutes. */
const EXPORT_DAYS = 2;

/**
 * Drops logs that arrived more than `LOG_RETENTION_DAYS` ago, and metrics that arrived more than `METRIC_RETENTION_DAYS` ago:
 * day by day, the oldest first. Safe to run in any number of workers at once.
 */
@Injectable()
export class SignalRetention {
  constructor(
    private readonly environment: Environment,
    private readonly days: DayDropper,
    private readonly partitions: DayPartitionRepository,
    private readonly exports: ExportRepository,
  ) {}

  async deleteExpired(): Promise<void> {
    const days = retentionDays(this.environment);
    await this.dropExpired('log_records', days.log_records);
    await this.dropExpired('metric_points', days.metric_points);
    const [today] = await this.partitions.days(0);
    await this.exports.deleteBefore(daysBefore(today!, EXPORT_DAYS));
  }

  private async dropExpired(table: 'log_records' | 'metric_points', days: number | undefined): Promise<void> {
    if (days === undefined) return;
    const [today] = await this.partitions.days(0);
    const firstRetainedDay = daysBefore(today!, days);
    for (const day of await this.partitions.list(table)) {
      if (day >= firstRetainedDay) break;
      await this.days.drop(table, day);
    }
  }
}
