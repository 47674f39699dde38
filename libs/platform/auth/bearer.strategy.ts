import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy } from 'passport-jwt';
import { type Problem, problem } from '#platform/problem';
import type { Authenticator } from './authenticator';

export const BEARER = 'bearer';

/** Options that the admission passes with each request. */
export interface BearerOptions {
  session: false;
  authenticator: Authenticator;
}

/**
 * Passport's strategy for bearer credentials, which verifies those that are not cached. It replaces passport-jwt's
 * verification, which supports neither EdDSA, nor rotating key sets, nor the order of the steps, nor API keys. A failure
 * is a `Problem`, which Passport passes on as an error. Passport keeps one registry of strategies per process, so the
 * strategy has no state of an application and takes its authenticator from the admission.
 */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, BEARER) {
  constructor() {
    super({
      jwtFromRequest: (request: Request) => String(bearerCredential(request)),
      secretOrKeyProvider: verifiedElsewhere,
    });
  }

  override async authenticate(request: Request, { authenticator }: BearerOptions): Promise<void> {
    const credential = bearerCredential(request);
    if (typeof credential !== 'string') return this.error(credential);
    try {
      this.success(await authenticator.authenticate(credential));
    } catch (error) {
      this.error(error as Error);
    }
  }

  /** Required by Nest's mixin, and never called because `authenticate` is overridden. */
  validate(): never {
    return verifiedElsewhere();
  }
}

function verifiedElsewhere(): never {
  throw new Error('tokens are verified by the authenticator');
}

const NAME = 'authorization';
const HEADER = 'Authorization: Bearer <API key or token>';
/** RFC 9110, section 11.4: a scheme in any case, spaces, and the credential. */
const CREDENTIALS = /^bearer(?: +(.*))?$/i;

/**
 * Returns the credential of a request (step 1, and the form of the header for step 2), or the 401 for a request without
 * one: `token_missing` without an `Authorization` header, `unauthorized` for another scheme than Bearer,
 * `token_malformed` for several headers or one without a token. Reads the raw headers, because Node drops all but the
 * first `Authorization`.
 */
export function bearerCredential({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): string | Problem {
  const headers = valuesOf(rawHeaders);
  if (headers.length === 0 || headers.every((value) => value === '')) {
    return problem.unauthenticated('token_missing', `Send ${HEADER}.`);
  }
  const tokens = headers.map((value) => CREDENTIALS.exec(value));
  if (tokens.includes(null)) {
    return problem.unauthenticated('unauthorized', 'The Authorization header must use the Bearer scheme.');
  }
  if (headers.length > 1) {
    return problem.unauthenticated('token_malformed', 'Send one Authorization header, not several.');
  }
  const token = tokens[0]?.[1]?.trim();
  const missing = `The Authorization header has no credential. Send ${HEADER}.`;
  return token || problem.unauthenticated('token_malformed', missing);
}

function valuesOf(rawHeaders: readonly string[]): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === NAME.length && name.toLowerCase() === NAME) values.push(rawHeaders[i + 1]!);
  }
  return values;
}
