import { compactVerify, errors } from 'jose';
import { problem } from '#platform/problem';
import type { AccountDirectory } from './account-directory';
import { type Algorithm, ALGORITHMS, isAlgorithm } from './algorithms';
import { ClaimError, readClaims, type TokenClaims } from './claims';
import { type Jws, JwsError, parseJws } from './jws';
import type { PrincipalType } from '#platform/scope';
import type { TrustedIssuer, TrustedIssuers } from './trusted-issuers';
import type { VerificationKey } from './verification-key';

/* The steps have the numbers of "Order of the checks" in docs/reference/authentication.md. */

/** Tolerated difference between the clocks of an issuer and of this service. */
export const CLOCK_SKEW_SECONDS = 30;

/** Media types of access tokens (RFC 7519, section 5.1; RFC 9068, section 2.1), without `application/`. */
const ACCESS_TOKEN_TYPES = new Set(['jwt', 'at+jwt']);
/** Claims that common issuers use for the type of a token, with their values for access tokens. */
const TYPE_CLAIMS: Readonly<Record<string, readonly string[]>> = {
  token_use: ['access'],
  typ: ['bearer', 'jwt', 'at+jwt'],
};

/** A parsed token, before verification. */
export interface UnverifiedToken {
  readonly jws: Jws;
  readonly claims: TokenClaims;
  /** The issuer that the token names, if it is trusted. */
  readonly issuer: TrustedIssuer | undefined;
}

/** The principal that a token names. */
export interface Subject {
  readonly type: PrincipalType;
  /** `user_id`, `service_account_id`, or `sub` of a platform principal. */
  readonly id: string;
  /** Null for platform principals only. */
  readonly orgId: string | null;
}

/** Step 2: three parts of base64url that contain JSON; no duplicate or wrongly typed registered claim; an `exp`. */
export function parseToken(text: string, issuers: TrustedIssuers): UnverifiedToken {
  try {
    const jws = parseJws(text);
    const named = jws.claims['iss'];
    const issuer = issuers.find(typeof named === 'string' ? named : null);
    return { jws, claims: readClaims(jws.claims, issuer?.claims ?? {}), issuer };
  } catch (error) {
    if (error instanceof JwsError) throw malformed(`The token ${error.message}.`);
    if (error instanceof ClaimError) throw malformed(`In the token, ${error.message}.`);
    throw error;
  }
}

const malformed = (detail: string) => problem.unauthenticated('token_malformed', detail);

/** Step 3: the algorithm is supported, and allowed for the issuer. */
export function checkAlgorithm({ jws, issuer }: UnverifiedToken): Algorithm {
  const allowed = issuer?.algorithms ?? ALGORITHMS;
  const { alg } = jws.header;
  if (isAlgorithm(alg) && allowed.includes(alg)) return alg;
  throw problem.unauthenticated(
    'alg_not_allowed',
    `The signature algorithm (alg) of the token must be one of ${allowed.join(', ')}.`,
  );
}

/** Step 4, first half: no critical header parameters, because none are supported, and an access token. */
export function checkTokenType({ jws }: UnverifiedToken): void {
  const { hasCrit, typ } = jws.header;
  if (hasCrit) throw rejected('The token has critical header parameters (crit) that are not supported.');
  if (typ !== undefined && !ACCESS_TOKEN_TYPES.has(typ.toLowerCase().replace(/^application\//, ''))) {
    throw rejected('The token is not an access token (header parameter typ).');
  }
  for (const [claim, values] of Object.entries(TYPE_CLAIMS)) {
    const value = Object.hasOwn(jws.claims, claim) ? jws.claims[claim] : undefined;
    if (typeof value === 'string' && !values.includes(value.toLowerCase())) {
      throw rejected(`The token is not an access token (claim ${claim}).`);
    }
  }
}

/** Step 4, second half: not revoked. Tokens of untrusted issuers cannot be revoked, and fail in the next step. */
export async function checkRevocation(
  { claims, issuer }: UnverifiedToken,
  directory: AccountDirectory,
): Promise<void> {
  if (!issuer || claims.jti === null) return;
  const orgId = claims.principalType === 'platform' ? null : claims.orgId;
  if (await directory.isRevoked(issuer.issuer, claims.jti, orgId))
    throw rejected('The token was revoked, or its API key has expired.');
}

const rejected = (detail: string) => problem.unauthenticated('token_rejected', detail);

/** Step 5: the issuer is trusted. */
export function findIssuer({ issuer }: UnverifiedToken): TrustedIssuer {
  if (issuer) return issuer;
  throw problem.unauthenticated('untrusted_issuer', 'The issuer (iss) of the token is not trusted.');
}

/** Step 6: the key that the token names. Header parameters with other keys (jku, x5u, jwk, x5c) are never read. */
export const findKey = ({ jws }: UnverifiedToken, { keys }: TrustedIssuer, algorithm: Algorithm) =>
  keys.find(jws.header.kid, algorithm);

/** Step 7: the key supports the algorithm. */
export function checkKeyAlgorithm(key: VerificationKey, algorithm: Algorithm): void {
  if (key.fits(algorithm)) return;
  throw problem.unauthenticated(
    'alg_mismatch',
    'The signature algorithm (alg) of the token does not match its key.',
  );
}

/** Step 8: the signature is valid. */
export async function verifySignature(
  { jws }: UnverifiedToken,
  key: VerificationKey,
  algorithm: Algorithm,
): Promise<void> {
  try {
    await compactVerify(jws.text, await key.importFor(algorithm), { algorithms: [algorithm] });
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    throw problem.unauthenticated('signature_invalid', 'The signature of the token is invalid.');
  }
}

/**
 * Step 9: neither expired nor issued for later.
 *
 * @param now milliseconds since 1970
 */
export function checkTimes({ claims }: UnverifiedToken, now: number): void {
  const seconds = now / 1000;
  if (claims.exp + CLOCK_SKEW_SECONDS <= seconds) {
    throw problem.unauthenticated('token_expired', 'The token has expired (exp). Get a new one.');
  }
  for (const name of ['nbf', 'iat'] as const) {
    const from = claims[name];
    if (from !== null && from - CLOCK_SKEW_SECONDS > seconds) {
      throw problem.unauthenticated('token_not_yet_valid', `The token is not valid yet (${name}).`);
    }
  }
}

/** Step 10: the audience is this service. */
export function checkAudience({ claims }: UnverifiedToken, issuer: TrustedIssuer): void {
  if (claims.aud.some((one) => issuer.audience.includes(one))) return;
  throw problem.unauthenticated('audience_mismatch', 'The audience (aud) of the token is not this service.');
}

/** Step 11: a subject, an organization, and a user or a service account. */
export function readSubject({ claims }: UnverifiedToken): Subject {
  const { sub, orgId, userId, serviceAccountId } = claims;
  if (!sub) throw problem.unauthenticated('missing_identity', 'The token has no subject (sub).');
  const type = typeOf(claims);
  if (type === 'platform') return { type, id: sub, orgId: null };
  if (!orgId) throw problem.unauthenticated('missing_org', 'The token has no organization (org_id).');
  if (type === 'user') {
    if (!userId) throw problem.unauthenticated('missing_user', 'The token has no user (user_id).');
    return { type, id: userId, orgId };
  }
  if (!serviceAccountId) {
    throw problem.unauthenticated(
      'missing_identity',
      'The token has no service account (service_account_id).',
    );
  }
  return { type, id: serviceAccountId, orgId };
}

function typeOf({ principalType, userId, serviceAccountId }: TokenClaims): PrincipalType {
  if (principalType === null) return serviceAccountId && !userId ? 'service_account' : 'user';
  if (principalType === 'user' || principalType === 'service_account' || principalType === 'platform') {
    return principalType;
  }
  throw problem.unauthenticated(
    'unauthorized',
    'The claim principal_type must be user, service_account or platform.',
  );
}

/** Step 11, second half: the issuer may issue tokens for this subject. */
export function checkIssuerRights({ type, orgId }: Subject, issuer: TrustedIssuer): void {
  if (type === 'platform') {
    if (!issuer.platform)
      throw rejected('The issuer of the token is not allowed to issue tokens for platform principals.');
  } else if (issuer.orgIds !== '*' && !issuer.orgIds.has(orgId ?? '')) {
    throw rejected('The issuer of the token is not trusted for this organization.');
  }
}
