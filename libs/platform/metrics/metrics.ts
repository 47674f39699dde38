import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { RELEASE } from '#platform/release';
import { type MetricsSource, MetricsSources } from './metrics-sources';

export type { Counter, Gauge, Histogram } from 'prom-client';

/** Prefix of the service's own metrics. Metrics of Node.js and of the process have their usual names. */
const PREFIX = 'registry_';

/**
 * The metrics of one application. A provider declares its metrics in its constructor, each name once:
 *
 *     this.calls = metrics.counter('judge_calls_total', 'Calls to judges.', ['outcome']);
 *
 * Names follow the conventions of Prometheus: base units (`_seconds`, `_bytes`), and `_total` at the end of counters. A
 * label has a small set of known values: never an id, an organization, a workspace or a tenant's name.
 */
@Injectable()
export class Metrics {
  private readonly registry = new Registry();
  private readonly sources: MetricsSources;

  constructor() {
    this.sources = new MetricsSources(
      this.gauge('metrics_source_up', '1 if the last read of this source succeeded, else 0.', ['source']),
      this.counter('metrics_source_failures_total', 'Reads of this source that failed or took too long.', [
        'source',
      ]),
    );
  }

  /** `Content-Type` of the text. */
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;

  counter<Label extends string>(name: string, help: string, labels: readonly Label[] = []): Counter<Label> {
    return new Counter({ ...this.options(name, help), labelNames: labels });
  }

  gauge<Label extends string>(name: string, help: string, labels: readonly Label[] = []): Gauge<Label> {
    return new Gauge({ ...this.options(name, help), labelNames: labels });
  }

  /** @param buckets upper bounds, ascending */
  histogram<Label extends string>(
    name: string,
    help: string,
    buckets: readonly number[],
    labels: readonly Label[] = [],
  ): Histogram<Label> {
    return new Histogram({ ...this.options(name, help), labelNames: labels, buckets: [...buckets] });
  }

  /** Adds gauges that are read at each scrape. */
  addSource(source: MetricsSource): void {
    this.sources.add(source);
  }

  /**
   * Adds the metrics of Node.js and of the process, and its release. Call it once, because they observe until the process
   * ends.
   */
  addProcessMetrics(): void {
    collectDefaultMetrics({ register: this.registry });
    const build = this.gauge(
      'build_info',
      'Always 1. The release of this process, and its version of Node.js.',
      ['release', 'node'],
    );
    build.set({ release: RELEASE, node: process.version }, 1);
  }

  /** Returns all metrics in Prometheus's text format. Takes a few seconds at most, and omits metrics that cannot be read. */
  async text(): Promise<string> {
    await this.sources.read();
    return this.registry.metrics();
  }

  private options(name: string, help: string) {
    return { name: PREFIX + name, help, registers: [this.registry] };
  }
}
