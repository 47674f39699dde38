import { backOffMs, pause } from '#platform/concurrency';
import { isJsonObject } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { type JudgeBackendName, cutText } from '../../scorers';
import { type JudgeCall, JudgeFailure, type JudgeServer } from '../judge-backend';
import type { JudgeMetrics, RequestOutcome } from '../judge.metrics';
import type { JudgeLimit, JudgeLimits } from './judge-limit';
import type { AttemptOutcome, JudgeTransport } from './judge-transport';

/** Failed attempts at one request after which it fails, not counting 429s. */
const FAILURES_MAX = 6;
/** Characters of a refusal quoted in an error. */
const REFUSAL_MAX = 300;
/** Shortest time between logged warnings about a judge, in ms. */
const WARNINGS_MS = 60_000;

/** A judge's answer to a request, or its refusal. */
export type Reply = { value: unknown; server: JudgeServer } | RefusedReply;

/** The reply to a refused request. */
interface RefusedReply {
  refusal: Refusal;
  /** The message for the scorer's author. */
  error: string;
  /** Whether the form or the content of the request is at fault. */
  isRequestFault: boolean;
}

/** A judge's reason for a refusal. Missing parts are empty texts. */
export interface Refusal {
  message: string;
  /** The parameter that is at fault. */
  parameter: string;
  code: string;
}

/** Called for each unusable answer that may be charged. `part`: the connection broke before the answer was complete. */
export type OnLostAnswer = (extent: 'whole' | 'part') => void;

/** Sends requests to a judge backend. */
export type SendingEndpoint = Pick<JudgeEndpoint, 'post'>;

/** The endpoint of backends that only build requests. */
export const NO_ENDPOINT: SendingEndpoint = {
  post: () => Promise.reject(new JudgeFailure('The judge is not configured.')),
};

/**
 * Sends requests to one judge backend. Retries a request until the judge answers or refuses it, or until the deadline. All
 * requests share the judge's rate limit.
 */
export class JudgeEndpoint {
  private warnedAt = -Infinity;

  constructor(
    private readonly backend: JudgeBackendName,
    private readonly transport: Pick<JudgeTransport, 'send'>,
    private readonly limits: JudgeLimits,
    private readonly metrics: JudgeMetrics,
  ) {}

  /**
   * Sends a request and retries it with back-off: after 429 until the deadline, after other failures a few times. Lends the
   * worker's slot while it waits. Throws `JudgeFailure` if no attempt succeeds.
   */
  async post(
    model: string,
    body: string,
    call: JudgeCall,
    onLostAnswer: OnLostAnswer = () => undefined,
  ): Promise<Reply> {
    const limit = this.limits.of(this.backend, model);
    let failures = 0;
    for (let attempt = 1; ; attempt++) {
      await limit.acquire(call);
      call.hasStarted = true;
      const outcome = await this.attempt(limit, body, call);
      if ('value' in outcome) return outcome;
      if ('status' in outcome) return this.handleRefusal(outcome);
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

  private handleRefusal({ status, text }: { status: number; text: string }): RefusedReply {
    const reply = replyOfRefusal(this.backend, status, readRefusal(text));
    if (!reply.isRequestFault) this.warn(`refused a request with ${status}`);
    return reply;
  }

  /** Warns the operator in the log, at most once a minute. */
  private warn(failure: string): void {
    const now = performance.now();
    if (now - this.warnedAt < WARNINGS_MS) return;
    this.warnedAt = now;
    rootLogger.warn({ backend: this.backend, failure }, 'requests to a judge backend are failing');
  }

  /** Sends the request once. Throws the signal's reason when it is aborted. */
  private async attempt(limit: JudgeLimit, body: string, call: JudgeCall): Promise<AttemptOutcome> {
    const start = performance.now();
    let outcome: AttemptOutcome | undefined;
    this.metrics.requestStarted(this.backend);
    try {
      call.checkBudget(); // other targets may have spent the budget meanwhile
      return (outcome = await this.transport.send(body, call.signal));
    } finally {
      const elapsedMs = performance.now() - start;
      const kind = outcome && kindOf(outcome);
      this.metrics.requestEnded(this.backend, kind, elapsedMs);
      const retryAfterMs = outcome && 'retryAfterMs' in outcome ? outcome.retryAfterMs : undefined;
      limit.release({ outcome: kind ?? 'failed', elapsedMs, retryAfterMs });
    }
  }
}

function kindOf(outcome: AttemptOutcome): RequestOutcome {
  if ('value' in outcome) return 'answered';
  if ('status' in outcome) return 'refused';
  return 'isRateLimited' in outcome && outcome.isRateLimited ? 'limited' : 'failed';
}

/** The settings with the API keys of the judges. */
const API_KEYS: Record<JudgeBackendName, string> = { llm: 'JUDGE_API_KEY', classifier: 'CLASSIFIER_API_KEY' };

function replyOfRefusal(backend: JudgeBackendName, status: number, refusal: Refusal): RefusedReply {
  if (status === 401 || status === 403) {
    const error = `The judge rejected the API key of this service (${status}). Ask the operator to check ${API_KEYS[backend]}.`;
    return { refusal, error, isRequestFault: false };
  }
  if (status >= 300 && status < 400) {
    const error = `The judge returned a redirect (${status}). Redirects are not followed.`;
    return { refusal, error, isRequestFault: false };
  }
  const reason = cutText(refusal.message, REFUSAL_MAX);
  const error = `The judge refused the request (${status})${reason && `: ${reason}`}`;
  return { refusal, error, isRequestFault: status === 400 || status === 422 };
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
    return { message: '', parameter: '', code: '' };
  }
  const error = isJsonObject(value) ? (value.error ?? value.detail ?? value.message) : value;
  if (!isJsonObject(error)) return { message: textOf(error), parameter: '', code: '' };
  return { message: textOf(error.message), parameter: textOf(error.param), code: textOf(error.code) };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
