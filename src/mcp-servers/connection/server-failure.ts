import { Problem, problem } from '#platform/problem';
import type { Failure, FailureKind } from '../servers/server-health';

/** Thrown if a server cannot be used. Everyone who can read the server sees the message, so it never contains a secret. */
export class ServerFailure extends Error implements Failure {
  override readonly name = 'ServerFailure';

  constructor(
    readonly kind: FailureKind,
    message: string,
    /** The HTTP status of the server's response, if that is the failure. */
    readonly status?: number,
    /** The code of the server's JSON-RPC error, if that is the failure. */
    readonly rpcCode?: number,
  ) {
    super(message);
  }

  toFailure(): Failure {
    return { kind: this.kind, message: this.message };
  }
}

/** Returns the problem for a failure: 504 for a timeout, else 503. Returns other errors unchanged. */
export function problemOf(error: unknown): unknown {
  return error instanceof ServerFailure ? upstreamProblem(error, error.message) : error;
}

/** Returns the problem for a failed call: 400 if the caller can correct the arguments, else like `problemOf`. */
export function callProblemOf(error: unknown, serverName: string): unknown {
  if (!(error instanceof ServerFailure)) return error;
  const server = `MCP server ${excerptOf(serverName)}`;
  if (error.rpcCode === INVALID_PARAMS) {
    return problem.invalidRequest(
      `${server} rejected the call. Check the arguments against the tool's input schema. If they match, refresh the server, because its tools may have changed. ${error.message}`,
    );
  }
  const mayHaveRun = error.kind === 'timeout' ? ' The tool may have run anyway.' : '';
  return upstreamProblem(error, `${server} failed (${error.kind}): ${error.message}${mayHaveRun}`);
}
const INVALID_PARAMS = -32602;

function upstreamProblem({ kind }: ServerFailure, detail: string): Problem {
  const code = kind === 'timeout' ? 'request_timeout' : 'service_unavailable';
  return new Problem(code, detail, { isUpstream: true });
}

/** The maximum length of an excerpt of text from a server, in characters. */
const EXCERPT_MAX = 200;

/** Returns an excerpt of text from a server, on one line and without its secrets. */
export function excerptOf(text: string, secrets: readonly string[] = []): string {
  const redacted = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[secret]'), text);
  const line = redacted
    .slice(0, EXCERPT_MAX * 4)
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .trim();
  return line.length > EXCERPT_MAX ? `${line.slice(0, EXCERPT_MAX)}…` : line;
}
