import { Injectable } from '@nestjs/common';
import { BulkColumns, Database, type Tx } from '#platform/db';
import { TODAY } from '../partitions/today';
import { BATCH, deleteInBatches } from '../retention/in-batches';
import { inChunks } from './in-chunks';

/** An export in the workspace that it was sent to. */
export interface ExportKey {
  workspaceId: string;
  /** 128 bits, in hexadecimal. */
  exportId: string;
}

const KEYS = new BulkColumns<ExportKey>([
  { name: 'workspace_id', type: 'text', value: ({ workspaceId }) => workspaceId },
  { name: 'export_id', type: 'uuid', value: ({ exportId }) => exportId },
]);

/** Whoever is storing the same export is waited for: it is there when they commit. */
const KEEP_NEW = {
  name: 'telemetry-export.keep-new',
  text: `INSERT INTO telemetry_exports (day, ${KEYS.names})
    SELECT ${TODAY}, ${KEYS.names} FROM ${KEYS.from(1, 'given')}
    ON CONFLICT (workspace_id, export_id) DO NOTHING
    RETURNING workspace_id, replace(export_id::text, '-', '') AS export_id`,
};

const FORGET = {
  name: 'telemetry-export.forget-some',
  text: `WITH gone AS (
      DELETE FROM telemetry_exports WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM telemetry_exports WHERE day < $1::date LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
      )) AND day < $1::date RETURNING 1
    ) SELECT count(*) AS gone FROM gone`,
};

/** Which exports are stored. */
@Injectable()
export class ExportRepository {
  constructor(private readonly database: Database) {}

  /** Keeps that exports are stored, given in the order of their keys. @returns those that were not yet. */
  async keepNew(tx: Tx, exports: readonly ExportKey[]): Promise<ExportKey[]> {
    const rows = await inChunks(exports, (chunk) =>
      tx.query<{ workspace_id: string; export_id: string }>(KEEP_NEW, KEYS.parameters(chunk)),
    );
    return rows.map(({ workspace_id, export_id }) => ({ workspaceId: workspace_id, exportId: export_id }));
  }

  /** Forgets those of the days before, of all workspaces. */
  forget(before: string): Promise<void> {
    return deleteInBatches(this.database, FORGET, [before]);
  }
}
