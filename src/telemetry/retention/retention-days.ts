import type { Environment } from '#platform/config';
import type { PartitionedTable } from '../partitions/day-partition.repository';

/** How many days what is in a table is kept after the one on which it arrived; absent for ever. */
export const retentionDays = (environment: Environment): Record<PartitionedTable, number | undefined> => ({
  spans: environment.TRACE_RETENTION_DAYS,
  log_records: environment.LOG_RETENTION_DAYS ?? environment.TRACE_RETENTION_DAYS,
  metric_points: environment.METRIC_RETENTION_DAYS ?? environment.TRACE_RETENTION_DAYS,
});

/** The day that was so many days before. */
export function daysBefore(day: string, days: number): string {
  const before = new Date(`${day}T00:00:00Z`);
  before.setUTCDate(before.getUTCDate() - days);
  return before.toISOString().slice(0, 10);
}
