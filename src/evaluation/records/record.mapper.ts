import type { RecordDto, RecordVersionDto } from './record.dto';
import type { RecordEntity } from './record.entity';
import type { RecordVersionRow } from './record.repository';

export const toRecordVersionDto = (row: RecordVersionRow): RecordVersionDto => ({
  dataset_record_id: row.dataset_record_id,
  dataset_id: row.dataset_id,
  workspace_id: row.workspace_id,
  version: row.version,
  version_id: row.version_id,
  input: row.input,
  expected: row.expected,
  metadata: row.metadata,
  tags: row.tags,
  label: row.label,
  category: row.category,
  source_kind: row.source_kind,
  source_ref: row.source_ref,
  external_id: row.external_id,
  created_at: row.created_at,
  created_by: row.created_by,
});

export const toRecordDto = (row: RecordEntity): RecordDto => ({
  ...toRecordVersionDto(row),
  updated_at: row.updated_at,
  archived_at: row.archived_at,
});
