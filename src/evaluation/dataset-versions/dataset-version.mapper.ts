import type { CsvCase } from './csv/csv.case';
import type { DatasetCaseDto, DatasetVersionDto } from './dataset-version.dto';
import type { DatasetVersionRow } from './dataset-version.entity';

export const toDatasetVersionDto = (row: DatasetVersionRow): DatasetVersionDto => ({
  dataset_id: row.dataset_id,
  workspace_id: row.workspace_id,
  version: row.version,
  version_id: row.version_id,
  row_count: row.row_count,
  column_count: row.columns.length,
  columns: row.columns,
  size_bytes: row.size_bytes,
  sha256: row.sha256,
  case_id_column: row.case_id_column,
  mapping: {
    input: row.mapping.input,
    expected: row.mapping.expected,
    metadata: row.mapping.metadata,
    tags: row.mapping.tags,
  },
  created_at: row.created_at,
  updated_at: row.created_at,
  created_by: row.created_by,
  archived_at: null,
});

export const toDatasetCaseDto = ({ id, input, expected, metadata, tags }: CsvCase): DatasetCaseDto => ({
  id,
  input,
  expected,
  metadata,
  tags,
});
