import { Injectable } from '@nestjs/common';
import { pathOf } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { type Counter, type Gauge, type Histogram, Metrics } from '#platform/metrics';
import {
  CallFailure,
  type InstalledModel,
  type InternalAnswer,
  type InternalCall,
  InternalCalls,
  type ReportedError,
  type RequestObserver,
} from '../../model-gateway';
import { cutText, type JudgeBackendName } from '../scorers';
import { type JudgeCall, JudgeFailure } from './judge-backend';

/** Largest answer that is read, in bytes. */
const ANSWER_MAX = 1024 * 1024;
/** Characters of a refusal quoted in an error. */
const REFUSAL_MAX = 300;
/** Shortest time between logged warnings about a judge, in ms. */
const WARNINGS_MS = 60_000;
/** The principal under which the usage of judges is recorded. */
const PRINCIPAL = 'judges';
/** The names of the judges of the operator in errors, and the settings with their API keys. */
const INSTALLED: Record<JudgeBackendName, { noun: string; apiKey: string }> = {
  llm: { noun: 'The judge', apiKey: 'JUDGE_API_KEY' },
  classifier: { noun: 'The classifier', apiKey: 'CLASSIFIER_API_KEY' },
};
const DURATION_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

/** The model that judges. */
export interface JudgeTarget {
  backend: JudgeBackendName;
  /** The id of a gateway model, or the model of the operator. Undefined if it is not configured, for previews. */
  model: string | InstalledModel | undefined;
  /** Identifies the server in cached answers. Empty if the name of the model does so. */
  baseUrl: string;
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

/** Sends the requests of judges. All requests to a model share its rate limit. */
@Injectable()
export class JudgeCaller {
  private readonly warnedAt = new Map<JudgeBackendName, number>();

  constructor(
    private readonly environment: Environment,
    private readonly calls: InternalCalls,
    private readonly metrics: JudgeMetrics,
  ) {}

  /**
   * Sends a request and retries it with back-off: after 429 until the deadline, after other failures a few times. Lends the
   * worker's slot while it waits. Throws `JudgeFailure` if no attempt succeeds.
   *
   * @param name identifies the model, for its rate limit
   * @param onLost see `InternalCall`
   */
  async ask(
    { backend, model }: JudgeTarget,
    name: string,
    body: string,
    call: JudgeCall,
    onLost?: InternalCall['onLost'],
  ): Promise<InternalAnswer> {
    if (!model) throw new JudgeFailure('The judge is not configured.');
    const { metrics } = this;
    const observer: RequestObserver = {
      before: () => {
        metrics.inFlight.inc({ backend });
        call.checkBudget(); // other targets may have spent the budget meanwhile
      },
      after: (result, outcome, ms) => {
        metrics.inFlight.dec({ backend });
        if (!result) return;
        metrics.requests.inc({ backend, outcome });
        metrics.duration.observe({ backend }, ms / 1000);
        if (!(result instanceof CallFailure)) return;
        if (outcome !== 'limited' && !isRequestFault(result)) this.warn(backend, result);
      },
    };
    const { JUDGE_TIMEOUT_MS: timeoutMs } = this.environment;
    const { signal } = call;
    const [orgId] = pathOf(call.owner);
    const request = {
      model,
      format: 'chat',
      body,
      principalId: PRINCIPAL,
      timeoutMs,
      signal,
      orgId,
    } as const;
    try {
      const internal = { ...request, maxBytes: ANSWER_MAX, ...(onLost && { onLost }) };
      return await this.calls.callWithRetries(internal, `${backend}:${name}`, call, observer);
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error;
      const text = typeof model === 'string' ? gatewayText(error) : installedText(error, backend);
      const { reported } = error.details;
      const message = error.conclusion === '' ? text : `${asSentence(text)} ${error.conclusion}`;
      throw new JudgeFailure(message, undefined, isRequestFault(error) ? reported : undefined);
    }
  }

  /** Warns the operator in the log, at most once a minute. */
  private warn(backend: JudgeBackendName, { predicate }: CallFailure): void {
    const now = performance.now();
    if (now - (this.warnedAt.get(backend) ?? -Infinity) < WARNINGS_MS) return;
    this.warnedAt.set(backend, now);
    rootLogger.warn({ backend, failure: predicate }, 'requests to a judge backend are failing');
  }
}

/** Whether the form or the content of the request is at fault. */
const isRequestFault = ({ details: { status } }: CallFailure): boolean => status === 400 || status === 422;

/** Adds the full stop that a server's message may lack. */
const asSentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

const tooLarge = (noun: string): string => `${noun}'s response exceeds 1 MiB.`;

/** Returns what the operator's judge did. */
function installedText({ reason, predicate, details }: CallFailure, backend: JudgeBackendName): string {
  const { status, reported } = details;
  const { noun, apiKey } = INSTALLED[backend];
  if (reason === 'too_large') return tooLarge(noun);
  if (status === undefined) return `${noun} ${predicate}.`;
  if (reason === 'failed' || reason === 'rate_limited') {
    return asSentence(withReason(`${noun} returned ${status}`, reported));
  }
  if (status === 401) {
    return `${noun} rejected the API key of this service (401). Ask the operator to check ${apiKey}.`;
  }
  if (status === 403) {
    return `${noun} denied access (403). Ask the operator to check ${apiKey}, and whether it may use the model.`;
  }
  if (status >= 300 && status < 400) {
    return `${noun} returned a redirect (${status}). Redirects are not followed.`;
  }
  return refusedText(noun, status, reported);
}

/** Returns what a gateway model did, with the names of the workspace's own providers. */
function gatewayText(failure: CallFailure): string {
  const { reason, problem, details } = failure;
  const { noun } = INSTALLED.llm;
  if (reason === 'too_large') return tooLarge(noun);
  return isRequestFault(failure)
    ? refusedText(noun, details.status!, details.reported)
    : `The judge could not be called through the gateway: ${problem.detail}`;
}

const refusedText = (noun: string, status: number, reported: ReportedError | undefined): string =>
  withReason(`${noun} refused the request (${status})`, reported);

function withReason(text: string, reported: ReportedError | undefined): string {
  const reason = cutText(reported?.message ?? '', REFUSAL_MAX);
  return `${text}${reason && `: ${reason}`}`;
}
