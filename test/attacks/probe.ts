import http from 'node:http';

/** Interval at which requests are sent, whether or not earlier ones are answered, in milliseconds. */
const INTERVAL_MS = 100;
/** Most requests without an answer. */
const OPEN_MAX = 20;
/** Time after which a request counts as lost, in milliseconds. */
const LOST_MS = 120_000;

/** What a caller experienced. */
export interface Experience {
  /** Number of requests. */
  count: number;
  /** What went wrong, once for each kind: a status, an error of the connection. */
  failures: string[];
  /** In milliseconds. */
  p99: number;
  worst: number;
}

/** Sends a GET at an interval, on connections of its own, and records status and latency of each answer. */
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

  /** Sends one more request, and waits for all answers. */
  async stop(): Promise<Experience> {
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
    const answered = this.answer()
      .then((status) => {
        if (status > 299) this.failures.add(String(status));
      })
      .catch((error: unknown) => {
        const { code, message } = error as NodeJS.ErrnoException;
        this.failures.add(code ?? message);
      })
      .finally(() => {
        this.latencies.push(performance.now() - startedAt);
        this.open.delete(answered);
      });
    this.open.add(answered);
    await answered;
  }

  private answer(): Promise<number> {
    return new Promise((resolve, reject) => {
      const request = http.get(this.url, { agent: this.agent, headers: this.headers }, (response) => {
        response.resume();
        response.on('end', () => end(() => resolve(response.statusCode!)));
        response.on('error', (error) => end(() => reject(error)));
      });
      const lost = setTimeout(() => request.destroy(new Error('lost')), LOST_MS);
      const end = (settle: () => void): void => {
        clearTimeout(lost);
        settle();
      };
      request.on('error', (error) => end(() => reject(error)));
    });
  }
}
