import { createHash } from 'node:crypto';
import { newId } from '#platform/ids';
import type { ServerEntity } from '../servers/server.entity';
import { otherUse } from '../servers/server-form';
import type { DeclaredContent, DeclaredServer } from './server-spec';
import type { ChangedServer, OwnedServer, WrittenServer } from './server-sweep.repository';

/** A server that is otherwise than it is declared. */
export interface Drift {
  owned: OwnedServer;
  declared: DeclaredServer;
  written: ChangedServer;
  /** The members that differ. */
  members: (keyof DeclaredContent)[];
}

/** What a sweep has to do to the servers of an app. */
export interface ServerPlan {
  missing: { declared: DeclaredServer; written: WrittenServer }[];
  drifted: Drift[];
  /** Those that are as declared. */
  kept: { owned: OwnedServer; declared: DeclaredServer }[];
  /** Those that are declared no longer. */
  undeclared: OwnedServer[];
}

/** Holds the servers of an app against its declarations, by the names by which it declares them. */
export function planOf(owned: readonly OwnedServer[], declared: readonly DeclaredServer[]): ServerPlan {
  const byName = new Map(owned.map((server) => [server.declared_name, server]));
  const plan: ServerPlan = { missing: [], drifted: [], kept: [], undeclared: [] };
  for (const one of declared) {
    const present = byName.get(one.content.name);
    byName.delete(one.content.name);
    if (!present) {
      const ids = { server_id: newId('mcps'), version_id: newId('ver') };
      plan.missing.push({ declared: one, written: { ...ids, ...one.content } });
      continue;
    }
    const members = differing(present, one.content);
    if (members.length === 0) plan.kept.push({ owned: present, declared: one });
    else
      plan.drifted.push({
        owned: present,
        declared: one,
        written: changed(present, one.content, members),
        members,
      });
  }
  plan.undeclared.push(...byName.values());
  return plan;
}

const MEMBERS = [
  'name',
  'url',
  'transport',
  'auth_type',
  'auth_header',
] as const satisfies (keyof ServerEntity)[];

function differing(owned: OwnedServer, content: DeclaredContent): (keyof DeclaredContent)[] {
  const members: (keyof DeclaredContent)[] = MEMBERS.filter((member) => owned[member] !== content[member]);
  if (owned.description_sha256 !== sha256OrNull(content.description)) members.push('description');
  if (owned.metadata_sha256 !== sha256OrNull(content.metadata.text)) members.push('metadata');
  return members;
}

/** A secret stays with the type, the header and the origin that it was given for: a declaration cannot send it elsewhere. */
function changed(
  owned: OwnedServer,
  content: DeclaredContent,
  members: readonly (keyof DeclaredContent)[],
): ChangedServer {
  return {
    server_id: owned.server_id,
    version_id: newId('ver'),
    ...content,
    makes_version: members.some((member) => member !== 'metadata'),
    keeps_secret: otherUse(owned, content) === null,
  };
}

const sha256OrNull = (text: string | null): string | null =>
  text === null ? null : createHash('sha256').update(text).digest('hex');
