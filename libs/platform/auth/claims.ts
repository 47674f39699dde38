/**
 * The claims that the service reads besides the registered ones of RFC 7519. The configuration of a foreign issuer maps
 * each to another claim or, with a leading `/`, to a JSON pointer into the claims (RFC 6901).
 */
export const CLAIM_NAMES = [
  'sub',
  'org_id',
  'user_id',
  'service_account_id',
  'roles',
  'workspace_ids',
  'principal_type',
] as const;

export type ClaimName = (typeof CLAIM_NAMES)[number];
export type ClaimMapping = Readonly<Partial<Record<ClaimName, string>>>;

type Claims = Readonly<Record<string, unknown>>;

/** The claims of a token, with their types checked and nothing verified. */
export interface TokenClaims {
  readonly iss: string | null;
  readonly aud: readonly string[];
  /** Seconds since 1970, as are `nbf` and `iat`. */
  readonly exp: number;
  readonly nbf: number | null;
  readonly iat: number | null;
  readonly jti: string | null;
  readonly sub: string | null;
  readonly orgId: string | null;
  readonly userId: string | null;
  readonly serviceAccountId: string | null;
  readonly principalType: string | null;
  readonly roles: readonly string[];
  /** Limits the workspaces where the roles apply. Null for no limit. */
  readonly workspaceIds: readonly string[] | null;
}

/** A claim has the wrong type, or `exp` is missing. */
export class ClaimError extends Error {}

/** Reads the claims under the names that their issuer uses. Throws `ClaimError`. */
export function readClaims(claims: Claims, mapping: ClaimMapping): TokenClaims {
  const mapped = (name: ClaimName): unknown => resolve(claims, mapping[name] ?? name);
  const names = (name: 'roles' | 'workspace_ids'): readonly string[] | null => {
    const value = mapped(name) ?? undefined;
    const source = mapping[name];
    if (source === undefined) return texts(name, value);
    // another claim may be a list of names as in `scope` and `scp` (RFC 8693, section 4.2)
    const isList = typeof value === 'string';
    return texts(
      source,
      isList ? namesIn(value) : value,
      'an array of strings, or a string of names separated by spaces',
    );
  };
  const exp = time(claims, 'exp');
  if (exp === null) throw new ClaimError('the claim exp is missing');
  return {
    iss: text('iss', ownValue(claims, 'iss')),
    aud: audience(ownValue(claims, 'aud')),
    exp,
    nbf: time(claims, 'nbf'),
    iat: time(claims, 'iat'),
    jti: text('jti', ownValue(claims, 'jti')),
    sub: text('sub', mapped('sub')),
    orgId: text('org_id', mapped('org_id') ?? undefined),
    userId: text('user_id', mapped('user_id') ?? undefined),
    serviceAccountId: text('service_account_id', mapped('service_account_id') ?? undefined),
    principalType: text('principal_type', mapped('principal_type') ?? undefined),
    roles: names('roles') ?? [],
    workspaceIds: names('workspace_ids'),
  };
}

/** Returns the value of an own property, never an inherited one such as `constructor`. */
const ownValue = (claims: Claims, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;

function resolve(claims: Claims, nameOrPointer: string): unknown {
  if (!nameOrPointer.startsWith('/')) return ownValue(claims, nameOrPointer);
  let value: unknown = claims;
  for (const part of nameOrPointer.slice(1).split('/')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = ownValue(value as Claims, part.replace(/~1/g, '/').replace(/~0/g, '~'));
  }
  return value;
}

function text(name: string, value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value !== 'string') throw new ClaimError(`the claim ${name} must be a string`);
  return value;
}

function texts(name: string, value: unknown, form = 'an array of strings'): readonly string[] | null {
  if (value === undefined) return null;
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) {
    throw new ClaimError(`the claim ${name} must be ${form}`);
  }
  return value;
}

/** Splits a list of names that are separated by spaces. */
const namesIn = (list: string): string[] => list.split(' ').filter((name) => name !== '');

const audience = (value: unknown): readonly string[] =>
  (typeof value === 'string' ? [value] : texts('aud', value)) ?? [];

/** NumericDate (RFC 7519, section 2): seconds, possibly with a fraction. */
function time(claims: Claims, name: string): number | null {
  const value = ownValue(claims, name);
  if (value === undefined) return null;
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new ClaimError(`the claim ${name} must be a number of seconds`);
  }
  return value;
}
