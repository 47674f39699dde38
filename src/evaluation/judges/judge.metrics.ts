import { Injectable } from '@nestjs/common';
import { type Counter, type Gauge, type Histogram, Metrics } from '#platform/metrics';
import type { JudgeBackendName } from '../scorers/definitions/judge.definition';

const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** How one request to a judge ended. `limited`: with 429; `failed`: it may do better another time. */
export type RequestOutcome = 'answered' | 'limited' | 'refused' | 'failed';

/** What this process asks of judges, as metrics. */
@Injectable()
export class JudgeMetrics {
  private readonly requests: Counter<'backend' | 'outcome'>;
  private readonly duration: Histogram<'backend'>;
  private readonly inFlight: Gauge<'backend'>;
  private readonly cost: Counter<'backend'>;
  private readonly reused: Counter<'backend'>;

  constructor(metrics: Metrics) {
    this.requests = metrics.counter('judge_requests_total', 'Requests to judges, by how they ended.', [
      'backend',
      'outcome',
    ]);
    this.duration = metrics.histogram(
      'judge_request_duration_seconds',
      'Time of a request to a judge.',
      BUCKETS,
      ['backend'],
    );
    this.inFlight = metrics.gauge('judge_requests_in_flight', 'Requests to judges that are under way.', [
      'backend',
    ]);
    this.cost = metrics.counter(
      'judge_cost_usd_total',
      'What judges cost, in US dollars, where it is known.',
      ['backend'],
    );
    this.reused = metrics.counter(
      'judge_answers_reused_total',
      'Answers of judges that were known from before, so that nobody was asked.',
      ['backend'],
    );
  }

  sent(backend: JudgeBackendName): void {
    this.inFlight.inc({ backend });
  }

  ended(backend: JudgeBackendName, outcome: RequestOutcome | undefined, ms: number): void {
    this.inFlight.dec({ backend });
    if (!outcome) return; // given up: nobody wanted it any more
    this.requests.inc({ backend, outcome });
    this.duration.observe({ backend }, ms / 1000);
  }

  spent(backend: JudgeBackendName, costUsd: number): void {
    this.cost.inc({ backend }, costUsd);
  }

  knew(backend: JudgeBackendName): void {
    this.reused.inc({ backend });
  }
}
