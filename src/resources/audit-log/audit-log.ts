import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import { newId } from '#platform/ids';
import { AuditLogRepository } from './audit-log.repository';
import type { AuditAction, AuditChange, AuditedType } from './audit-entry.entity';

/** An action on a resource. */
export interface Audited {
  action: AuditAction;
  type: AuditedType;
  id: string;
  /** Null for what concerns the whole organization. */
  workspaceId: string | null;
  changes?: readonly AuditChange[];
}

/** On whose behalf it happens. */
export type Actor = Pick<OrgScope, 'orgId' | 'principalId' | 'requestId'>;

/** Records who changed what, and when. */
@Injectable()
export class AuditLog {
  constructor(private readonly entries: AuditLogRepository) {}

  /**
   * Writes entries in the transaction of the change, so that neither exists without the other.
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

/** The changes of something new: its names, roles and the like. Null members are left out. */
export const given = (members: Record<string, unknown>): AuditChange[] =>
  Object.entries(members).flatMap(([member, after]) => (after === null ? [] : [{ member, after }]));
