import { isJsonObject } from '#platform/json';
import { rootLogger } from '#platform/logging';
import type { JudgeBackendName } from '../../scorers/definitions/judge.definition';
import { cutText } from '../../scorers/engine/limits';
import { pause } from '../../shared/pause';
import type { JudgeCall } from '../judge-backend';
import { JudgeFailure } from '../judge-failure';
import type { JudgeMetrics, RequestOutcome } from '../judge.metrics';
import { backOffMs } from './back-off';
import type { JudgeLimit } from './judge-limit';
import type { JudgeLimits } from './judge-limits';
import type { Attempt, JudgeTransport } from './judge-transport';

/** Attempts at one request that may fail otherwise than by a limit of the judge's rate. */
const TROUBLES_MAX = 6;
/** Characters of a refusal that an error repeats. */
const REFUSAL_MAX = 300;
/** At most so often the log says that a judge is in trouble, in ms. */
const COMPLAINTS_MS = 60_000;

/** What a judge said to a request: its answer, or why it will not have it. */
export type Reply = { value: unknown } | Refused;

interface Refused {
  refusal: Refusal;
  /** What the scorer's author is told. */
  error: string;
  /** The request is at fault, by its form or by what it asks for. */
  isOfRequest: boolean;
}

/** What a judge says of a request that it will not have; a text that it does not say is empty. */
export interface Refusal {
  message: string;
  /** Of the request, at fault. */
  parameter: string;
  code: string;
}

/** Is told of each answer that was paid for, perhaps, and cannot be used: `whole`, or broken off. */
export type OnLost = (lost: 'whole' | 'part') => void;

/**
 * One judge backend as its requests see it: it is asked until it answers, refuses, or there is no more time. What it says
 * of its rate (429, `Retry-After`) is shared with all others who ask it.
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
   * Sends a request, and again where that may help: after 429 for as long as there is time, after other trouble a few
   * times. Waits in between take up no slot of the worker. Throws `JudgeFailure` where all that was in vain.
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
        throw new JudgeFailure('The judge answered with more than 1 MiB, which is no judgement.');
      }
      if (made.lost) onLost(made.lost);
      if (!made.isLimit) {
        troubles += 1;
        this.complain(made.trouble);
      }
      const wait = backOffMs(attempt, made.retryAfterMs);
      if (troubles >= TROUBLES_MAX) throw new JudgeFailure(`The judge ${made.trouble}, ${attempt} times.`);
      if (wait >= call.msLeft()) {
        throw new JudgeFailure(`The judge ${made.trouble}, and there was no more time to ask it again.`);
      }
      await call.idle((signal) => pause(wait, signal));
    }
  }

  private refused({ status, text }: { status: number; text: string }): Refused {
    const reply = refused(status, refusalOf(text));
    if (!reply.isOfRequest) this.complain(`refused a request with ${status}`);
    return reply;
  }

  /** Tells the operator, who alone can do something about it; not each time. */
  private complain(trouble: string): void {
    const now = performance.now();
    if (now - this.complainedAt < COMPLAINTS_MS) return;
    this.complainedAt = now;
    rootLogger.warn({ backend: this.backend, trouble }, 'a judge backend is in trouble');
  }

  /** Sends it once, within the permit that it has. Throws the signal's reason when it is aborted. */
  private async attempt(limit: JudgeLimit, body: string, call: JudgeCall): Promise<Attempt> {
    const begun = performance.now();
    let made: Attempt | undefined;
    this.metrics.sent(this.backend);
    try {
      call.checkBudget(); // others may have spent it while this one waited for its turn
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
    const error = `The judge backend refused this service (${status}): its operator has to look at the key.`;
    return { refusal, error, isOfRequest: false };
  }
  if (status >= 300 && status < 400) {
    const error = `The judge backend answered ${status}, and redirects are not followed.`;
    return { refusal, error, isOfRequest: false };
  }
  const said = cutText(refusal.message, REFUSAL_MAX);
  const error = `The judge refused the request (${status})${said && `: ${said}`}`;
  return { refusal, error, isOfRequest: status === 400 || status === 422 };
}

/**
 * What an error says, as OpenAI's API and those like it write it. Of anything else nothing is repeated: a proxy's page may
 * tell of the operator's network.
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
