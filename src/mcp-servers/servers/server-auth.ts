import { type FieldError, problem } from '#platform/problem';
import type { AuditChange } from '../../resources';
import type { PatchServerAuthDto, PatchServerDto } from './server.dto';
import { AUTH_TYPES, type AuthType, type ServerEntity, withoutQuery } from './server.entity';
import type { ServerSecrets } from './server-secrets';

/** The name of a header field (RFC 9110, section 5.1). */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** The value of a header field (RFC 9110, section 5.5), limited to ASCII, without surrounding blanks. */
const FIELD_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;

/** Fields that the transport writes itself. Another value could change where a message ends. */
const TRANSPORT_FIELDS = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'last-event-id',
  'origin',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);

/** Returns what is wrong with the URL of a server, or null. */
export function urlFault(text: string): string | null {
  if (/[\s\p{Cc}\\]/u.test(text)) return 'must not contain spaces, control characters or backslashes';
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    return 'must be a URL that begins with http:// or https://';
  }
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?#]*@/.test(text)) {
    return 'must not contain a user or a password: send credentials in auth';
  }
  return text.includes('#') ? 'must not have a fragment (#)' : null;
}

/** `auth` as a body gives it, or as a patch leaves it. */
export interface GivenAuth {
  type: AuthType;
  header?: string | null;
  value?: string | null;
}

/**
 * Returns what is wrong between the members of `auth`. Never repeats the secret.
 *
 * @param pointer of `auth`
 */
export function authFaults({ type, header, value }: GivenAuth, pointer: string): FieldError[] {
  const faults: FieldError[] = [];
  const fault = (member: string, detail: string) => faults.push({ pointer: `${pointer}/${member}`, detail });
  if (type === 'header') {
    const detail = header == null ? 'is required if the type is `header`' : headerFault(header);
    if (detail !== null) fault('header', detail);
  } else if (header != null) fault('header', 'is only allowed if the type is `header`');
  if (value == null) return faults;
  if (type === 'none') fault('value', 'is not allowed if the type is `none`');
  else if (!FIELD_VALUE.test(value) || (type === 'bearer' && /[\t ]/.test(value))) {
    fault(
      'value',
      `must be visible ASCII characters${type === 'bearer' ? '' : ', with spaces only between them'}`,
    );
  }
  return faults;
}

function headerFault(name: string): string | null {
  if (!FIELD_NAME.test(name)) return 'must be the name of a header field (RFC 9110, section 5.1)';
  const field = name.toLowerCase();
  return TRANSPORT_FIELDS.has(field) || /^(?:mcp|sec)-/.test(field)
    ? 'must not be a header that the transport sets itself'
    : null;
}

/** Where, and how, a server's secret is sent. */
export type SecretTarget = Pick<ServerEntity, 'url' | 'auth_type' | 'auth_header'>;

/** Returns what differs between the target that a secret was given for and another, or null. */
export function changedSecretTarget(
  given: SecretTarget,
  next: SecretTarget,
): 'type' | 'header' | 'origin' | null {
  if (next.auth_type !== given.auth_type) return 'type';
  // The names of header fields are case-insensitive (RFC 9110, section 5.1).
  if (next.auth_header?.toLowerCase() !== given.auth_header?.toLowerCase()) return 'header';
  return new URL(next.url).origin === new URL(given.url).origin ? null : 'origin';
}

/**
 * Returns the columns of `auth` that a patch sets. Errors: 400 for members of `auth` that contradict each other, and for a
 * missing secret when the current one would be sent to another target than it was given for.
 */
export function patchedAuth(
  row: ServerEntity,
  { auth, url = row.url }: PatchServerDto,
  secrets: ServerSecrets,
): Partial<ServerEntity> {
  if (auth === null) return { auth_type: 'none', auth_header: null, auth_secret: null };
  const { type, header, value } = mergedAuth(row, auth ?? {});
  // An unknown type is 422, which follows the checks of the body.
  if (!AUTH_TYPES.includes(type)) return {};
  const faults = authFaults({ type, header, value: value ?? null }, '/auth');
  if (faults.length > 0) throw problem.invalidFields(faults);
  const next = { auth_type: type, auth_header: header };
  if (type === 'none') return { ...next, auth_secret: null };
  if (value == null) {
    const missing = missingSecretReason(row, { ...next, url }, value);
    if (missing === null) return next;
    throw problem.invalidFields([{ pointer: '/auth/value', detail: missing }]);
  }
  const isKept = secrets.isSame(row.server_id, row.auth_secret, value);
  return { ...next, ...(!isKept && { auth_secret: secrets.seal(row.server_id, value) }) };
}

/** Keeps the present header only if the type stays. */
function mergedAuth(row: ServerEntity, { type = row.auth_type, header, value }: PatchServerAuthDto) {
  const present = type === 'header' && type === row.auth_type ? row.auth_header : null;
  return { type, header: header === undefined ? present : header, value };
}

/** Returns why a patch must give a secret, or null. A server that never had one may be patched without. */
function missingSecretReason(
  row: ServerEntity,
  next: SecretTarget,
  value: string | null | undefined,
): string | null {
  if (value === null) return 'cannot be null for this type. To remove the secret, set the type to none.';
  const changed = changedSecretTarget(row, next);
  if (changed === null || (changed !== 'type' && row.auth_secret === null)) return null;
  return MISSING_SECRET[changed];
}

const MISSING_SECRET = {
  type: '`value` is required because the type changed.',
  header: '`value` is required because the header changed. Secrets are never sent in a new header.',
  origin: "`value` is required because the URL's origin changed. Secrets are never sent to a new origin.",
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
