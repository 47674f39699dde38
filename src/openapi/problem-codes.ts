import type { AccessRule } from '#platform/auth';
import type { BodyTraits } from '#platform/http';
import { AUTHENTICATION_CODES, CATALOGUE, type ProblemCode } from '#platform/problem';

/** The traits of an operation that decide which problems it can return. Derived from its decorators. */
export interface ProblemTraits {
  path: string;
  method: string;
  /** Undefined for public operations. */
  access: AccessRule | undefined;
  /** How the body is read; undefined for an operation without one. */
  body: BodyTraits | undefined;
  acceptsIdempotencyKey: boolean;
  acceptsIfMatch: boolean;
  /** Whether a rate limit can count it: by its caller, or for public operations by their address. */
  isRateLimited: boolean;
  /** `required`, or `optional` if the workspace header selects nothing and the operation does not describe it. */
  workspace: 'required' | 'optional' | 'none';
  /** Whether a parameter or a member of the body is enumerated. */
  takesEnumeration: boolean;
  /** The codes of `@Throws()`. */
  thrown: readonly ProblemCode[];
}

/** Paths of documents that are built once and cached in memory. */
const STATIC = /^\/(health\/live|\.well-known\/oauth-.*)$/;

/** Codes that can have another status than the one in the catalogue. */
const OTHER_STATUSES: [status: number, code: ProblemCode][] = [[408, 'request_timeout']];

/** Returns every code that can have a status, in alphabetical order. */
export const codesOfStatus = (status: number): ProblemCode[] =>
  [
    ...(Object.keys(CATALOGUE) as ProblemCode[]).filter((code) => CATALOGUE[code].status === status),
    ...OTHER_STATUSES.flatMap(([other, code]) => (other === status ? [code] : [])),
  ].sort();

/** Returns the codes that an operation can return, by status. The codes of a status are in alphabetical order. */
export function problemsOf(traits: ProblemTraits): Map<number, ProblemCode[]> {
  const { body } = traits;
  const codes = new Set<ProblemCode>([
    ...(['invalid_request', 'internal_error'] as const),
    ...codesOfCaller(traits),
    ...traits.thrown,
  ]);
  const add = (isPossible: boolean | undefined, ...added: ProblemCode[]): void => {
    if (isPossible) added.forEach((code) => codes.add(code));
  };
  add(traits.access !== undefined, 'invalid_query');
  // the caller may have no current resource of the kind
  add(/\{|\/current$/.test(traits.path), 'not_found');
  add(traits.acceptsIdempotencyKey, 'conflict');
  // the key may be repeated with another body
  add(traits.acceptsIdempotencyKey && body !== undefined, 'validation_failed');
  add(traits.workspace === 'required', 'conflict');
  add(traits.acceptsIfMatch, 'precondition_failed');
  // the ids of a resource are members of its patch, and can never change
  add(traits.method === 'patch', 'immutable_field');
  add(traits.takesEnumeration, 'validation_failed');
  add(traits.isRateLimited, 'rate_limited', 'service_overloaded');
  add(!STATIC.test(traits.path), 'service_unavailable', 'request_timeout');
  add(body !== undefined, 'payload_too_large', 'unsupported_content_encoding');
  add(body?.checksMedia, 'unsupported_media_type');
  add((body?.codings.length ?? 0) > 0, 'compressed_payload_too_large');
  add(body?.codings.includes('base64'), 'invalid_base64');
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of [...codes].sort()) {
    const { status } = CATALOGUE[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  if (body) byStatus.set(408, ['request_timeout']);
  return byStatus;
}

/** Returns the codes of the admission. */
function codesOfCaller({ access }: ProblemTraits): ProblemCode[] {
  if (!access) return [];
  const codes: ProblemCode[] = [...AUTHENTICATION_CODES, 'auth_unavailable', 'account_suspended'];
  // a key can be narrower than its account
  if (access.kind !== 'principal') codes.push('access_denied', 'forbidden');
  if (access.kind !== 'principal' && access.kind !== 'platform') codes.push('platform_principal_refused');
  return codes;
}
