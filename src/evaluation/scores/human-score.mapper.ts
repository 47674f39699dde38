import type { HumanScoreDto } from './human-score.dto';
import type { HumanScoreRow } from './human-score.entity';

export const toHumanScoreDto = (row: HumanScoreRow): HumanScoreDto => ({
  score_id: row.score_id,
  workspace_id: row.workspace_id,
  scorer_id: row.scorer_id,
  scorer_version: row.scorer_version,
  target_kind: row.target_kind,
  trace_id: row.trace_id,
  session_id: row.session_id,
  experiment_id: row.experiment_id,
  result_id: row.result_id,
  score: row.score,
  choice: row.choice,
  value: row.value,
  answers: row.answers,
  comment: row.comment,
  metadata: row.metadata,
  supersedes_score_id: row.supersedes_score_id,
  superseded_by_score_id: row.superseded_by_score_id,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: null,
});
