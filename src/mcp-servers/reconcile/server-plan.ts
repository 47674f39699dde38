import { createHash } from 'node:crypto';
import { newId } from '#platform/ids';
import { changedSecretTarget } from '../servers/server-auth';
import type { ChangedServer, OwnedServer, WrittenServer } from './server-reconcile.repository';
import type { DeclaredContent, DeclaredServer } from './server-spec';

/** A server that differs from its declaration. */
export interface DifferingServer {
  owned: OwnedServer;
  declared: DeclaredServer;
  written: ChangedServer;
  /** The members that differ. */
  members: (keyof DeclaredContent)[];
}

/** How the declarations of an app compare with its servers. */
export interface ServerPlan {
  missing: { declared: DeclaredServer; written: WrittenServer }[];
  differing: DifferingServer[];
  /** Servers that match their declarations. */
  matching: { owned: OwnedServer; declared: DeclaredServer }[];
  /** Servers that the app no longer declares. */
  undeclared: OwnedServer[];
}

/** Compares an app's servers with its declarations, by the names in the declarations. */
export function planServers(owned: readonly OwnedServer[], declared: readonly DeclaredServer[]): ServerPlan {
  const byName = new Map(owned.map((server) => [server.declared_name, server]));
  const plan: ServerPlan = { missing: [], differing: [], matching: [], undeclared: [] };
  for (const one of declared) {
    const { content } = one;
    const present = byName.get(content.name);
    byName.delete(content.name);
    if (!present) {
      const ids = { server_id: newId('mcps'), version_id: newId('ver') };
      plan.missing.push({ declared: one, written: { ...ids, ...content } });
      continue;
    }
    const members = differingMembers(present, content);
    if (members.length === 0) plan.matching.push({ owned: present, declared: one });
    else {
      const written = changedServer(present, content, members);
      plan.differing.push({ owned: present, declared: one, written, members });
    }
  }
  plan.undeclared.push(...byName.values());
  return plan;
}

const COMPARED = ['name', 'url', 'transport', 'auth_type', 'auth_header'] as const;

function differingMembers(owned: OwnedServer, content: DeclaredContent): (keyof DeclaredContent)[] {
  const members: (keyof DeclaredContent)[] = COMPARED.filter((member) => owned[member] !== content[member]);
  if (owned.description_sha256 !== sha256OrNull(content.description)) members.push('description');
  if (owned.metadata_sha256 !== sha256OrNull(content.metadata.text)) members.push('metadata');
  return members;
}

/** A secret stays with its type, header and origin, so that a declaration cannot send it elsewhere. */
const changedServer = (
  owned: OwnedServer,
  content: DeclaredContent,
  members: readonly (keyof DeclaredContent)[],
): ChangedServer => ({
  server_id: owned.server_id,
  version_id: newId('ver'),
  ...content,
  makes_version: members.some((member) => member !== 'metadata'),
  keeps_secret: changedSecretTarget(owned, content) === null,
});

const sha256OrNull = (text: string | null): string | null =>
  text === null ? null : createHash('sha256').update(text).digest('hex');
