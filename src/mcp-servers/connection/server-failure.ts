import { Problem, problem } from '#platform/problem';
import type { Failure, FailureKind } from '../servers/server-health';

/** A server cannot be used. The message is shown to everyone who can read the server, so it never contains a secret. */
export class ServerFailure extends Error implements Failure {
  override readonly name = 'ServerFailure';

  constructor(
    readonly kind: FailureKind,
    message: string,
    /** The HTTP status of the server's answer, if it is the failure. */
    readonly status?: number,
  ) {
    super(message);
  }

  toFailure(): Failure {
    return { kind: this.kind, message: this.message };
  }
}

/** Returns a failure as a problem: 504 for a timeout, else 503. Other errors are returned as they are. */
export function problemOf(error: unknown): unknown {
  if (!(error instanceof ServerFailure)) return error;
  return error.kind === 'timeout'
    ? new Problem('request_timeout', error.message)
    : problem.unavailable(error.message);
}

/** Longest excerpt of a server's own words in a message, in characters. */
const EXCERPT_MAX = 200;

/** Returns the beginning of a server's own words on one line, without its secret. */
export function excerptOf(text: string, secret?: string | null): string {
  const shown = secret ? text.replaceAll(secret, '[secret]') : text;
  const line = shown
    .slice(0, EXCERPT_MAX * 4)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
  return line.length > EXCERPT_MAX ? `${line.slice(0, EXCERPT_MAX)}…` : line;
}
