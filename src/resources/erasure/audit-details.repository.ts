import { Injectable } from '@nestjs/common';
import { sql, type Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from './erasure-steps';

/** Entries per batch. */
const BATCH = 2_000;

/** Removes the name of an end user from the values that the audit log shows of changes. The entries stay. */
@Injectable()
export class AuditDetailsRepository implements ErasureStep {
  readonly name = 'audit details';
  readonly subjects = ['end_user'] as const;
  readonly phase = 'copies';

  constructor(steps: ErasureSteps) {
    steps.add(this);
  }

  async run(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, id, isDryRun } = erasure;
    const rows = await tx.query<{ audit_entry_id: string; is_named: boolean }>(
      sql`SELECT audit_entry_id, position(to_jsonb(${id}::text)::text IN changes::text) > 0 AS is_named FROM audit_log
        WHERE workspace_id = ${workspaceId} AND audit_entry_id > ${cursor ?? ''}
        ORDER BY audit_entry_id LIMIT ${BATCH}`,
    );
    const named = rows.filter((row) => row.is_named).map((row) => row.audit_entry_id);
    if (named.length > 0 && !isDryRun) {
      await tx.query(
        sql`UPDATE audit_log SET changes = (
            SELECT jsonb_agg(CASE WHEN position(to_jsonb(${id}::text)::text IN change::text) > 0
              THEN jsonb_build_object('member', change -> 'member') ELSE change END ORDER BY place)
            FROM jsonb_array_elements(changes) WITH ORDINALITY changed (change, place))
          WHERE audit_entry_id = ANY (${named}) AND workspace_id = ${workspaceId}`,
      );
    }
    return {
      counts: { audit_details: named.length },
      next: rows.length < BATCH ? null : rows.at(-1)!.audit_entry_id,
    };
  }
}
