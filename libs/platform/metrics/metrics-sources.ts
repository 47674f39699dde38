import type { Counter, Gauge } from 'prom-client';
import { SingleFlight, withDeadline } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';

/** Deadline of each source. A scrape reads all sources at the same time. */
const DEADLINE_MS = 3_000;
/** Milliseconds that a read is cached. */
const FRESH_MS = 5_000;

/** Gauges whose values must be read from elsewhere, such as the database or a queue. */
export interface MetricsSource {
  name: string;
  /** Removed from scrapes while they cannot be read. */
  gauges: readonly Gauge[];
  /** Reads the values. Returns a function that sets the gauges. */
  read: () => Promise<() => void>;
}

/** Reads the sources at a scrape, with a deadline and a cache, so that scrapes are fast and cause little load. */
export class MetricsSources {
  private readonly readers: SourceReader[] = [];

  constructor(
    private readonly up: Gauge<'source'>,
    private readonly failures: Counter<'source'>,
  ) {}

  add(source: MetricsSource): void {
    this.readers.push(new SourceReader(source, (error) => this.record(source, error)));
    this.failures.inc({ source: source.name }, 0);
  }

  async read(): Promise<void> {
    await Promise.all(this.readers.map((reader) => reader.refresh()));
  }

  private record({ name }: MetricsSource, error: unknown): void {
    this.up.set({ source: name }, error === undefined ? 1 : 0);
    if (error === undefined) return;
    this.failures.inc({ source: name });
    rootLogger.warn({ err: error, source: name }, 'cannot read the metrics of a source');
  }
}

class SourceReader {
  private readAt = -Infinity;
  private readonly reads = new SingleFlight<void>();
  /** A source that hangs is not read again until its last read has ended. */
  private isPending = false;

  /** @param onRead called after each read, with its error if it failed */
  constructor(
    private readonly source: MetricsSource,
    private readonly onRead: (error: unknown) => void,
  ) {}

  refresh(): Promise<void> {
    if (performance.now() - this.readAt < FRESH_MS) return Promise.resolve();
    return this.reads.run(this.source.name, undefined, async () => {
      await this.read();
      this.readAt = performance.now();
    });
  }

  private async read(): Promise<void> {
    try {
      const setGauges = await this.readInTime();
      this.clear();
      setGauges();
      this.onRead(undefined);
    } catch (error) {
      this.clear();
      this.onRead(error);
    }
  }

  private async readInTime(): Promise<() => void> {
    if (this.isPending) throw new Error('The previous read of the source has not ended yet.');
    this.isPending = true;
    const read = this.source.read().finally(() => (this.isPending = false));
    return withDeadline(read, DEADLINE_MS, 'The source did not respond in time.');
  }

  private clear(): void {
    for (const gauge of this.source.gauges) {
      gauge.reset();
      // a reset gauge without labels has the value 0
      if (!hasLabels(gauge)) gauge.remove();
    }
  }
}

const hasLabels = (gauge: Gauge): boolean =>
  (gauge as unknown as { labelNames: readonly string[] }).labelNames.length > 0;
