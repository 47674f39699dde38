import { Injectable } from '@nestjs/common';
import { backOffMs, pause } from '#platform/concurrency';
import { isJsonObject } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { type Counter, type Gauge, type Histogram, Metrics } from '#platform/metrics';
import { cutText, type JudgeBackendName } from '../scorers';
import { type JudgeCall, JudgeFailure, type JudgeServer } from './judge-backend';
import type { JudgeLimit, JudgeLimits, RequestOutcome } from './judge-limit';
import type { AttemptOutcome, JudgeTransport } from './judge-transport';

/** Failed attempts at one request after which it fails, not counting 429s. */
const FAILURES_MAX = 6;
/** Characters of a refusal quoted in an error. */
const REFUSAL_MAX = 300;
/** Shortest time between logged warnings about a judge, in ms. */
const WARNINGS_MS = 60_000;
/** The settings with the API keys of the judges. */
const API_KEYS: Record<JudgeBackendName, string> = { llm: 'JUDGE_API_KEY', classifier: 'CLASSIFIER_API_KEY' };
const DURATION_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** A judge's reason for a refusal. Missing parts are empty texts. */
export interface Refusal {
  message: string;
  /** The parameter that is at fault. */
  parameter: string;
  code: string;
}

/** The reply to a refused request. */
interface RefusedReply {
  refusal: Refusal;
  /** The message for the scorer's author. */
  error: string;
  /** Whether the form or the content of the request is at fault. */
  isRequestFault: boolean;
}

/** Metrics of the requests that this process sends to judges. */
@Injectable()
export class JudgeMetrics {
  readonly requests: Counter<'backend' | 'outcome'>;
  readonly duration: Histogram<'backend'>;
  readonly inFlight: Gauge<'backend'>;
  readonly cost: Counter<'backend'>;
  readonly reused: Counter<'backend'>;

  constructor(metrics: Metrics) {
    const labels = ['backend'] as const;
    this.requests = metrics.counter('judge_requests_total', 'Requests to judges by outcome.', [
      'backend',
      'outcome',
    ]);
    this.duration = metrics.histogram(
      'judge_request_duration_seconds',
      'Duration of a request to a judge.',
      DURATION_BUCKETS,
      labels,
    );
    this.inFlight = metrics.gauge('judge_requests_in_flight', 'Requests to judges in flight.', labels);
    this.cost = metrics.counter('judge_cost_usd_total', 'Known cost of judges in US dollars.', labels);
    const reused = 'Answers of judges taken from the cache.';
    this.reused = metrics.counter('judge_answers_reused_total', reused, labels);
  }
}

/**
 * Sends requests to one judge backend. Retries a request until the judge answers or refuses it, or until the deadline. All
 * requests share the judge's rate limit.
 */
export class JudgeEndpoint {
  private warnedAt = -Infinity;

  /** @param transport undefined if the judge is not configured, and its requests can only be previewed */
  constructor(
    private readonly backend: JudgeBackendName,
    private readonly transport: JudgeTransport | undefined,
    private readonly limits: JudgeLimits,
    private readonly metrics: JudgeMetrics,
  ) {}

  /** Identifies the server. Empty if the name of the model does so. */
  get baseUrl(): string {
    return this.transport?.baseUrl ?? '';
  }

  /**
   * Sends a request and retries it with back-off: after 429 until the deadline, after other failures a few times. Lends the
   * worker's slot while it waits. Throws `JudgeFailure` if no attempt succeeds.
   *
   * @param onLostAnswer called for each unusable answer that may be charged. `part`: the connection broke before the answer
   *   was complete
   */
  async post(
    model: string,
    body: string,
    call: JudgeCall,
    onLostAnswer: (extent: 'whole' | 'part') => void = () => undefined,
  ): Promise<{ value: unknown; server: JudgeServer } | RefusedReply> {
    const { transport } = this;
    if (!transport) throw new JudgeFailure('The judge is not configured.');
    const limit = this.limits.of(this.backend, model);
    let failures = 0;
    for (let attempt = 1; ; attempt++) {
      await limit.acquire(call);
      call.hasStarted = true;
      const outcome = await this.attempt(transport, limit, body, call);
      if ('value' in outcome) return outcome;
      if ('status' in outcome) return this.refusedReply(outcome);
      if ('tooLarge' in outcome) {
        onLostAnswer('whole');
        throw new JudgeFailure("The judge's response exceeds 1 MiB.");
      }
      if (outcome.lostAnswer) onLostAnswer(outcome.lostAnswer);
      if (!outcome.isRateLimited) {
        failures += 1;
        this.warn(outcome.failure);
      }
      const wait = backOffMs(attempt, { retryAfterMs: outcome.retryAfterMs });
      if (failures >= FAILURES_MAX) {
        throw new JudgeFailure(`The judge ${outcome.failure}. Gave up after ${attempt} attempts.`);
      }
      if (wait >= call.remainingMs()) {
        throw new JudgeFailure(`The judge ${outcome.failure}. There was no time left for a retry.`);
      }
      await call.lendSlot((signal) => pause(wait, signal));
    }
  }

  /** Sends the request once. Throws the signal's reason when it is aborted. */
  private async attempt(
    transport: JudgeTransport,
    limit: JudgeLimit,
    body: string,
    call: JudgeCall,
  ): Promise<AttemptOutcome> {
    const { backend, metrics } = this;
    const start = performance.now();
    let outcome: AttemptOutcome | undefined;
    metrics.inFlight.inc({ backend });
    try {
      call.checkBudget(); // other targets may have spent the budget meanwhile
      return (outcome = await transport.send(body, call.signal));
    } finally {
      const elapsedMs = performance.now() - start;
      metrics.inFlight.dec({ backend });
      // without an outcome, the request was aborted
      const kind = outcome && kindOf(outcome);
      if (kind) {
        metrics.requests.inc({ backend, outcome: kind });
        metrics.duration.observe({ backend }, elapsedMs / 1000);
      }
      const retryAfterMs = outcome && 'retryAfterMs' in outcome ? outcome.retryAfterMs : undefined;
      limit.release({ outcome: kind ?? 'failed', elapsedMs, retryAfterMs });
    }
  }

  private refusedReply({ status, text }: { status: number; text: string }): RefusedReply {
    const refusal = readRefusal(text);
    const isRequestFault = status === 400 || status === 422;
    if (!isRequestFault) this.warn(`refused a request with ${status}`);
    return { refusal, error: this.errorOf(status, refusal), isRequestFault };
  }

  private errorOf(status: number, { message }: Refusal): string {
    if (status === 401 || status === 403) {
      return `The judge rejected the API key of this service (${status}). Ask the operator to check ${API_KEYS[this.backend]}.`;
    }
    if (status >= 300 && status < 400) {
      return `The judge returned a redirect (${status}). Redirects are not followed.`;
    }
    const reason = cutText(message, REFUSAL_MAX);
    return `The judge refused the request (${status})${reason && `: ${reason}`}`;
  }

  /** Warns the operator in the log, at most once a minute. */
  private warn(failure: string): void {
    const now = performance.now();
    if (now - this.warnedAt < WARNINGS_MS) return;
    this.warnedAt = now;
    rootLogger.warn({ backend: this.backend, failure }, 'requests to a judge backend are failing');
  }
}

function kindOf(outcome: AttemptOutcome): RequestOutcome {
  if ('value' in outcome) return 'answered';
  if ('status' in outcome) return 'refused';
  return 'isRateLimited' in outcome && outcome.isRateLimited ? 'limited' : 'failed';
}

/**
 * Reads an error in the format of OpenAI's API. Ignores other formats, because a proxy's error page may reveal the
 * operator's network.
 */
function readRefusal(text: string): Refusal {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // A proxy's error page.
  }
  const error = isJsonObject(value) ? (value.error ?? value.detail ?? value.message) : value;
  const parts: Record<string, unknown> = isJsonObject(error) ? error : { message: error };
  return { message: textOf(parts.message), parameter: textOf(parts.param), code: textOf(parts.code) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
