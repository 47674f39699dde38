import type { Counter, Gauge } from 'prom-client';
import { SingleFlight, withDeadline } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';

/** Longest time that a source may take; a scrape waits for all of them at once. */
const DEADLINE_MS = 3_000;
/** What was read counts for this long, however often it is asked for. */
const FRESH_MS = 5_000;

/** Gauges whose values are elsewhere: in the database, in a queue. */
export interface MetricsSource {
  name: string;
  /** Left out while they cannot be read. */
  gauges: readonly Gauge[];
  /** Reads them. @returns what sets them. */
  read: () => Promise<() => void>;
}

/** Reads the sources when metrics are asked for, so that nobody who asks can wait for long, or load what is read. */
export class MetricsSources {
  private readonly readings: SourceReading[] = [];

  constructor(
    private readonly up: Gauge<'source'>,
    private readonly failures: Counter<'source'>,
  ) {}

  add(source: MetricsSource): void {
    this.readings.push(new SourceReading(source, (error) => this.tell(source, error)));
    this.failures.inc({ source: source.name }, 0);
  }

  async read(): Promise<void> {
    await Promise.all(this.readings.map((reading) => reading.refresh()));
  }

  private tell({ name }: MetricsSource, error: unknown): void {
    this.up.set({ source: name }, error === undefined ? 1 : 0);
    if (error === undefined) return;
    this.failures.inc({ source: name });
    rootLogger.warn({ err: error, source: name }, 'metrics could not be read');
  }
}

class SourceReading {
  private readAt = -Infinity;
  private readonly reads = new SingleFlight<void>();
  /** Of a source that hangs, nothing is asked again before it has answered. */
  private hanging = false;

  /** @param tell is told of each reading, with what it failed of */
  constructor(
    private readonly source: MetricsSource,
    private readonly tell: (error: unknown) => void,
  ) {}

  refresh(): Promise<void> {
    if (performance.now() - this.readAt < FRESH_MS) return Promise.resolve();
    return this.reads.run(this.source.name, undefined, async () => {
      await this.take();
      this.readAt = performance.now();
    });
  }

  private async take(): Promise<void> {
    try {
      const set = await this.inTime();
      this.clear();
      set();
      this.tell(undefined);
    } catch (error) {
      this.clear();
      this.tell(error);
    }
  }

  private async inTime(): Promise<() => void> {
    if (this.hanging) throw new Error('It has not answered yet.');
    this.hanging = true;
    const answer = this.source.read().finally(() => (this.hanging = false));
    return withDeadline(answer, DEADLINE_MS, 'It did not answer in time.');
  }

  private clear(): void {
    for (const gauge of this.source.gauges) {
      gauge.reset();
      // what has no labels is 0 now, which would be a value
      if (!hasLabels(gauge)) gauge.remove();
    }
  }
}

const hasLabels = (gauge: Gauge): boolean =>
  (gauge as unknown as { labelNames: readonly string[] }).labelNames.length > 0;
