import { type Problem, problem } from '#platform/problem';
import { formatSse } from '../formats/sse';
import { StreamFailure } from '../formats/stream-failure';
import type { CalledTarget } from '../models/model-directory';
import type { Call } from './call.types';

/** Returns the problem of a stream that broke off. Nobody receives it, because the response has begun. */
export const brokenOff = ({ provider }: CalledTarget, cause: unknown): Problem =>
  problem.unavailable(`The provider ${provider.name} ended its answer early.`, { isUpstream: true, cause });

/** Returns the event that tells a client that its stream has broken off, in the client's format. */
export function failureEvent({ format }: Call, { provider }: CalledTarget, error: unknown): Buffer {
  const why = error instanceof StreamFailure ? error.message : 'The connection broke.';
  const message = `The provider ${provider.name} ended its answer early: ${why}`;
  const type = error instanceof StreamFailure ? error.type : 'api_error';
  const failure = { message, type, code: 'service_unavailable', param: null };
  switch (format) {
    case 'messages':
      return event({ type: 'error', error: { type, message } }, 'error');
    case 'responses':
      // its client reads `error`, and its documentation has the other members
      return event({ ...failure, type: 'error', error: failure }, 'error');
    default:
      return event({ error: failure });
  }
}

const event = (data: object, name?: string): Buffer => Buffer.from(formatSse(JSON.stringify(data), name));
