import { isJsonObject } from '#platform/json';
import type { JudgeBackend } from '../../scorers/definitions/judge.definition';
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

/** What a judge said to a request: its answer, or why it will not have it. */
export type Reply =
  | { value: unknown }
  /**
   * `refusal`: what it names, the parameter first. `error`: what the scorer's author is told. `isOfRequest`: the request is
   * at fault, by its form or by what it asks for.
   */
  | { refusal: string; error: string; isOfRequest: boolean };

/**
 * One judge backend as its requests see it: it is asked until it answers, refuses, or there is no more time. What it says
 * of its rate (429, `Retry-After`) is shared with all others who ask it.
 */
export class JudgeEndpoint {
  constructor(
    private readonly backend: JudgeBackend,
    private readonly transport: JudgeTransport,
    private readonly limits: JudgeLimits,
    private readonly metrics: JudgeMetrics,
  ) {}

  /**
   * Sends a request, and again where that may help: after 429 for as long as there is time, after other trouble a few
   * times. Waits in between take up no slot of the worker. Throws `JudgeFailure` where all that was in vain.
   */
  async post(model: string, body: string, call: JudgeCall): Promise<Reply> {
    const limit = this.limits.of(this.backend, model);
    let troubles = 0;
    for (let attempt = 1; ; attempt++) {
      await limit.enter(call);
      const made = await this.attempt(limit, body, call.signal);
      if ('value' in made) return made;
      if ('status' in made) return refused(made);
      if ('tooLarge' in made)
        throw new JudgeFailure('The judge answered with more than 1 MiB, which is no judgement.');
      if (!made.isLimit) troubles += 1;
      const wait = backOffMs(attempt, made.retryAfterMs);
      if (troubles >= TROUBLES_MAX) throw new JudgeFailure(`The judge ${made.trouble}, ${attempt} times.`);
      if (wait >= call.msLeft()) {
        throw new JudgeFailure(`The judge ${made.trouble}, and there was no more time to ask it again.`);
      }
      await call.idle((signal) => pause(wait, signal));
    }
  }

  /** Sends it once, within the permit that it has. Throws the signal's reason when it is aborted. */
  private async attempt(limit: JudgeLimit, body: string, signal: AbortSignal): Promise<Attempt> {
    const begun = performance.now();
    let made: Attempt | undefined;
    this.metrics.sent(this.backend);
    try {
      return (made = await this.transport.send(body, signal));
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

function refused({ status, text }: { status: number; text: string }): Reply {
  const { message, parameter } = faultOf(text);
  const said = cutText(message, REFUSAL_MAX);
  const refusal = `${parameter} ${said}`;
  if (status === 401 || status === 403) {
    const error = `The judge backend refused this service (${status}): its operator has to look at the key.`;
    return { refusal, error, isOfRequest: false };
  }
  if (status >= 300 && status < 400) {
    const error = `The judge backend answered ${status}, and redirects are not followed.`;
    return { refusal, error, isOfRequest: false };
  }
  const error = `The judge refused the request (${status})${said && `: ${said}`}`;
  return { refusal, error, isOfRequest: status === 400 || status === 422 };
}

/** What an error says, and of which parameter, as OpenAI's API and those like it write it. */
function faultOf(text: string): { message: string; parameter: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { message: text.trim(), parameter: '' };
  }
  const error = isJsonObject(value) ? (value.error ?? value.detail ?? value.message) : value;
  if (!isJsonObject(error)) return { message: typeof error === 'string' ? error : '', parameter: '' };
  const { message, param } = error;
  return {
    message: typeof message === 'string' ? message : '',
    parameter: typeof param === 'string' ? param : '',
  };
}
