import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { yieldToEventLoop } from '#platform/concurrency';
import type { Tx } from '#platform/db';
import { newId } from '#platform/ids';
import { toRawJson, toRawJsonOrNull } from '#platform/json';
import {
  type AuditChange,
  auditedChanges,
  AuditLog,
  type AuditRecord,
  changedColumns,
  createdChanges,
  documentOf,
  newLabelled,
  type OwningApp,
  pick,
  type SearchDocument,
  SearchIndex,
} from '../../resources';
import { SkillContents } from '../content/skill-contents';
import type { SkillContent } from '../format/skill-content';
import { SKILL_MD, type SkillFile } from '../format/skill-files';
import type { SkillEntity } from './skill.entity';
import { SkillRepository, type VersionArchive } from './skill.repository';

/** A skill to write. It gets a version if `row` has another `version_id`. */
export interface SkillDraft {
  /** The current row, or null for a new skill. */
  before: SkillEntity | null;
  /** See `newSkill` and `nextVersion`. */
  row: SkillEntity;
  files: readonly SkillFile[];
}

/** The members whose values the audit log shows. */
const AUDITED_FIELDS = ['license', 'source_digest', 'acquired_from'] as const;

/** The members of a new skill that the audit log shows. */
const CREATED_FIELDS = ['name', 'acquired_from'] as const;

/** The members whose changes the audit log names, other than the digest. */
const SKILL_MD_FIELDS = [
  'description',
  'license',
  'compatibility',
  'allowed_tools',
  'metadata',
  'instructions',
] as const;

/** The number of archives that are hashed before yielding to the event loop. */
const ARCHIVES_PER_TICK = 20;

/** The maximum length of all paths in a search document, in UTF-16 code units. It leaves room for the instructions. */
const INDEXED_PATHS_MAX = 16 * 1024;

/** Writes skills with versions, files, audit entries and search documents. The number of statements is fixed. */
@Injectable()
export class SkillWriter {
  constructor(
    private readonly skills: SkillRepository,
    private readonly contents: SkillContents,
    private readonly audit: AuditLog,
    private readonly index: SearchIndex,
  ) {}

  async write(tx: Tx, scope: OrgScope, drafts: readonly SkillDraft[]): Promise<void> {
    if (drafts.length === 0) return;
    await this.skills.insertMany(
      tx,
      drafts.filter(({ before }) => !before).map(({ row }) => row),
    );
    await this.skills.updateMany(
      tx,
      scope,
      drafts.filter(({ before }) => before).map(({ row }) => row),
    );
    await this.writeVersions(
      tx,
      scope,
      drafts.filter(({ before, row }) => row.version_id !== before?.version_id),
    );
    await this.audit.record(tx, scope, ...drafts.flatMap(auditEntries));
    await this.index.put(tx, scope, drafts.map(toDocument));
  }

  /** Stores the contents of files before `write`. A reconcile calls it once for all skills, but calls `write` per page. */
  storeContents(
    tx: Tx,
    scope: OrgScope,
    contents: readonly { files: readonly SkillFile[] }[],
  ): Promise<void> {
    return this.contents.store(
      tx,
      scope,
      contents.flatMap(({ files }) => files),
    );
  }

  /** Puts a restored skill into the search index. */
  async reindex(tx: Tx, scope: OrgScope, row: SkillEntity): Promise<void> {
    const files = await this.skills.files(scope, row.skill_id, row.version_ordinal, tx);
    await this.index.put(tx, scope, [toDocument({ row, files })]);
  }

  private async writeVersions(tx: Tx, scope: OrgScope, drafts: readonly SkillDraft[]): Promise<void> {
    if (drafts.length === 0) return;
    await this.storeContents(tx, scope, drafts);
    await this.skills.insertVersions(tx, scope, await this.archivesOf(tx, scope, drafts));
    await this.skills.insertFiles(tx, drafts.flatMap(fileRows));
  }

  private async archivesOf(
    tx: Tx,
    scope: OrgScope,
    drafts: readonly SkillDraft[],
  ): Promise<VersionArchive[]> {
    const archives: VersionArchive[] = [];
    for (const [index, { row, files }] of drafts.entries()) {
      if (index % ARCHIVES_PER_TICK === ARCHIVES_PER_TICK - 1) await yieldToEventLoop();
      const digest = await this.contents.archiveDigest(tx, scope, row.name, files);
      archives.push({ skill_id: row.skill_id, ...digest });
    }
    return archives;
  }
}

/** Returns the row of a new skill with its first version. @param owner the app that declares it, if any */
export const newSkill = (
  scope: OrgScope,
  workspaceId: string,
  content: SkillContent,
  owner?: OwningApp,
): SkillEntity => ({
  ...newLabelled(scope, workspaceId, owner),
  skill_id: newId('skl'),
  ...columnsOf(content),
});

/** Returns the row of a skill with its next version. */
export const nextVersion = (row: SkillEntity, content: SkillContent): SkillEntity => ({
  ...row,
  ...columnsOf(content),
  version_ordinal: row.version_ordinal + 1,
  version_id: newId('ver'),
  sync_state: row.app_id === null ? 'unmanaged' : 'drifted',
  generation: row.generation + 1,
  updated_at: new Date(),
});

/** Returns the columns of a skill that its content determines. */
export const columnsOf = ({ members, source_digest, file_count, size_bytes }: SkillContent) => ({
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

function auditEntries({ before, row, files }: SkillDraft): AuditRecord[] {
  const entry = { type: 'skill', id: row.skill_id, workspaceId: row.workspace_id } as const;
  if (!before) return [{ ...entry, action: 'create', changes: createdChanges(pick(row, CREATED_FIELDS)) }];
  const restored = before.archived_at ? [{ ...entry, action: 'restore' } as const] : [];
  const copied = changedColumns<SkillEntity>(before, { acquired_from: row.acquired_from });
  const hasNewVersion = row.version_id !== before.version_id;
  if (!hasNewVersion && !copied) return restored;
  return [...restored, { ...entry, action: 'update', changes: changesOf(before, row, files) }];
}

/** Returns the changed members of SKILL.md, and the digest if other files changed. */
export function changesOf(before: SkillEntity, row: SkillEntity, files: readonly SkillFile[]): AuditChange[] {
  const members = Object.fromEntries(SKILL_MD_FIELDS.map((field) => [field, row[field]]));
  const hasNewFiles =
    row.version_id !== before.version_id &&
    files.some(({ path, content }) => path !== SKILL_MD && content !== undefined);
  const changed = {
    ...changedColumns(before, members as Partial<SkillEntity>),
    ...changedColumns<SkillEntity>(before, { acquired_from: row.acquired_from }),
    ...((hasNewFiles || row.file_count !== before.file_count) && { source_digest: row.source_digest }),
  };
  return auditedChanges<SkillEntity>(before, changed, AUDITED_FIELDS);
}

/** Paths come before the instructions, because search indexes only the start of a long body. */
const toDocument = ({ row, files }: Pick<SkillDraft, 'row' | 'files'>): SearchDocument =>
  documentOf('skill', row.skill_id, row, [...indexedPaths(files), row.instructions].join('\n'));

/** Returns the paths of the files other than SKILL.md, up to `INDEXED_PATHS_MAX`. */
function indexedPaths(files: readonly SkillFile[]): string[] {
  const paths: string[] = [];
  let remaining = INDEXED_PATHS_MAX;
  for (const { path } of files) {
    remaining -= path.length + 1;
    if (remaining < 0) break;
    if (path !== SKILL_MD) paths.push(path);
  }
  return paths;
}
