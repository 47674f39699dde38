import { backOffMs, pause } from '#platform/concurrency';
import { isJsonObject } from '#platform/json';
import { rootLogger } from '#platform/logging';
import { type JudgeBackendName, cutText } from '../../scorers';
import { type JudgeCall, JudgeFailure } from '../judge-backend';
import type { JudgeMetrics, RequestOutcome } from '../judge.metrics';
import type { JudgeLimit } from './judge-limit';
import type { JudgeLimits } from './judge-limit';
import type { Attempt, JudgeTransport } from './judge-transport';

/** Attempts at one request that may fail, not counting 429s. */
const TROUBLES_MAX = 6;
/** Characters of a refusal that an error quotes. */
const REFUSAL_MAX = 300;
/** Shortest time between warnings about a judge in the log, in ms. */
const COMPLAINTS_MS = 60_000;

/** A judge's answer to a request, or its refusal. */
export type Reply = { value: unknown } | Refused;

interface Refused {
  refusal: Refusal;
  /** The message for the scorer's author. */
  error: string;
  /** Whether the request is at fault, by its form or its content. */
  isOfRequest: boolean;
}

/** A judge's reason for a refusal. Missing parts are empty. */
export interface Refusal {
  message: string;
  /** The parameter of the request that is at fault. */
  parameter: string;
  code: string;
}

/** Called for each answer that cannot be used but may be charged: a whole answer, or one that broke off. */
export type OnLost = (lost: 'whole' | 'part') => void;

/**
 * Sends requests to one judge backend, until it answers, refuses, or the time is over. Shares what it learns of the rate
 * limit (429, `Retry-After`) with all other requests to the judge.
 */
export class JudgeEndpoint {
  private complainedAt = -Infinity;

  constructor(
    private readonly backend: JudgeBackendName,
    private readonly transport: JudgeTransport,
    private readonly limits: JudgeLimits,
    private readonly metrics: JudgeMetrics,
  ) {}

  /**
   * Sends a request, and retries it with back-off: after 429 until the deadline, after other failures a few times. The
   * waits hold no slot of the worker. Throws `JudgeFailure` when no attempt succeeds.
   */
  async post(model: string, body: string, call: JudgeCall, onLost: OnLost = () => undefined): Promise<Reply> {
    const limit = this.limits.of(this.backend, model);
    let troubles = 0;
    for (let attempt = 1; ; attempt++) {
      await limit.enter(call);
      call.hasBegun = true;
      const made = await this.attempt(limit, body, call);
      if ('value' in made) return made;
      if ('status' in made) return this.refused(made);
      if ('tooLarge' in made) {
        onLost('whole');
        throw new JudgeFailure('The judge answered with more than 1 MiB.');
      }
      if (made.lost) onLost(made.lost);
      if (!made.isLimit) {
        troubles += 1;
        this.complain(made.trouble);
      }
      const wait = backOffMs(attempt, { retryAfterMs: made.retryAfterMs });
      if (troubles >= TROUBLES_MAX) throw new JudgeFailure(`The judge ${made.trouble}, ${attempt} times.`);
      if (wait >= call.msLeft()) {
        throw new JudgeFailure(`The judge ${made.trouble}, and there was no time left for a retry.`);
      }
      await call.idle((signal) => pause(wait, signal));
    }
  }

  private refused({ status, text }: { status: number; text: string }): Refused {
    const reply = refused(status, refusalOf(text));
    if (!reply.isOfRequest) this.complain(`refused a request with ${status}`);
    return reply;
  }

  /** Warns the operator in the log, not more than once a minute. */
  private complain(trouble: string): void {
    const now = performance.now();
    if (now - this.complainedAt < COMPLAINTS_MS) return;
    this.complainedAt = now;
    rootLogger.warn({ backend: this.backend, trouble }, 'requests to a judge backend fail');
  }

  /** Sends the request once. Throws the signal's reason when it is aborted. */
  private async attempt(limit: JudgeLimit, body: string, call: JudgeCall): Promise<Attempt> {
    const begun = performance.now();
    let made: Attempt | undefined;
    this.metrics.sent(this.backend);
    try {
      call.checkBudget(); // others may have spent the budget during the wait
      return (made = await this.transport.send(body, call.signal));
    } finally {
      const elapsedMs = performance.now() - begun;
      const outcome = made && outcomeOf(made);
      this.metrics.ended(this.backend, outcome, elapsedMs);
      const retryAfterMs = made && 'retryAfterMs' in made ? made.retryAfterMs : undefined;
      limit.leave({ outcome: outcome ?? 'failed', elapsedMs, retryAfterMs });
    }
  }
}

const outcomeOf = (made: Attempt): RequestOutcome =>
  'value' in made
    ? 'answered'
    : 'status' in made
      ? 'refused'
      : 'isLimit' in made && made.isLimit
        ? 'limited'
        : 'failed';

function refused(status: number, refusal: Refusal): Refused {
  if (status === 401 || status === 403) {
    const error = `The judge backend refused this service (${status}). Its operator must check the API key.`;
    return { refusal, error, isOfRequest: false };
  }
  if (status >= 300 && status < 400) {
    const error = `The judge backend answered with a redirect (${status}), which is not followed.`;
    return { refusal, error, isOfRequest: false };
  }
  const said = cutText(refusal.message, REFUSAL_MAX);
  const error = `The judge refused the request (${status})${said && `: ${said}`}`;
  return { refusal, error, isOfRequest: status === 400 || status === 422 };
}

/**
 * Reads an error in the format of OpenAI's API. Quotes nothing else, because a proxy's page may reveal the operator's
 * network.
 */
function refusalOf(text: string): Refusal {
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
