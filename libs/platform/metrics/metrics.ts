import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type MetricsSource, MetricsSources } from './metrics-sources';

export type { Counter, Gauge, Histogram } from 'prom-client';

/** Begins the name of every metric of the service; those of Node.js and of the process have their usual names. */
const PREFIX = 'registry_';

/**
 * The metrics of one application. Any provider declares its own in its constructor, each name once:
 *
 *     this.calls = metrics.counter('judge_calls_total', 'Calls of judges.', ['outcome']);
 *
 * Names are those of Prometheus: base units (`_seconds`, `_bytes`), counters end in `_total`. A label has few values
 * that are known beforehand: never an id, a name that a tenant gave, an organization or a workspace.
 */
@Injectable()
export class Metrics {
  private readonly registry = new Registry();
  private readonly sources: MetricsSources;

  constructor() {
    this.sources = new MetricsSources(
      this.gauge('metrics_source_up', '1 where what the metrics of this source are read from answers.', [
        'source',
      ]),
      this.counter('metrics_source_failures_total', 'Readings of this source that failed or took too long.', [
        'source',
      ]),
    );
  }

  /** Of what is there at `Content-Type`. */
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;

  counter<Label extends string>(name: string, help: string, labels: readonly Label[] = []): Counter<Label> {
    return new Counter({ ...this.configured(name, help), labelNames: labels });
  }

  gauge<Label extends string>(name: string, help: string, labels: readonly Label[] = []): Gauge<Label> {
    return new Gauge({ ...this.configured(name, help), labelNames: labels });
  }

  /** @param buckets their upper bounds, ascending */
  histogram<Label extends string>(
    name: string,
    help: string,
    buckets: readonly number[],
    labels: readonly Label[] = [],
  ): Histogram<Label> {
    return new Histogram({ ...this.configured(name, help), labelNames: labels, buckets: [...buckets] });
  }

  /** Adds gauges that are read when they are asked for. */
  from(source: MetricsSource): void {
    this.sources.add(source);
  }

  /** Adds those of Node.js and of the process. They observe until the process ends, so: once, where they are served. */
  addProcessMetrics(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  /** All of them, in Prometheus's text format. Takes a few seconds at most, and leaves out what cannot be read. */
  async text(): Promise<string> {
    await this.sources.read();
    return this.registry.metrics();
  }

  private configured(name: string, help: string) {
    return { name: PREFIX + name, help, registers: [this.registry] };
  }
}
