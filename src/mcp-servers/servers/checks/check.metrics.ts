import { Injectable } from '@nestjs/common';
import { type Counter, type Histogram, Metrics } from '#platform/metrics';
import type { FailureKind } from '../server-health';
import type { CheckTrigger } from './check.types';

const BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

/** Metrics about the checks of MCP servers. */
@Injectable()
export class CheckMetrics {
  private readonly checks: Counter<'trigger' | 'outcome'>;
  private readonly duration: Histogram<'trigger'>;

  constructor(metrics: Metrics) {
    this.checks = metrics.counter(
      'mcp_server_checks_total',
      'Checks of MCP servers, by outcome: ok, or the kind of the failure.',
      ['trigger', 'outcome'],
    );
    this.duration = metrics.histogram(
      'mcp_server_check_duration_seconds',
      'Duration of a successful check of an MCP server, until all its tools are listed.',
      BUCKETS,
      ['trigger'],
    );
  }

  /** @param latencyMs null for a failed check */
  count(trigger: CheckTrigger, outcome: 'ok' | FailureKind, latencyMs: number | null): void {
    this.checks.inc({ trigger, outcome });
    if (latencyMs !== null) this.duration.observe({ trigger }, latencyMs / 1000);
  }
}
