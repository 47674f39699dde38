import { isJsonObject } from '#platform/json';
import { pause } from '../../shared/pause';
import { cutText } from '../../scorers/engine/limits';
import type { JudgeCall } from '../judge-backend';
import { JudgeFailure } from '../judge-failure';
import { backOffMs } from './back-off';
import type { JudgeLimits } from './judge-limits';
import type { Attempt, JudgeTransport } from './judge-transport';

/** Attempts at one request that may fail otherwise than by a limit of the judge's rate. */
const TROUBLES_MAX = 6;
/** Characters of a refusal that an error repeats. */
const REFUSAL_MAX = 300;

/** What a judge said to a request: its answer, or why it will not have it. */
export type Reply =
  | { value: unknown }
  /** `isOfRequest`: the request is at fault, by its form or by what it asks for. `error` is what the scorer's author is told. */
  | { refusal: string; error: string; isOfRequest: boolean };

/**
 * One judge backend as its requests see it: it is asked until it answers, refuses, or there is no more time. What it says
 * of its rate (429, `Retry-After`) is shared with all others who ask it.
 */
export class JudgeEndpoint {
  constructor(
    private readonly name: string,
    private readonly transport: JudgeTransport,
    private readonly limits: JudgeLimits,
  ) {}

  /**
   * Sends a request, and again where that may help: after 429 for as long as there is time, after other trouble a few
   * times. Waits in between take up no slot of the worker. Throws `JudgeFailure` where all that was in vain.
   */
  async post(model: string, body: string, call: JudgeCall): Promise<Reply> {
    const limit = this.limits.of(this.name, model);
    let troubles = 0;
    for (let attempt = 1; ; attempt++) {
      await limit.enter(call);
      const begun = performance.now();
      let made: Attempt | undefined;
      try {
        made = await this.transport.send(body, call.signal);
      } finally {
        const isLimit = made !== undefined && 'isLimit' in made && made.isLimit;
        limit.leave({
          outcome: isLimit ? 'limited' : made && 'value' in made ? 'answered' : 'other',
          elapsedMs: performance.now() - begun,
          retryAfterMs: made && 'retryAfterMs' in made ? made.retryAfterMs : undefined,
        });
      }
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
}

function refused({ status, text }: { status: number; text: string }): Reply {
  const refusal = cutText(messageOf(text), REFUSAL_MAX);
  if (status === 401 || status === 403) {
    const error = `The judge backend refused this service (${status}): its operator has to look at the key.`;
    return { refusal, error, isOfRequest: false };
  }
  if (status >= 300 && status < 400) {
    const error = `The judge backend answered ${status}, and redirects are not followed.`;
    return { refusal, error, isOfRequest: false };
  }
  const isOfRequest = status === 400 || status === 422;
  return {
    refusal,
    error: `The judge refused the request (${status})${refusal && `: ${refusal}`}`,
    isOfRequest,
  };
}

/** What an error says, as OpenAI's API and those like it write it; with the parameter that it names. */
function messageOf(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text.trim();
  }
  const error = isJsonObject(value) ? (value.error ?? value.detail ?? value.message) : value;
  if (!isJsonObject(error)) return typeof error === 'string' ? error : '';
  const { message, param } = error;
  return [message, param].filter((part) => typeof part === 'string').join(' – ');
}
