import { patchMetadata } from '#platform/http';
import { problem } from '#platform/problem';
import { type AuditChange, changesOf, changesTold } from '../../registry';
import type { PatchServerAuthDto, PatchServerDto } from './server.dto';
import { type ServerEntity, VERSIONED } from './server.entity';
import { authFaults, otherUse, type SecretUse, urlFault, withoutQuery } from './server-form';
import type { ServerSecrets } from './server-secrets';

type Auth = Pick<ServerEntity, 'auth_type' | 'auth_header'> & { auth_secret?: string | null };

/**
 * What a patch writes; null where it changes nothing. The version is left to the caller. Errors: 400 for what the rules
 * between the members of `auth` forbid, and for a secret that would come to be sent elsewhere, or in another way, than it
 * was given for.
 */
export function changesOfServer(
  row: ServerEntity,
  dto: PatchServerDto,
  secrets: ServerSecrets,
): Partial<ServerEntity> | null {
  const changes = changesOf(row, {
    name: dto.name,
    description: dto.description,
    url: dto.url,
    transport: dto.transport,
    ...authOf(row, dto, secrets),
    metadata: dto.metadata === undefined ? undefined : patchMetadata(row.metadata, dto.metadata),
  });
  return changes && Object.keys(changes).some(isDeclared) ? drifted(row, changes) : changes;
}

/** No declaration holds a secret, so that one which has another is as declared as it was. */
const isDeclared = (member: string): boolean => !['auth_secret', 'generation', 'updated_at'].includes(member);

/** What is written of a server whose tools change, too. @param own what changes of its own members */
export const touched = (row: ServerEntity, own: Partial<ServerEntity> | null): Partial<ServerEntity> =>
  drifted(row, own ?? { generation: row.generation + 1, updated_at: new Date() });

/** A server that an app declares is no longer as it is declared. */
const drifted = (row: ServerEntity, changes: Partial<ServerEntity>): Partial<ServerEntity> =>
  row.app_id === null ? changes : { ...changes, sync_state: 'drifted' };

/** 400 for an address that is none. */
export function checkUrl(url: string): void {
  const detail = urlFault(url);
  if (detail !== null) throw problem.invalidFields([{ pointer: '/url', detail }]);
}

function authOf(row: ServerEntity, { auth, url = row.url }: PatchServerDto, secrets: ServerSecrets): Auth {
  if (auth === null) return { auth_type: 'none', auth_header: null, auth_secret: null };
  const given = merged(row, auth ?? {});
  const faults = authFaults(given, '/auth');
  if (faults.length > 0) throw problem.invalidFields(faults);
  const { type, header, value } = given;
  const next = { auth_type: type, auth_header: header };
  if (type === 'none') return { ...next, auth_secret: null };
  if (value == null) {
    const missing = whyMissing(row, { ...next, url }, value);
    if (missing === null) return next;
    throw problem.invalidFields([{ pointer: '/auth/value', detail: missing }]);
  }
  const isKept = secrets.isSame(row.server_id, row.auth_secret, value);
  return { ...next, ...(!isKept && { auth_secret: secrets.seal(row.server_id, value) }) };
}

/** The header of another type does not stay. */
function merged(row: ServerEntity, { type = row.auth_type, header, value }: PatchServerAuthDto) {
  const kept = type === 'header' && type === row.auth_type ? row.auth_header : null;
  return { type, header: header === undefined ? kept : header, value };
}

/** Why a secret has to be given; null where the one that is there stays, or it is for somebody else to give the first. */
function whyMissing(row: ServerEntity, next: SecretUse, value: string | null | undefined): string | null {
  if (value === null) return 'cannot be taken away from this type: send the type none, or null for auth';
  const other = otherUse(row, next);
  return other !== null && (other === 'type' || row.auth_secret !== null) ? MISSING[other] : null;
}

const MISSING = {
  type: 'is required where the type is another',
  header: 'is required where the header is another: the secret was not given for that one',
  origin: 'is required where the address is of another origin: the secret was not given for that one',
};

/** Whether a change makes a version. */
export const isVersioned = (changes: Partial<ServerEntity>): boolean =>
  VERSIONED.some((member) => member in changes);

const TOLD = ['name', 'url', 'transport'] as const;

/** What the log tells of a change: of `auth` that it was changed, and no more. */
export function told(row: ServerEntity, { sync_state: _, ...changes }: Partial<ServerEntity>): AuditChange[] {
  return withoutSecrets(changesTold(row, changes, TOLD));
}

/** The same without what may be secret: of addresses, which the log keeps for ever, the query is not told. */
export function withoutSecrets(changes: readonly AuditChange[]): AuditChange[] {
  const others = changes
    .filter(({ member }) => !member.startsWith('auth_'))
    .map((change) => (change.member === 'url' ? changeOfUrl(change) : change));
  return others.length === changes.length ? others : [...others, { member: 'auth' }];
}

function changeOfUrl({ member, before, after }: AuditChange): AuditChange {
  const [from, to] = [withoutQuery(before as string), withoutQuery(after as string)];
  return from === to ? { member } : { member, before: from, after: to };
}
