import { fieldNameFault, fieldValueFault, TRANSPORT_FIELD_FAULT, urlFault } from '#platform/outbound';
import { type FieldError, problem } from '#platform/problem';
import type { SecretBox } from '#platform/secrets';
import type { AuditChange } from '../../resources';
import type { PatchServerDto } from './server.dto';
import type { PatchServerAuthDto } from './server-auth.dto';
import {
  AUTH_TYPES,
  type AuthColumns,
  type AuthType,
  secretUse,
  type ServerEntity,
  withoutQuery,
} from './server.entity';

/** The `auth` of a request body, or of a server after a patch. */
export interface GivenAuth extends Partial<Record<AuthMember, string | null>> {
  type: AuthType;
}
type AuthMember = 'header' | 'value' | 'token_url' | 'client_id' | 'client_secret' | 'scope';

interface MemberRule {
  /** The types that have the member. */
  types: readonly AuthType[];
  /** Whether these types require the member. Secrets have a separate rule. */
  isRequired: boolean;
  fault: (text: string, type: AuthType) => string | null;
}

/** Printable ASCII (`VSCHAR` of RFC 6749, appendix A), as required for client ids and secrets. */
const VSCHARS = /^[\x20-\x7e]+$/;
/** Scopes between single spaces (RFC 6749, section 3.3). */
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

const printableFault = (text: string): string | null =>
  VSCHARS.test(text) ? null : 'must be printable ASCII characters';

const RULES: Record<AuthMember, MemberRule> = {
  header: { types: ['header'], isRequired: true, fault: headerFault },
  value: { types: ['bearer', 'header'], isRequired: false, fault: valueFault },
  token_url: { types: ['oauth'], isRequired: true, fault: urlFault },
  client_id: { types: ['oauth'], isRequired: true, fault: printableFault },
  client_secret: { types: ['oauth'], isRequired: false, fault: printableFault },
  scope: {
    types: ['oauth'],
    isRequired: false,
    fault: (text) => (SCOPES.test(text) ? null : 'must be scopes separated by single spaces (RFC 6749)'),
  },
};

/** Returns the member of `auth` that holds the secret. */
export const secretMember = (type: AuthType): 'value' | 'client_secret' =>
  type === 'oauth' ? 'client_secret' : 'value';

/**
 * Returns the faults of `auth`. Never repeats the secret.
 *
 * @param pointer the JSON pointer of `auth`
 */
export function authFaults(auth: GivenAuth, pointer: string): FieldError[] {
  return (Object.keys(RULES) as AuthMember[]).flatMap((member) => {
    const detail = memberFault(RULES[member], auth.type, auth[member]);
    return detail === null ? [] : [{ pointer: `${pointer}/${member}`, detail }];
  });
}

function memberFault(
  { types, isRequired, fault }: MemberRule,
  type: AuthType,
  text: string | null | undefined,
): string | null {
  const isOfType = types.includes(type);
  if (text == null) return isOfType && isRequired ? `is required if the type is \`${type}\`` : null;
  if (isOfType) return fault(text, type);
  return `is allowed only if the type is ${types.map((one) => `\`${one}\``).join(' or ')}`;
}

/** Returns the columns of `auth` without its secret. */
export const authColumns = ({ type, header, token_url, client_id, scope }: GivenAuth): AuthColumns => ({
  auth_type: type,
  auth_header: header ?? null,
  auth_token_url: token_url ?? null,
  auth_client_id: client_id ?? null,
  auth_scope: scope ?? null,
});

function valueFault(value: string, type: AuthType): string | null {
  if (type === 'bearer' && /\s/.test(value))
    return 'must not contain spaces. Send the token without `Bearer`';
  return fieldValueFault(value);
}

function headerFault(name: string): string | null {
  return fieldNameFault(name) ?? (/^mcp-/i.test(name) ? TRANSPORT_FIELD_FAULT : null);
}

/** Where and how a server's secret is sent. */
export type SecretTarget = Pick<
  ServerEntity,
  'url' | 'auth_type' | 'auth_header' | 'auth_token_url' | 'auth_client_id'
>;
type TargetChange = 'type' | 'header' | 'client_id' | 'token_url' | 'origin';

/** Returns which part of the target of a secret changes, or null. */
export function changedSecretTarget(current: SecretTarget, next: SecretTarget): TargetChange | null {
  if (next.auth_type !== current.auth_type) return 'type';
  // The names of header fields are case-insensitive (RFC 9110, section 5.1).
  if (next.auth_header?.toLowerCase() !== current.auth_header?.toLowerCase()) return 'header';
  if (next.auth_client_id !== current.auth_client_id) return 'client_id';
  if (originOf(next.auth_token_url) !== originOf(current.auth_token_url)) return 'token_url';
  return originOf(next.url) === originOf(current.url) ? null : 'origin';
}

const originOf = (url: string | null): string | null => (url === null ? null : new URL(url).origin);

/**
 * Returns the columns of `auth` that a patch sets. Errors: 400 for members of `auth` that contradict each other, and for
 * a missing secret if the target of the current one changes.
 */
export function patchedAuth(
  row: ServerEntity,
  { auth, url = row.url }: PatchServerDto,
  box: SecretBox,
): Partial<ServerEntity> {
  if (auth === null) return { ...authColumns({ type: 'none' }), auth_secret: null };
  const merged = mergedAuth(row, auth ?? {});
  const { type } = merged;
  // An unknown type returns 422, which is checked after the body.
  if (!AUTH_TYPES.includes(type)) return {};
  const faults = authFaults(merged, '/auth');
  if (faults.length > 0) throw problem.invalidFields(faults);
  const next = authColumns(merged);
  if (type === 'none') return { ...next, auth_secret: null };
  const member = secretMember(type);
  const secret = merged[member];
  if (secret == null) {
    const missing = missingSecretReason(row, { ...next, url }, member, secret);
    if (missing === null) return next;
    throw problem.invalidFields([{ pointer: `/auth/${member}`, detail: missing }]);
  }
  const use = secretUse(row.server_id);
  return {
    ...next,
    ...(!box.isSame(row.auth_secret, secret, use) && { auth_secret: box.seal(secret, use) }),
  };
}

/** Merges a patch into `auth`. Keeps the current members only if the type does not change. */
function mergedAuth(row: ServerEntity, patch: PatchServerAuthDto): GivenAuth {
  const { type = row.auth_type } = patch;
  const present = type === row.auth_type ? row : null;
  const merged = (value: string | null | undefined, current: string | null | undefined) =>
    value === undefined ? (current ?? null) : value;
  return {
    type,
    header: merged(patch.header, present?.auth_header),
    token_url: merged(patch.token_url, present?.auth_token_url),
    client_id: merged(patch.client_id, present?.auth_client_id),
    scope: merged(patch.scope, present?.auth_scope),
    value: patch.value,
    client_secret: patch.client_secret,
  };
}

/** Returns why a patch must contain a secret, or null. A server without a secret needs one only for a new type. */
function missingSecretReason(
  row: ServerEntity,
  next: SecretTarget,
  member: string,
  secret: string | null | undefined,
): string | null {
  if (secret === null) return 'cannot be null for this type. To remove the secret, set the type to `none`.';
  const changed = changedSecretTarget(row, next);
  if (changed === null || (changed !== 'type' && row.auth_secret === null)) return null;
  return `\`${member}\` is required because ${MISSING_SECRET[changed]}`;
}

const MISSING_SECRET: Record<TargetChange, string> = {
  type: 'the type changed.',
  header: 'the header changed. Secrets are never sent in a new header.',
  client_id: 'the client id changed. Secrets are never sent for another client.',
  token_url: "the token URL's origin changed. Secrets are never sent to a new origin.",
  origin: "the URL's origin changed. Secrets are never sent to a new origin.",
};

/** Removes secrets from audited changes: the query of URLs, and the values of `auth`. */
export function withoutSecrets(changes: readonly AuditChange[]): AuditChange[] {
  const others = changes
    .filter(({ member }) => !member.startsWith('auth_'))
    .map((change) => (change.member === 'url' ? withoutQueries(change) : change));
  return others.length === changes.length ? others : [...others, { member: 'auth' }];
}

function withoutQueries({ member, before, after }: AuditChange): AuditChange {
  const [from, to] = [withoutQuery(before as string), withoutQuery(after as string)];
  return from === to ? { member } : { member, before: from, after: to };
}
