/**
 * The claims that are read besides the registered ones of RFC 7519. A foreign issuer may call them otherwise; its
 * configuration maps each to a claim's name or, beginning with `/`, to a JSON pointer into the claims (RFC 6901).
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

/** What a token says, of the right types; not yet whether any of it is true. */
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
  /** Null where the token does not narrow what its roles reach. */
  readonly workspaceIds: readonly string[] | null;
}

/** A claim of the wrong type, or `exp` absent. */
export class ClaimError extends Error {}

/** Reads the claims by the names that their issuer gives them. Throws `ClaimError`. */
export function readClaims(claims: Claims, mapping: ClaimMapping): TokenClaims {
  const mapped = (name: ClaimName): unknown => find(claims, mapping[name] ?? name);
  const exp = time(claims, 'exp');
  if (exp === null) throw new ClaimError('the claim exp is missing');
  return {
    iss: text('iss', registered(claims, 'iss')),
    aud: audience(registered(claims, 'aud')),
    exp,
    nbf: time(claims, 'nbf'),
    iat: time(claims, 'iat'),
    jti: text('jti', registered(claims, 'jti')),
    sub: text('sub', mapped('sub')),
    orgId: text('org_id', mapped('org_id') ?? undefined),
    userId: text('user_id', mapped('user_id') ?? undefined),
    serviceAccountId: text('service_account_id', mapped('service_account_id') ?? undefined),
    principalType: text('principal_type', mapped('principal_type') ?? undefined),
    roles: texts('roles', mapped('roles') ?? undefined) ?? [],
    workspaceIds: texts('workspace_ids', mapped('workspace_ids') ?? undefined),
  };
}

/** A claim's own value: never one inherited, such as `constructor`. */
const registered = (claims: Claims, name: string): unknown =>
  Object.hasOwn(claims, name) ? claims[name] : undefined;

function find(claims: Claims, place: string): unknown {
  if (!place.startsWith('/')) return registered(claims, place);
  let found: unknown = claims;
  for (const part of place.slice(1).split('/')) {
    if (typeof found !== 'object' || found === null) return undefined;
    found = registered(found as Claims, part.replace(/~1/g, '/').replace(/~0/g, '~'));
  }
  return found;
}

function text(name: string, value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value !== 'string') throw new ClaimError(`the claim ${name} must be a string`);
  return value;
}

function texts(name: string, value: unknown): readonly string[] | null {
  if (value === undefined) return null;
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string')) {
    throw new ClaimError(`the claim ${name} must be an array of strings`);
  }
  return value;
}

const audience = (value: unknown): readonly string[] =>
  (typeof value === 'string' ? [value] : texts('aud', value)) ?? [];

/** NumericDate (RFC 7519, section 2): seconds, possibly with a fraction. */
function time(claims: Claims, name: string): number | null {
  const value = registered(claims, name);
  if (value === undefined) return null;
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new ClaimError(`the claim ${name} must be a number of seconds`);
  }
  return value;
}
