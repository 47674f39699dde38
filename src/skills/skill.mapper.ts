import type { SkillFile } from './format/skill-files';
import type { SkillDto } from './skill.dto';
import type { SkillEntity, SkillVersionRow } from './skill.entity';
import type { SkillVersionDetailDto, SkillVersionDto } from './skill-version.dto';

export const toSkillDto = (row: SkillEntity): SkillDto => ({
  skill_id: row.skill_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  name: row.name,
  description: row.description,
  instructions: row.instructions,
  license: row.license,
  compatibility: row.compatibility,
  allowed_tools: row.allowed_tools,
  metadata: row.metadata,
  version_ordinal: row.version_ordinal,
  version_id: row.version_id,
  source_digest: row.source_digest,
  file_count: row.file_count,
  size_bytes: row.size_bytes,
  sync_state: row.sync_state,
  app: row.app,
  generation: row.generation,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});

export const toSkillVersionDto = (row: SkillVersionRow): SkillVersionDto => ({
  skill_id: row.skill_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  version_ordinal: row.version_ordinal,
  version_id: row.version_id,
  name: row.name,
  description: row.description,
  instructions: row.instructions,
  license: row.license,
  compatibility: row.compatibility,
  allowed_tools: row.allowed_tools,
  metadata: row.metadata,
  source_digest: row.source_digest,
  file_count: row.file_count,
  size_bytes: row.size_bytes,
  created_at: row.created_at,
  updated_at: row.created_at,
  created_by: row.created_by,
  archived_at: null,
});

export const toSkillVersionDetailDto = (
  row: SkillVersionRow,
  files: readonly SkillFile[],
): SkillVersionDetailDto => ({
  ...toSkillVersionDto(row),
  files: files.map(({ path, size_bytes, sha256 }) => ({ path, size_bytes, sha256 })),
});
