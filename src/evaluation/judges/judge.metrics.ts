import { Injectable } from '@nestjs/common';
import { type Counter, type Gauge, type Histogram, Metrics } from '#platform/metrics';
import type { JudgeBackendName } from '../scorers';

const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** The outcome of one request to a judge. `limited`: 429. `failed`: a retry may succeed. */
export type RequestOutcome = 'answered' | 'limited' | 'refused' | 'failed';

/** Metrics of the requests that this process sends to judges. */
@Injectable()
export class JudgeMetrics {
  private readonly requests: Counter<'backend' | 'outcome'>;
  private readonly duration: Histogram<'backend'>;
  private readonly inFlight: Gauge<'backend'>;
  private readonly cost: Counter<'backend'>;
  private readonly reused: Counter<'backend'>;

  constructor(metrics: Metrics) {
    this.requests = metrics.counter('judge_requests_total', 'Requests to judges by outcome.', [
      'backend',
      'outcome',
    ]);
    this.duration = metrics.histogram(
      'judge_request_duration_seconds',
      'Duration of a request to a judge.',
      BUCKETS,
      ['backend'],
    );
    this.inFlight = metrics.gauge('judge_requests_in_flight', 'Requests to judges in flight.', ['backend']);
    this.cost = metrics.counter('judge_cost_usd_total', 'Known cost of judges in US dollars.', ['backend']);
    this.reused = metrics.counter('judge_answers_reused_total', 'Answers of judges taken from the cache.', [
      'backend',
    ]);
  }

  requestStarted(backend: JudgeBackendName): void {
    this.inFlight.inc({ backend });
  }

  requestEnded(backend: JudgeBackendName, outcome: RequestOutcome | undefined, ms: number): void {
    this.inFlight.dec({ backend });
    if (!outcome) return; // aborted
    this.requests.inc({ backend, outcome });
    this.duration.observe({ backend }, ms / 1000);
  }

  costAdded(backend: JudgeBackendName, costUsd: number): void {
    this.cost.inc({ backend }, costUsd);
  }

  answerReused(backend: JudgeBackendName): void {
    this.reused.inc({ backend });
  }
}
