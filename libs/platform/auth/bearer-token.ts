import type { IncomingMessage } from 'node:http';
import { problem } from '#platform/problem';

const NAME = 'authorization';
const HEADER = 'Authorization: Bearer <API key or token>';
/** RFC 9110, section 11.4: a scheme in any case, spaces, and the credential. */
const CREDENTIALS = /^bearer(?: +(.*))?$/i;

/**
 * Returns the credential of a request (step 1, and the form of the header for step 2). Reads the raw headers, because
 * Node drops all but the first `Authorization`.
 *
 * @throws 401 `token_missing` without an `Authorization` header, `unauthorized` for another scheme than Bearer,
 *   `token_malformed` for several headers or one without a token
 */
export function bearerToken({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string {
  const headers = valuesOf(rawHeaders);
  if (headers.length === 0 || headers.every((value) => value === '')) {
    throw problem.unauthenticated('token_missing', `Send ${HEADER}.`);
  }
  const tokens = headers.map((value) => CREDENTIALS.exec(value));
  if (tokens.includes(null)) {
    throw problem.unauthenticated('unauthorized', 'The Authorization header must use the Bearer scheme.');
  }
  const token = tokens[0]?.[1]?.trim();
  if (headers.length > 1) {
    throw problem.unauthenticated('token_malformed', 'Send one Authorization header, not several.');
  }
  if (!token)
    throw problem.unauthenticated(
      'token_malformed',
      `The Authorization header has no credential. Send ${HEADER}.`,
    );
  return token;
}

function valuesOf(rawHeaders: readonly string[]): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === NAME.length && name.toLowerCase() === NAME) values.push(rawHeaders[i + 1]!);
  }
  return values;
}
