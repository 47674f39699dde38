import { Injectable } from '@nestjs/common';
import { type Counter, type Histogram, Metrics } from '#platform/metrics';
import { Problem } from '#platform/problem';
import type { RefusedCounts } from '../deletion/refusals';

export type Signal = 'traces' | 'logs' | 'metrics';

const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Metrics about storing exports. */
@Injectable()
export class ExportMetrics {
  private readonly exports: Counter<'signal' | 'outcome'>;
  private readonly refused: Counter<'signal' | 'reason'>;
  private readonly groups: Counter<'signal'>;
  private readonly duration: Histogram<'signal'>;

  constructor(metrics: Metrics) {
    this.exports = metrics.counter(
      'telemetry_exports_total',
      'Exports of telemetry, by outcome: stored, refused or failed.',
      ['signal', 'outcome'],
    );
    this.refused = metrics.counter(
      'telemetry_refused_records_total',
      'Records that were refused, by reason: deleted_workspace, deleted_trace or erased_user.',
      ['signal', 'reason'],
    );
    this.groups = metrics.counter(
      'telemetry_groups_total',
      'Attempts to store a group of exports, each in one transaction.',
      ['signal'],
    );
    this.duration = metrics.histogram(
      'telemetry_group_duration_seconds',
      'Time to store a group of exports.',
      BUCKETS,
      ['signal'],
    );
  }

  /** Counts an export by its outcome. */
  async count<Result>(signal: Signal, stored: Promise<Result>): Promise<Result> {
    try {
      const result = await stored;
      this.exports.inc({ signal, outcome: 'stored' });
      return result;
    } catch (error) {
      const isRefused = error instanceof Problem && error.status === 400;
      this.exports.inc({ signal, outcome: isRefused ? 'refused' : 'failed' });
      throw error;
    }
  }

  /** Counts the refused records of a stored export. */
  countRefused(signal: Signal, counts: RefusedCounts): void {
    for (const [reason, count] of Object.entries(counts)) this.refused.inc({ signal, reason }, count);
  }

  /** Writes a group, and observes its duration. */
  async observe<Result>(signal: Signal, write: () => Promise<Result>): Promise<Result> {
    const start = performance.now();
    this.groups.inc({ signal });
    try {
      return await write();
    } finally {
      this.duration.observe({ signal }, (performance.now() - start) / 1000);
    }
  }
}
