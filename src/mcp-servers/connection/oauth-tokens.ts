import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { type OutboundFailure, outboundFailure, readCapped } from '#platform/outbound';
import { SecretBox } from '#platform/secrets';
import { SERVER_SECRET, type ServerEntity, withoutQuery } from '../servers/server.entity';
import type { FailureKind } from '../servers/server-health';
import { ServerFailure } from './server-failure';

/** A server of the type `oauth`, with its sealed client secret. */
export type OAuthTarget = Pick<
  ServerEntity,
  'server_id' | 'url' | 'auth_token_url' | 'auth_client_id' | 'auth_scope' | 'auth_secret'
>;

/** The maximum size of a response of a token endpoint, in bytes. */
const RESPONSE_MAX = 64 * 1024;
/** The maximum length of a token, in characters. Servers reject longer headers. */
const TOKEN_MAX = 16 * 1024;
/** The maximum number of cached tokens in each process. */
const CACHE_MAX = 2_000;
/** The lifetime of a token without `expires_in`, and the maximum lifetime of any token, in milliseconds. */
const DEFAULT_LIFETIME_MS = 5 * 60_000;
const MAX_LIFETIME_MS = 24 * 3_600_000;
/** How long before its expiry a token is renewed, in milliseconds. At most half of its lifetime. */
const RENEWAL_MS = 30_000;

/**
 * Requests access tokens for servers with OAuth 2 client credentials (RFC 6749, section 4.4), and caches them in memory.
 * Cached tokens are not used any longer after a change of the secret or of its target.
 */
@Injectable()
export class OAuthTokens {
  private readonly tokens = new LoadingCache<Token>({
    max: CACHE_MAX,
    lifetimeMs: ({ lifetimeMs }) => lifetimeMs - Math.min(RENEWAL_MS, lifetimeMs / 2),
  });

  constructor(private readonly box: SecretBox) {}

  /**
   * Returns a token for `Authorization: Bearer`. Concurrent callers share one request.
   *
   * @param http a fetch of `OutboundHttp`, with the limits of the caller's operation
   * @param signal ends the wait
   * @throws ServerFailure if no token can be obtained. Its message contains neither the secret nor text from the endpoint. The
   * reason of the signal if the signal is aborted
   */
  async token(server: OAuthTarget, http: typeof fetch, signal: AbortSignal): Promise<string> {
    const key = keyOf(server);
    for (;;) {
      let isOwnRequest = false;
      const request = (flight: AbortSignal): Promise<Token> => {
        isOwnRequest = true;
        return requestToken(server, this.secretOf(server), http, flight);
      };
      try {
        return (await this.tokens.find(key, request, signal)).token;
      } catch (error) {
        signal.throwIfAborted();
        // The request may have ended at the deadline of another caller. This caller has time left.
        const isFinal = error instanceof ServerFailure && error.kind !== 'timeout';
        if (isOwnRequest || isFinal) throw error;
      }
    }
  }

  /**
   * Forgets a token that the server rejected with 401, so that the next call requests a new one. Retry only once.
   *
   * @param rejected the rejected token. A token that another caller has renewed in the meantime is kept
   */
  forget(server: OAuthTarget, rejected?: string): void {
    const key = keyOf(server);
    if (rejected === undefined || this.tokens.getCached(key)?.token === rejected) this.tokens.invalidate(key);
  }

  private secretOf({ server_id, auth_secret }: OAuthTarget): string {
    if (auth_secret === null) {
      throw new ServerFailure('unauthorized', 'There is no client secret. Send it as `auth.client_secret`.');
    }
    return this.box.open(auth_secret, SERVER_SECRET.of(server_id));
  }
}

/** Includes the sealed secret, which differs each time that it is set, so that a new secret has no cached tokens. */
const keyOf = (server: OAuthTarget): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        server.server_id,
        server.url,
        server.auth_token_url,
        server.auth_client_id,
        server.auth_scope,
        server.auth_secret,
      ]),
    )
    .digest('base64');

interface Token {
  token: string;
  lifetimeMs: number;
}

/** Sends the credentials with HTTP Basic and, if the endpoint does not accept them that way, in the body. */
async function requestToken(
  server: OAuthTarget,
  secret: string,
  http: typeof fetch,
  signal: AbortSignal,
): Promise<Token> {
  const client = [server.auth_client_id!, secret] as const;
  const basic = `Basic ${Buffer.from(client.map(formEncoded).join(':')).toString('base64')}`;
  const form = {
    grant_type: 'client_credentials',
    resource: withoutQuery(server.url), // RFC 8707
    ...(server.auth_scope !== null && { scope: server.auth_scope }),
  };
  const send = (body: Record<string, string>, headers: Record<string, string> = {}) =>
    exchange(server.auth_token_url!, body, headers, http, signal);
  const first = await send(form, { authorization: basic });
  if (!isClientRejected(first)) return readToken(first);
  const second = await send({ ...form, client_id: client[0], client_secret: secret });
  // An endpoint that accepts only Basic returns `invalid_request`, which hides why it rejected the client.
  return readToken(second.body.error === 'invalid_request' ? first : second);
}

const formEncoded = (text: string): string => new URLSearchParams({ _: text }).toString().slice(2);

interface TokenResponse {
  status: number;
  /** Empty if the body is not a JSON object. */
  body: Record<string, unknown>;
}

async function exchange(
  url: string,
  form: Record<string, string>,
  headers: Record<string, string>,
  http: typeof fetch,
  signal: AbortSignal,
): Promise<TokenResponse> {
  try {
    const response = await http(url, {
      method: 'POST',
      headers: {
        ...headers,
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(form).toString(),
      signal,
    });
    const text = response.body && (await readCapped(response.body, RESPONSE_MAX));
    if (text === undefined) throw new ServerFailure(...FAILURES.too_large);
    return { status: response.status, body: objectIn(text ?? '') };
  } catch (error) {
    const failure = outboundFailure(error);
    throw failure === null || signal.aborted ? error : new ServerFailure(...FAILURES[failure]);
  }
}

const FAILURES: Readonly<Record<OutboundFailure, readonly [FailureKind, string]>> = {
  blocked_address: [
    'blocked_address',
    'The address of the token endpoint is not public. Use a public address, or ask the operator to add it to OUTBOUND_ALLOW.',
  ],
  too_large: ['protocol', 'The response of the token endpoint is too large.'],
  redirect: ['protocol', 'The token endpoint returned a redirect. Register its final URL.'],
  timeout: ['timeout', 'The token endpoint did not respond in time.'],
  tls: ['tls', 'The TLS connection to the token endpoint failed.'],
  unreachable: ['unreachable', 'The token endpoint cannot be reached.'],
  protocol: ['protocol', 'The token endpoint did not return valid HTTP.'],
};

function objectIn(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Returns whether the endpoint rejected the client, or did not find its credentials (RFC 6749, section 5.2). */
const isClientRejected = ({ status, body }: TokenResponse): boolean =>
  status === 401 || (status === 400 && (body.error === 'invalid_client' || body.error === 'invalid_request'));

/** The error codes of RFC 6749, sections 4.1.2.1 and 5.2, and of RFC 8707. Other codes are not shown. */
const ERROR_CODES: readonly unknown[] = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
  'access_denied',
  'server_error',
  'temporarily_unavailable',
];

function readToken({ status, body }: TokenResponse): Token {
  if (status < 200 || status > 299) throw rejection(status, body.error);
  const { access_token: token, token_type: type = 'Bearer', expires_in: seconds } = body;
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token) || token.length > TOKEN_MAX) {
    throw new ServerFailure('protocol', 'The token endpoint did not return an access token.');
  }
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') {
    throw new ServerFailure('protocol', 'The token endpoint returned a token that is not of type Bearer.');
  }
  // Some endpoints send the number as a string.
  const ms = seconds === undefined || seconds === null ? DEFAULT_LIFETIME_MS : Number(seconds) * 1000;
  return { token, lifetimeMs: ms > 0 ? Math.min(ms, MAX_LIFETIME_MS) : 0 };
}

/** The advice for errors that are not about the client credentials. */
const REMEDIES: Readonly<Record<string, string>> = {
  invalid_scope: 'Check `auth.scope`.',
  invalid_target:
    'The endpoint issues no tokens for the URL of the server. Check `url` and `auth.token_url`.',
  unauthorized_client: 'Allow the client to use the client credentials grant.',
  unsupported_grant_type: 'Use a token endpoint that supports the client credentials grant.',
};

function rejection(status: number, code: unknown): ServerFailure {
  const reason = ERROR_CODES.includes(code) ? String(code) : `HTTP ${status}`;
  if (status === 400 || status === 401 || status === 403) {
    const remedy = REMEDIES[reason] ?? 'Check `auth.client_id` and `auth.client_secret`.';
    return new ServerFailure('unauthorized', `The token endpoint rejected the client (${reason}). ${remedy}`);
  }
  return new ServerFailure('protocol', `The token endpoint returned an error (${reason}).`);
}
