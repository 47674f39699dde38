import { Injectable } from '@nestjs/common';
import { sql, type SqlExecutor } from '#platform/db';
import type { AuditEntryEntity } from './audit-entry.entity';

@Injectable()
export class AuditLogRepository {
  /** Writes entries in one statement. Each names its organization. */
  async insertMany(on: SqlExecutor, entries: readonly AuditEntryEntity[]): Promise<void> {
    const rows = JSON.stringify(entries);
    await on.query(
      sql`INSERT INTO audit_log SELECT * FROM jsonb_populate_recordset(NULL::audit_log, ${rows}::jsonb)`,
    );
  }
}
