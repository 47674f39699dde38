import { setImmediate as turn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { toRawJson, toRawJsonOrNull } from '#platform/json';
import { AuditLog, changesTold, given, type SearchDocument, SearchIndex, type SyncState } from '../registry';
import { type ArchiveDigest, SkillContents } from './content/skill-contents';
import { SKILL_MD, type SkillFile } from './format/skill-files';
import type { SkillContent } from './skill-content';
import type { SkillEntity, SkillVersionRow } from './skill.entity';
import { SkillRepository } from './skill.repository';
import { SkillVersionRepository } from './skill-version.repository';

/** A skill that gets a version. */
export interface SkillDraft {
  /** As it is; null for a new one. */
  before: SkillEntity | null;
  /** As it becomes, see `newSkill` and `withVersion`. */
  row: SkillEntity;
  files: readonly SkillFile[];
}

/** Members whose values the audit log tells. */
const TOLD = ['license', 'sync_state'] as const;

/** Drafts whose archives are hashed before others get their turn. */
const AT_ONCE = 20;

/** Of the paths of a skill, in UTF-16 units: they leave room for the instructions in what the search looks through. */
const PATHS_MAX = 16 * 1024;

/** Writes versions of skills, and all that goes with them; many at once in as many statements as one. */
@Injectable()
export class SkillWriter {
  constructor(
    private readonly skills: SkillRepository,
    private readonly versions: SkillVersionRepository,
    private readonly contents: SkillContents,
    private readonly audit: AuditLog,
    private readonly index: SearchIndex,
  ) {}

  /** Error: 409 where a name is taken. */
  async write(tx: Tx, scope: OrgScope, drafts: readonly SkillDraft[]): Promise<void> {
    if (drafts.length === 0) return;
    const fresh = drafts.filter(({ before }) => !before).map(({ row }) => row);
    const changed = drafts.filter(({ before }) => before).map(({ row }) => row);
    if (fresh.length > 0) await this.skills.insertMany(tx, fresh);
    if (changed.length > 0) await this.skills.updateMany(tx, scope, changed);
    await this.contents.keep(
      tx,
      scope,
      drafts.flatMap(({ files }) => files),
    );
    await this.versions.insertMany(tx, await this.versionRows(tx, scope, drafts));
    await this.versions.insertFiles(tx, drafts.flatMap(fileRows));
    await this.audit.record(tx, scope, ...drafts.map(auditedDraft));
    await this.index.put(tx, scope, ...drafts.map(found));
  }

  /** Keeps the contents of many skills, which `write` then finds: for those that it is to write page by page. */
  keep(tx: Tx, scope: OrgScope, contents: readonly SkillContent[]): Promise<void> {
    return this.contents.keep(
      tx,
      scope,
      contents.flatMap(({ files }) => files),
    );
  }

  /** Has skills be archived. @param rows as they are */
  async archive(tx: Tx, scope: OrgScope, rows: readonly SkillEntity[]): Promise<SkillEntity[]> {
    if (rows.length === 0) return [];
    const now = new Date();
    const archived = rows.map((row) => ({
      ...row,
      archived_at: now,
      updated_at: now,
      generation: row.generation + 1,
    }));
    await this.skills.updateMany(tx, scope, archived);
    await this.tellArchived(tx, scope, rows);
    return archived;
  }

  /** Has the audit log and the search know of skills that were archived. */
  async tellArchived(
    tx: Tx,
    scope: OrgScope,
    rows: readonly Pick<SkillEntity, 'skill_id' | 'workspace_id'>[],
  ): Promise<void> {
    const entries = rows.map((row) => ({ ...audited(row), action: 'archive' as const }));
    await this.audit.record(tx, scope, ...entries);
    await this.index.remove(tx, scope, 'skill', ...rows.map(({ skill_id }) => skill_id));
  }

  private async versionRows(
    tx: Tx,
    scope: OrgScope,
    drafts: readonly SkillDraft[],
  ): Promise<SkillVersionRow[]> {
    const rows: SkillVersionRow[] = [];
    for (const [index, { row, files }] of drafts.entries()) {
      if (index % AT_ONCE === AT_ONCE - 1) await turn();
      const archive = await this.contents.archiveDigest(tx, scope, row.name, files);
      rows.push(versionRow(row, archive, scope.principalId));
    }
    return rows;
  }
}

/** A new skill with its first version. */
export function newSkill(
  scope: OrgScope,
  workspaceId: string,
  content: SkillContent,
  owner: Pick<SkillEntity, 'app_id' | 'app' | 'sync_state'> = UNOWNED,
): SkillEntity {
  const now = new Date();
  return {
    skill_id: newId('skl'),
    org_id: scope.orgId,
    workspace_id: workspaceId,
    ...columnsOf(content),
    version_ordinal: 1,
    version_id: newId('ver'),
    ...owner,
    generation: 1,
    created_at: now,
    updated_at: now,
    created_by: scope.principalId,
    archived_at: null,
  };
}

const UNOWNED = { app_id: null, app: null, sync_state: 'unmanaged' } as const;

/** A skill with another version than its newest. */
export const withVersion = (row: SkillEntity, content: SkillContent, state: SyncState): SkillEntity => ({
  ...row,
  ...columnsOf(content),
  version_ordinal: row.version_ordinal + 1,
  version_id: newId('ver'),
  sync_state: state,
  generation: row.generation + 1,
  updated_at: new Date(),
});

const columnsOf = ({ members, source_digest, file_count, size_bytes }: SkillContent) => ({
  name: members.name,
  description: members.description,
  license: members.license,
  compatibility: members.compatibility,
  allowed_tools: toRawJsonOrNull(members.allowed_tools),
  metadata: toRawJson(members.metadata),
  instructions: members.instructions,
  source_digest,
  file_count,
  size_bytes,
});

const versionRow = (row: SkillEntity, archive: ArchiveDigest, createdBy: string): SkillVersionRow => ({
  skill_id: row.skill_id,
  version_ordinal: row.version_ordinal,
  version_id: row.version_id,
  org_id: row.org_id,
  workspace_id: row.workspace_id,
  name: row.name,
  description: row.description,
  license: row.license,
  compatibility: row.compatibility,
  allowed_tools: row.allowed_tools,
  metadata: row.metadata,
  instructions: row.instructions,
  source_digest: row.source_digest,
  file_count: row.file_count,
  size_bytes: row.size_bytes,
  archive_sha256: archive.sha256,
  archive_bytes: archive.bytes,
  created_at: row.updated_at,
  created_by: createdBy,
});

const fileRows = ({ row, files }: SkillDraft) =>
  files.map(({ path, sha256, crc32, size_bytes }) => ({
    skill_id: row.skill_id,
    version_ordinal: row.version_ordinal,
    path,
    org_id: row.org_id,
    workspace_id: row.workspace_id,
    sha256,
    crc32,
    size_bytes,
  }));

const audited = (row: Pick<SkillEntity, 'skill_id' | 'workspace_id'>) => ({
  type: 'skill' as const,
  id: row.skill_id,
  workspaceId: row.workspace_id,
});

function auditedDraft({ before, row }: SkillDraft) {
  if (!before) return { ...audited(row), action: 'create' as const, changes: given({ name: row.name }) };
  const differing = Object.entries(row).filter(
    ([column, value]) => JSON.stringify(value) !== JSON.stringify(before[column as keyof SkillEntity]),
  );
  const version = { member: 'version_ordinal', before: before.version_ordinal, after: row.version_ordinal };
  const changes = [version, ...changesTold(before, Object.fromEntries(differing), TOLD)];
  return { ...audited(row), action: 'update' as const, changes };
}

/** The paths stand before the instructions, which may be longer than what is looked through. */
const found = ({ row, files }: SkillDraft): SearchDocument => ({
  type: 'skill',
  id: row.skill_id,
  workspaceId: row.workspace_id,
  name: row.name,
  description: row.description,
  body: [...pathsIn(files), row.instructions].join('\n'),
  updatedAt: row.updated_at,
});

/** Those of the other files than SKILL.md, as many as there is room for. */
function pathsIn(files: readonly SkillFile[]): string[] {
  const paths: string[] = [];
  let room = PATHS_MAX;
  for (const { path } of files) {
    room -= path.length + 1;
    if (room < 0) break;
    if (path !== SKILL_MD) paths.push(path);
  }
  return paths;
}
