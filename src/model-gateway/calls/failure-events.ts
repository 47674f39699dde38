import { type Problem, problem } from '#platform/problem';
import { formatSse } from '../formats/sse';
import { StreamFailure } from '../formats/stream-failure';
import type { CalledTarget } from '../models/model-directory';
import type { Call } from './call.types';

/** Returns the problem for a stream that broke off. No client receives it, because the response has started. */
export const brokenStream = ({ provider }: CalledTarget, cause: unknown): Problem =>
  problem.unavailable(`The provider ${provider.name} ended its response early.`, { isUpstream: true, cause });

/** Returns the event that reports a broken stream to the client, in the client's format. */
export function failureEvent({ format }: Call, { provider }: CalledTarget, error: unknown): Buffer {
  const reason = error instanceof StreamFailure ? error.message : 'The connection broke.';
  const message = `The provider ${provider.name} ended its response early: ${reason}`;
  const type = error instanceof StreamFailure ? error.type : 'api_error';
  const failure = { message, type, code: 'service_unavailable', param: null };
  switch (format) {
    case 'messages':
      return event({ type: 'error', error: { type, message } }, 'error');
    case 'responses':
      // OpenAI's client reads `error`, and its documentation has the other members
      return event({ ...failure, type: 'error', error: failure }, 'error');
    default:
      return event({ error: failure });
  }
}

const event = (data: object, name?: string): Buffer => Buffer.from(formatSse(JSON.stringify(data), name));
