import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { newId } from '#platform/ids';
import { toJsonText } from '#platform/json';
import { AuditLogRepository } from './audit-log.repository';
import type { AuditAction, AuditChange, AuditedType } from './audit-entry.entity';

/** Something that is done to a resource. */
export interface Audited {
  action: AuditAction;
  type: AuditedType;
  id: string;
  /** Null for what concerns all of the organization. */
  workspaceId: string | null;
  /** See `changesTold`. */
  changes?: readonly AuditChange[];
}

/** On whose behalf it is done. */
export type Actor = Pick<OrgScope, 'orgId' | 'principalId' | 'requestId'>;

/** A platform principal, who acts in whichever organization. */
export type PlatformActor = Omit<Actor, 'orgId'>;

/** Keeps who changed what, and when. */
@Injectable()
export class AuditLog {
  constructor(private readonly entries: AuditLogRepository) {}

  /**
   * Writes what is done, in the transaction that does it: neither is there without the other.
   *
   * @param on that transaction
   */
  async record(on: SqlExecutor, actor: Actor, ...done: readonly Audited[]): Promise<void> {
    if (done.length === 0) return;
    const now = new Date();
    await this.entries.insertMany(
      on,
      done.map(({ action, type, id, workspaceId, changes = [] }) => ({
        audit_entry_id: newId('aud'),
        org_id: actor.orgId,
        workspace_id: workspaceId,
        principal_id: actor.principalId,
        action,
        resource_type: type,
        resource_id: id,
        changes: [...changes],
        request_id: actor.requestId,
        created_at: now,
      })),
    );
  }
}

/** What something new was given: names, roles and the like, which nobody should have to look for elsewhere. */
export const given = (members: Record<string, unknown>): AuditChange[] =>
  Object.entries(members).flatMap(([member, after]) => (after === null ? [] : [{ member, after }]));

/** What every change of a row brings with it, and says nothing. */
const IMPLIED = new Set([
  'generation',
  'revision',
  'updated_at',
  'archived_at',
  'version_ordinal',
  'scorer_version',
  'version_id',
  'config_pairs',
]);

/**
 * The members that a change writes, and that differ. Their values are told of those that are named as `told` alone, so that what is
 * added to a resource later, and is secret, is not told by oversight.
 *
 * @param row before the change
 */
export function changesTold<Row extends object>(
  row: Row,
  changes: Partial<Row>,
  told: readonly (keyof Row & string)[],
): AuditChange[] {
  const members = Object.keys(changes) as (keyof Row & string)[];
  return members
    .filter((member) => !IMPLIED.has(member) && toJsonText(row[member]) !== toJsonText(changes[member]))
    .map((member) =>
      told.includes(member) ? { member, before: row[member], after: changes[member] } : { member },
    );
}
