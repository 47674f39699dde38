import { Injectable } from '@nestjs/common';
import {
  BulkColumns,
  Database,
  DELETE_BATCH,
  deleteInBatches,
  inChunks,
  prepared,
  raw,
  sql,
  type Tx,
} from '#platform/db';
import { TODAY } from '../partitions/day-partition.repository';

/** The key of an export. */
export interface ExportKey {
  workspaceId: string;
  /** 128 bits, in hexadecimal. */
  exportId: string;
}

const KEYS = new BulkColumns<ExportKey>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'export_id', type: 'uuid', value: ({ exportId }) => exportId },
]);

/** Records which exports are stored. */
@Injectable()
export class ExportRepository {
  constructor(private readonly database: Database) {}

  /**
   * Inserts exports, which must be in the order of their keys. Waits for a transaction that is storing the same export.
   *
   * @returns the exports that were not stored before
   */
  async insertNew(tx: Tx, exports: readonly ExportKey[]): Promise<ExportKey[]> {
    const rows = await inChunks(exports, (chunk) =>
      tx.query<{ workspace_id: string; export_id: string }>(
        prepared(
          'telemetry-export.insert-new',
          sql`INSERT INTO telemetry_exports (day, ${KEYS.columnList})
            SELECT ${TODAY}, ${KEYS.columnList} FROM ${KEYS.table(chunk, 'input')}
            ON CONFLICT (workspace_id, export_id) DO NOTHING
            RETURNING workspace_id, replace(export_id::text, '-', '') AS export_id`,
        ),
      ),
    );
    return rows.map(({ workspace_id, export_id }) => ({ workspaceId: workspace_id, exportId: export_id }));
  }

  /** Deletes the exports of earlier days, in all workspaces. */
  deleteBefore(day: string): Promise<void> {
    return deleteInBatches(
      this.database,
      prepared(
        'telemetry-export.delete-before',
        sql`WITH deleted AS (
            DELETE FROM telemetry_exports WHERE ctid = ANY(ARRAY(
              SELECT ctid FROM telemetry_exports WHERE day < ${day}::date
              LIMIT ${raw(String(DELETE_BATCH))} FOR UPDATE SKIP LOCKED
            )) AND day < ${day}::date RETURNING 1
          ) SELECT count(*) AS deleted FROM deleted`,
      ),
    );
  }
}
