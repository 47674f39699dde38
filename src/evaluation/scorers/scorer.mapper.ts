import type { ScorerDto, ScorerVersionDto } from './scorer.dto';
import type { ScorerEntity } from './scorer.entity';
import type { ScorerVersionRow } from './scorer.repository';

export const toScorerVersionDto = (row: ScorerVersionRow): ScorerVersionDto => ({
  scorer_id: row.scorer_id,
  workspace_id: row.workspace_id,
  scorer_version: row.scorer_version,
  version_id: row.version_id,
  name: row.name,
  description: row.description,
  scorer_kind: row.scorer_kind,
  grain: row.grain,
  definition: row.definition,
  tags: row.tags,
  metadata: row.metadata,
  created_at: row.created_at,
  created_by: row.created_by,
});

export const toScorerDto = (row: ScorerEntity): ScorerDto => ({
  ...toScorerVersionDto(row),
  updated_at: row.updated_at,
  archived_at: row.archived_at,
});
