import { Injectable } from '@nestjs/common';
import { Database, DELETE_BATCH, deleteInBatches, prepared, raw, sql } from '#platform/db';
import { firstIdAt } from '#platform/ids';

/** Deletes old entries of the audit log. */
@Injectable()
export class AuditRetentionRepository {
  constructor(private readonly database: Database) {}

  /** Deletes the entries of all organizations from before a time, the oldest first. Ids sort by time. */
  deleteBefore(time: Date): Promise<void> {
    return deleteInBatches(
      this.database,
      prepared(
        'audit-log.delete-before',
        sql`WITH deleted AS (
            DELETE FROM audit_log WHERE audit_entry_id = ANY (ARRAY(
              SELECT audit_entry_id FROM audit_log WHERE audit_entry_id < ${firstIdAt('aud', time.getTime())}
              ORDER BY audit_entry_id LIMIT ${raw(String(DELETE_BATCH))} FOR UPDATE SKIP LOCKED
            )) RETURNING 1
          ) SELECT count(*) AS deleted FROM deleted`,
      ),
    );
  }
}
