import { fieldNameFault, fieldValueFault } from '#platform/outbound';
import { type FieldError, problem } from '#platform/problem';
import type { SecretBox } from '#platform/secrets';
import { type AuditChange, originOf } from '../../resources';
import type { PatchApiAuthDto } from './api-auth.dto';
import { type ApiEntity, AUTH_TYPES, type AuthType } from './api.entity';

/** `auth` as sent in a request body, or as it would be after a patch. */
export interface AuthInput {
  type: AuthType;
  name?: string | null;
  value?: string | null;
}

/** Returns the use to seal an API's secret for, so that the sealed secret is useless in the row of another API. */
export const secretUse = (apiId: string): string => `api:${apiId}`;

const QUERY_VALUE_MAX = 4_096;

interface TypeRule {
  /** Returns the fault of a name, or null. Absent for a type without a name. */
  nameFault?: (text: string) => string | null;
  /** Returns the fault of a secret, or null. Absent for a type without a secret. */
  valueFault?: (text: string) => string | null;
}

const RULES: Record<AuthType, TypeRule> = {
  none: {},
  bearer: { valueFault: bearerFault },
  header: { nameFault: headerFault, valueFault: fieldValueFault },
  basic: { valueFault: basicFault },
  query: { nameFault: parameterFault, valueFault: queryValueFault },
};

/**
 * Returns the faults of `auth` whose rules depend on its type. Never repeats the secret.
 *
 * @param pointer the JSON Pointer of `auth`
 */
export function authFaults({ type, name, value }: AuthInput, pointer: string): FieldError[] {
  const faults = { name: nameFault(type, name), value: valueFault(type, value) };
  return Object.entries(faults).flatMap(([member, detail]) =>
    detail === null ? [] : [{ pointer: `${pointer}/${member}`, detail }],
  );
}

function nameFault(type: AuthType, name: string | null | undefined): string | null {
  const rule = RULES[type].nameFault;
  if (name == null) return rule ? `is required if the type is \`${type}\`` : null;
  return rule ? rule(name) : 'is only allowed if the type is `header` or `query`';
}

function valueFault(type: AuthType, value: string | null | undefined): string | null {
  if (value == null) return null;
  const rule = RULES[type].valueFault;
  return rule ? rule(value) : 'is not allowed if the type is `none`';
}

/** Returns the faults of `auth` of a new API, which must include the secret. */
export function newAuthFaults(auth: AuthInput, pointer: string): FieldError[] {
  const isMissing = auth.type !== 'none' && auth.value == null;
  const detail = `is required if the type is \`${auth.type}\``;
  return [...authFaults(auth, pointer), ...(isMissing ? [{ pointer: `${pointer}/value`, detail }] : [])];
}

function headerFault(name: string): string | null {
  const fault = fieldNameFault(name);
  if (fault !== null) return fault;
  return name.toLowerCase() === 'cookie' ? 'must not be Cookie. Send the secret in another header' : null;
}

function parameterFault(name: string): string | null {
  return /^[\x21-\x7e]+$/.test(name) ? null : 'must contain only visible ASCII characters, without spaces';
}

function bearerFault(value: string): string | null {
  if (/\s/.test(value)) return 'must not contain spaces. Send the token without `Bearer`';
  return fieldValueFault(value);
}

function basicFault(value: string): string | null {
  if (/\p{Cc}/u.test(value)) return 'must not contain control characters';
  return value.includes(':') ? null : 'must be the user and the password, separated by a colon';
}

function queryValueFault(value: string): string | null {
  if (value.length > QUERY_VALUE_MAX) return `must have at most ${QUERY_VALUE_MAX} characters`;
  return /\p{Cc}/u.test(value) ? 'must not contain control characters' : null;
}

/** The target that an API's secret is sent to, and how it is sent. */
export type SecretTarget = Pick<ApiEntity, 'base_url' | 'auth_type' | 'auth_name'>;
type TargetChange = 'type' | 'name' | 'origin';

/** Returns what changed between the target that a secret was stored for and a new one, or null. */
export function changedSecretTarget(current: SecretTarget, next: SecretTarget): TargetChange | null {
  if (next.auth_type !== current.auth_type) return 'type';
  if (nameOf(next) !== nameOf(current)) return 'name';
  return originOf(next.base_url) === originOf(current.base_url) ? null : 'origin';
}

/** Header names are case-insensitive (RFC 9110, section 5.1). Parameter names are not. */
const nameOf = ({ auth_type, auth_name }: SecretTarget): string | null =>
  auth_type === 'header' && auth_name !== null ? auth_name.toLowerCase() : auth_name;

/** Returns the columns of `auth` without the secret. */
export const authColumns = ({ type, name }: AuthInput): Pick<ApiEntity, 'auth_type' | 'auth_name'> => ({
  auth_type: type,
  auth_name: name ?? null,
});

/**
 * Returns the columns of `auth` that a patch sets. Errors: 400 for members of `auth` that contradict each other, and for a
 * missing secret if the current one would be sent to a new target.
 *
 * @param auth the member of the body; null means the type `none`
 */
export function patchedAuth(
  row: ApiEntity,
  auth: PatchApiAuthDto | null | undefined,
  baseUrl: string,
  box: SecretBox,
): Partial<ApiEntity> {
  if (auth === null) return { ...authColumns({ type: 'none' }), auth_secret: null };
  const { type = row.auth_type, name, value } = auth ?? {};
  // An unknown type returns 422 after the other checks of the body.
  if (!AUTH_TYPES.includes(type)) return {};
  // The name is kept only if the type is.
  const currentName = type === row.auth_type ? row.auth_name : null;
  const merged: AuthInput = { type, name: name === undefined ? currentName : name, value };
  const faults = authFaults(merged, '/auth');
  if (faults.length > 0) throw problem.invalidFields(faults);
  const next = authColumns(merged);
  if (type === 'none') return { ...next, auth_secret: null };
  if (value == null) {
    const detail = missingSecretReason(row, { ...next, base_url: baseUrl }, value);
    if (detail === null) return next;
    throw problem.invalidFields([{ pointer: '/auth/value', detail }]);
  }
  const use = secretUse(row.api_id);
  return { ...next, ...(!box.isSame(row.auth_secret, value, use) && { auth_secret: box.seal(value, use) }) };
}

/** Returns why a patch must contain the secret, or null. An API without a secret may be patched without one. */
function missingSecretReason(
  row: ApiEntity,
  next: SecretTarget,
  value: string | null | undefined,
): string | null {
  if (value === null) return 'cannot be null for this type. To remove the secret, set the type to `none`.';
  const changed = changedSecretTarget(row, next);
  if (changed === null || (changed !== 'type' && row.auth_secret === null)) return null;
  return `\`value\` is required because ${MISSING_SECRET[changed]}`;
}

const MISSING_SECRET: Record<TargetChange, string> = {
  type: 'the type changed.',
  name: 'the name changed. Secrets are never sent under a new name.',
  origin: "the URL's origin changed. Secrets are never sent to a new origin.",
};

/** Returns changes for the audit log, with all changes of `auth` as one member without values. */
export function withoutSecrets(changes: readonly AuditChange[]): AuditChange[] {
  const others = changes.filter(({ member }) => !member.startsWith('auth_'));
  return others.length === changes.length ? others : [...others, { member: 'auth' }];
}
