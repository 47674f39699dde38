import type { Counter, Gauge } from 'prom-client';
import { LoadingCache, withDeadline } from '#platform/concurrency';
import { rootLogger } from '#platform/logging';

/** Deadline of each source. A scrape reads all sources at the same time. */
const DEADLINE_MS = 3_000;
/** Milliseconds that a read is cached. */
const FRESH_MS = 5_000;

/** Gauges whose values must be read from elsewhere, such as the database or a queue. */
export interface MetricsSource {
  name: string;
  /** Read before the other sources, because their reads would change the values. */
  isFirst?: boolean;
  /** Removed from scrapes while they cannot be read. */
  gauges: readonly Gauge[];
  /** Reads the values. Returns a function that sets the gauges. */
  read: () => Promise<() => void>;
}

/** Reads the sources at a scrape, with a deadline and a cache, so that scrapes are fast and cause little load. */
export class MetricsSources {
  private readonly sources: MetricsSource[] = [];
  private readonly refreshes = new LoadingCache<void>({ lifetimeMs: FRESH_MS });
  /** The sources whose last read has not ended. A source that hangs is not read again. */
  private readonly pending = new Set<MetricsSource>();

  constructor(
    private readonly up: Gauge<'source'>,
    private readonly failures: Counter<'source'>,
  ) {}

  add(source: MetricsSource): void {
    if (source.isFirst) this.sources.unshift(source);
    else this.sources.push(source);
    this.failures.inc({ source: source.name }, 0);
  }

  async read(): Promise<void> {
    await Promise.all(
      this.sources.map((source) => this.refreshes.find(source.name, () => this.refresh(source))),
    );
  }

  private async refresh(source: MetricsSource): Promise<void> {
    const { name } = source;
    try {
      const setGauges = await this.readInTime(source);
      clear(source);
      setGauges();
      this.up.set({ source: name }, 1);
    } catch (error) {
      clear(source);
      this.up.set({ source: name }, 0);
      this.failures.inc({ source: name });
      rootLogger.warn({ err: error, source: name }, 'cannot read the metrics of a source');
    }
  }

  private async readInTime(source: MetricsSource): Promise<() => void> {
    if (this.pending.has(source)) throw new Error('The previous read of the source has not ended yet.');
    this.pending.add(source);
    const read = source.read().finally(() => this.pending.delete(source));
    return withDeadline(read, DEADLINE_MS, 'The source did not respond in time.');
  }
}

function clear({ gauges }: MetricsSource): void {
  for (const gauge of gauges) {
    gauge.reset();
    // a reset gauge without labels has the value 0
    if (!hasLabels(gauge)) gauge.remove();
  }
}

const hasLabels = (gauge: Gauge): boolean =>
  (gauge as unknown as { labelNames: readonly string[] }).labelNames.length > 0;
