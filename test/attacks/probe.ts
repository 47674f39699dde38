import http from 'node:http';

/** Interval in milliseconds at which requests are sent, even while earlier ones are pending. */
const INTERVAL_MS = 100;
/** Maximum number of pending requests. */
const OPEN_MAX = 20;
/** Time after which a request fails, in milliseconds. */
const TIMEOUT_MS = 120_000;

/** What a caller observed. */
export interface Observation {
  /** Number of requests. */
  count: number;
  /** The distinct failures: a status, or an error of the connection. */
  failures: string[];
  /** In milliseconds. */
  p99: number;
  worst: number;
}

/** Sends a GET at an interval, on its own connections, and records the status and latency of each response. */
export class Probe {
  private readonly agent = new http.Agent({ keepAlive: true, maxSockets: OPEN_MAX, timeout: 4_000 });
  private readonly open = new Set<Promise<void>>();
  private readonly latencies: number[] = [];
  private readonly failures = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly url: string,
    private readonly headers: Record<string, string>,
  ) {}

  start(): void {
    this.timer = setInterval(() => {
      if (this.open.size < OPEN_MAX) void this.send();
    }, INTERVAL_MS);
  }

  /** Sends one more request, and waits for all responses. */
  async stop(): Promise<Observation> {
    clearInterval(this.timer);
    void this.send();
    await Promise.all(this.open);
    this.agent.destroy();
    const sorted = [...this.latencies].sort((a, b) => a - b);
    return {
      count: sorted.length,
      failures: [...this.failures],
      p99: sorted[Math.floor(0.99 * (sorted.length - 1))] ?? 0,
      worst: sorted.at(-1) ?? 0,
    };
  }

  private async send(): Promise<void> {
    const startedAt = performance.now();
    const pending = this.fetchStatus()
      .then((status) => {
        if (status > 299) this.failures.add(String(status));
      })
      .catch((error: unknown) => {
        const { code, message } = error as NodeJS.ErrnoException;
        this.failures.add(code ?? message);
      })
      .finally(() => {
        this.latencies.push(performance.now() - startedAt);
        this.open.delete(pending);
      });
    this.open.add(pending);
    await pending;
  }

  private fetchStatus(): Promise<number> {
    return new Promise((resolve, reject) => {
      const request = http.get(this.url, { agent: this.agent, headers: this.headers }, (response) => {
        response.resume();
        response.on('end', () => end(() => resolve(response.statusCode!)));
        response.on('error', (error) => end(() => reject(error)));
      });
      const timer = setTimeout(() => request.destroy(new Error('timed out')), TIMEOUT_MS);
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        settle();
      };
      request.on('error', (error) => end(() => reject(error)));
    });
  }
}
