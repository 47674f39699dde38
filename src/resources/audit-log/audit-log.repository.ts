import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { prepared, sql, type SqlExecutor } from '#platform/db';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { AuditAction, AuditChange, AuditedType, AuditEntryEntity } from './audit-entry.entity';

/** An action on a resource. */
export interface AuditRecord {
  action: AuditAction;
  type: AuditedType;
  id: string;
  /** Null for an action on the whole organization. */
  workspaceId: string | null;
  changes?: readonly AuditChange[];
}

/** The principal who performs an action, and the request. */
export type Actor = Pick<OrgScope, 'orgId' | 'principalId' | 'requestId'>;

/** Records who changed what, and when. */
@Injectable()
export class AuditLog {
  /**
   * Writes entries with one statement, in the transaction of the change, so that neither exists without the other.
   *
   * @param on the transaction of the change
   */
  async record(on: SqlExecutor, actor: Actor, ...actions: readonly AuditRecord[]): Promise<void> {
    if (actions.length === 0) return;
    const now = new Date();
    const entries = actions.map(({ action, type, id, workspaceId, changes = [] }): AuditEntryEntity => ({
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
    }));
    await on.query(
      prepared(
        'audit-log.record',
        sql`INSERT INTO audit_log
          SELECT * FROM jsonb_populate_recordset(NULL::audit_log, ${toRawJson(entries)}::jsonb)`,
      ),
    );
  }
}

/** Returns the changes of a new resource, such as its name and roles. Omits null members. */
export const createdChanges = (members: Record<string, unknown>): AuditChange[] =>
  Object.entries(members).flatMap(([member, after]) => (after === null ? [] : [{ member, after }]));
