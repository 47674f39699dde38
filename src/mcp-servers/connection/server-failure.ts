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
    /** The code of the server's JSON-RPC error, if it is the failure. */
    readonly rpcCode?: number,
  ) {
    super(message);
  }

  toFailure(): Failure {
    return { kind: this.kind, message: this.message };
  }
}

/** Returns a failure as a problem: 504 for a timeout, else 503. Other errors are returned as they are. */
export function problemOf(error: unknown): unknown {
  return error instanceof ServerFailure ? upstreamProblem(error, error.message) : error;
}

/** Returns a failure of a call, for the model that made it: 400 if it can correct its arguments, else like `problemOf`. */
export function callProblemOf(error: unknown, serverName: string): unknown {
  if (!(error instanceof ServerFailure)) return error;
  const server = `MCP server ${excerptOf(serverName)}`;
  if (error.rpcCode === INVALID_PARAMS) {
    return problem.invalidRequest(
      `${server} refused the call. Check the arguments against the tool's input schema. If they match, refresh the server, because its tools may have changed. ${error.message}`,
    );
  }
  const mayHaveRun = error.kind === 'timeout' ? ' The tool may have run all the same.' : '';
  return upstreamProblem(error, `${server} failed (${error.kind}): ${error.message}${mayHaveRun}`);
}
const INVALID_PARAMS = -32602;

function upstreamProblem({ kind }: ServerFailure, detail: string): Problem {
  const code = kind === 'timeout' ? 'request_timeout' : 'service_unavailable';
  return new Problem(code, detail, { isUpstream: true });
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
