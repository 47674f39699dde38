import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type BulkColumn, BulkColumns, join, prepared, raw, type Sql, sql, type Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import type { RecordChange } from '../datasets/dataset.repository';
import type { RecordContent } from '../records/record-content';
import { CONTENT_MEMBERS } from '../records/record.repository';

/** A version of a record, as it is written. */
export interface ImportedRow extends RecordContent {
  dataset_record_id: string;
  version: number;
  version_id: string;
}

const CONTENT = raw(CONTENT_MEMBERS.join(', '));

/** JSON null is stored as NULL, as in every write of records. */
const jsonOf = (value: unknown): string | null => {
  const text = toJsonText(value);
  return text === 'null' ? null : text;
};

const ROW = new BulkColumns<ImportedRow>([
  { name: 'dataset_record_id', type: 'text', value: (row) => row.dataset_record_id },
  { name: 'version', type: 'int8', value: (row) => row.version },
  { name: 'version_id', type: 'text', value: (row) => row.version_id },
  ...(['input', 'expected', 'metadata', 'tags'] as const).map((name): BulkColumn<ImportedRow> => ({
    name,
    type: 'json',
    value: (row) => jsonOf(row[name]),
  })),
  ...(['label', 'category', 'source_kind', 'source_ref', 'external_id'] as const).map(
    (name): BulkColumn<ImportedRow> => ({ name, type: 'text', value: (row) => row[name] }),
  ),
]);

/** Writes many records at once, in arrays. These cost the server half of what one JSON parameter costs. */
@Injectable()
export class RecordImportRepository {
  /** Writes new records and their first versions. */
  async insert(tx: Tx, scope: Scope, change: RecordChange, rows: ImportedRow[]): Promise<void> {
    await tx.query(
      prepared(
        'record-import.insert',
        sql`${withVersions(scope, change, rows)}
          INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version, version_id, ${CONTENT},
                               created_revision, created_at, updated_at, created_by)
          SELECT dataset_record_id, dataset_id, workspace_id, version, version_id, ${CONTENT}, revision, at, at,
                 created_by
          FROM given`,
      ),
    );
  }

  /** Writes the next versions of records. */
  async update(tx: Tx, scope: Scope, change: RecordChange, rows: ImportedRow[]): Promise<void> {
    const assignments = join(CONTENT_MEMBERS.map((column) => raw(`${column} = given.${column}`)));
    await tx.query(
      prepared(
        'record-import.update',
        sql`${withVersions(scope, change, rows)}
          UPDATE records
          SET version = given.version, version_id = given.version_id, updated_at = given.at, ${assignments}
          FROM given
          WHERE records.dataset_record_id = given.dataset_record_id
            AND records.workspace_id = given.workspace_id AND records.dataset_id = given.dataset_id`,
      ),
    );
  }
}

/** The WITH clause of both statements: reads the rows as `given`, and writes them as versions. */
function withVersions(
  { workspaceId, principalId }: Scope,
  { datasetId, revision, at }: RecordChange,
  rows: readonly ImportedRow[],
): Sql {
  return sql`WITH given AS MATERIALIZED (
    SELECT ${datasetId}::text AS dataset_id, ${workspaceId}::text AS workspace_id, ${revision}::bigint AS revision,
           ${at}::timestamptz AS at, ${principalId}::text AS created_by, dataset_record_id,
           version::integer AS version, version_id, input, expected, metadata,
           ARRAY(SELECT json_array_elements_text(tags)) AS tags, label, category, source_kind, source_ref, external_id
    FROM ${ROW.table(rows, 't')}
  ), versions AS (
    INSERT INTO record_versions (dataset_record_id, dataset_id, workspace_id, version, version_id, revision, ${CONTENT},
                                 created_at, created_by)
    SELECT dataset_record_id, dataset_id, workspace_id, version, version_id, revision, ${CONTENT}, at, created_by
    FROM given
  )`;
}
