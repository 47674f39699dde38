import type { ResultDto } from './result.dto';
import type { ResultEntity } from './result.entity';

export const toResultDto = (row: ResultEntity): ResultDto => ({
  result_id: row.result_id,
  experiment_id: row.experiment_id,
  workspace_id: row.workspace_id,
  case_id: row.case_id,
  input: row.input,
  expected: row.expected,
  metadata: row.metadata,
  tags: row.tags,
  dataset_record_id: row.dataset_record_id,
  dataset_record_version: row.dataset_record_version,
  output: row.output,
  error: row.error,
  scores: row.scores,
  score_details: row.score_details,
  trace_id: row.trace_id,
  session_id: row.session_id,
  duration_ms: row.duration_ms,
  trial_group: row.trial_group,
  trial_index: row.trial_index,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: null,
});
