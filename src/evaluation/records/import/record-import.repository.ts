import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type BulkColumn, BulkColumns, type Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import type { RecordChange } from '../record.repository';
import type { RecordContent } from '../record.service';

/** A version of a record, as it is written. */
export interface ImportedRow extends RecordContent {
  dataset_record_id: string;
  version: number;
  version_id: string;
}

/** JSON null is NULL, as wherever records are written. */
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

const CONTENT = [
  'input',
  'expected',
  'metadata',
  'tags',
  'label',
  'category',
  'source_kind',
  'source_ref',
  'external_id',
];
const CONTENT_NAMES = CONTENT.join(', ');

/** The rows that are given, and the versions that they are: what both statements begin with. */
const GIVEN = `given AS MATERIALIZED (
  SELECT $1::text AS dataset_id, $2::text AS workspace_id, dataset_record_id, version::integer, version_id, input, expected, metadata,
         ARRAY(SELECT json_array_elements_text(tags)) AS tags, label, category, source_kind, source_ref, external_id
  FROM ${ROW.from(6, 't')}
), versions AS (
  INSERT INTO record_versions (dataset_record_id, dataset_id, workspace_id, version, version_id, revision, ${CONTENT_NAMES},
                               created_at, created_by)
  SELECT dataset_record_id, dataset_id, workspace_id, version, version_id, $3, ${CONTENT_NAMES}, $4, $5 FROM given
)`;

const INSERT = {
  name: 'record-import.insert',
  text: `WITH ${GIVEN}
    INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version, version_id, ${CONTENT_NAMES},
                         created_revision, created_at, updated_at, created_by)
    SELECT dataset_record_id, dataset_id, workspace_id, version, version_id, ${CONTENT_NAMES}, $3, $4, $4, $5 FROM given`,
};

const UPDATE = {
  name: 'record-import.update',
  text: `WITH ${GIVEN}
    UPDATE records SET version = given.version, version_id = given.version_id, updated_at = $4,
           ${CONTENT.map((column) => `${column} = given.${column}`).join(', ')}
    FROM given
    WHERE records.dataset_record_id = given.dataset_record_id AND records.workspace_id = given.workspace_id
      AND records.dataset_id = given.dataset_id`,
};

/** Writes many records at once: in arrays, which cost the server half of what one JSON parameter does. */
@Injectable()
export class RecordImportRepository {
  async insert(tx: Tx, scope: Scope, change: RecordChange, rows: ImportedRow[]): Promise<void> {
    await tx.query(INSERT, parameters(scope, change, rows));
  }

  /** Writes the next versions of records. */
  async update(tx: Tx, scope: Scope, change: RecordChange, rows: ImportedRow[]): Promise<void> {
    await tx.query(UPDATE, parameters(scope, change, rows));
  }
}

const parameters = (
  scope: Scope,
  { datasetId, revision, at }: RecordChange,
  rows: ImportedRow[],
): unknown[] => [datasetId, scope.workspaceId, revision, at, scope.principalId, ...ROW.parameters(rows)];
