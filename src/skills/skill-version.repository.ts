import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { BulkColumns, Database, type SqlExecutor, type Tx, Where } from '#platform/db';
import { type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import type { SkillFile } from './format/skill-files';
import type { SkillVersionRow } from './skill.entity';
import { microseconds } from './skill.repository';

const COLUMNS = `skill_id, version_ordinal, version_id, org_id, workspace_id, name, description, license, compatibility,
  allowed_tools, metadata, instructions, source_digest, file_count, size_bytes, archive_sha256, archive_bytes, created_at,
  created_by`;

const VERSION = new BulkColumns<SkillVersionRow>([
  { name: 'skill_id', type: 'text', value: (row) => row.skill_id },
  { name: 'version_ordinal', type: 'int8', value: (row) => row.version_ordinal },
  { name: 'version_id', type: 'text', value: (row) => row.version_id },
  { name: 'org_id', type: 'text', value: (row) => row.org_id },
  { name: 'workspace_id', type: 'text', value: (row) => row.workspace_id },
  { name: 'name', type: 'text', value: (row) => row.name },
  { name: 'description', type: 'text', value: (row) => row.description },
  { name: 'license', type: 'text', value: (row) => row.license },
  { name: 'compatibility', type: 'text', value: (row) => row.compatibility },
  { name: 'allowed_tools', type: 'json', value: (row) => row.allowed_tools?.text ?? null },
  { name: 'metadata', type: 'json', value: (row) => row.metadata.text },
  { name: 'instructions', type: 'text', value: (row) => row.instructions },
  { name: 'source_digest', type: 'text', value: (row) => row.source_digest },
  { name: 'file_count', type: 'int8', value: (row) => row.file_count },
  { name: 'size_bytes', type: 'int8', value: (row) => row.size_bytes },
  { name: 'archive_sha256', type: 'text', value: (row) => row.archive_sha256 },
  { name: 'archive_bytes', type: 'int8', value: (row) => row.archive_bytes },
  { name: 'created_at', type: 'timestamptz', value: (row) => microseconds(row.created_at) },
  { name: 'created_by', type: 'text', value: (row) => row.created_by },
]);

/** A file, and the version that it is in. */
export interface SkillFileRow extends Omit<SkillFile, 'content'> {
  skill_id: string;
  version_ordinal: number;
  org_id: string;
  workspace_id: string;
}

const FILE = new BulkColumns<SkillFileRow>([
  { name: 'skill_id', type: 'text', value: (row) => row.skill_id },
  { name: 'version_ordinal', type: 'int8', value: (row) => row.version_ordinal },
  { name: 'path', type: 'text', value: (row) => row.path },
  { name: 'org_id', type: 'text', value: (row) => row.org_id },
  { name: 'workspace_id', type: 'text', value: (row) => row.workspace_id },
  { name: 'sha256', type: 'text', value: (row) => row.sha256 },
  { name: 'crc32', type: 'int8', value: (row) => row.crc32 },
  { name: 'size_bytes', type: 'int8', value: (row) => row.size_bytes },
]);

const INSERT_VERSIONS = `INSERT INTO skill_versions (${VERSION.names}) SELECT ${VERSION.names} FROM ${VERSION.from(1, 'given')}`;
const INSERT_FILES = `INSERT INTO skill_files (${FILE.names}) SELECT ${FILE.names} FROM ${FILE.from(1, 'given')}`;

/** A version of a skill that something refers to; the newest where it names none. */
export interface SkillReference {
  skill_id: string;
  version_ordinal?: number | null;
}

/** The version that a reference comes to. */
export interface ReferredSkill {
  skill_id: string;
  name: string;
  version_ordinal: number;
  source_digest: string;
}

@Injectable()
export class SkillVersionRepository {
  constructor(private readonly database: Database) {}

  list(scope: OrgScope, skillId: string, query: ListQueryDto): Promise<RowPage<SkillVersionRow>> {
    const where = new Where(scope.orgKey).add('skill_id = ?', skillId);
    return listPage<SkillVersionRow>(
      this.database,
      {
        columns: COLUMNS,
        from: 'skill_versions',
        where,
        // ids are made by the clocks of several processes
        id: 'version_ordinal',
        idType: 'int8',
        bytes: 'bytes',
      },
      query,
    );
  }

  async find(
    scope: OrgScope,
    skillId: string,
    ordinal: number,
    on: SqlExecutor = this.database,
  ): Promise<SkillVersionRow | null> {
    const [row] = await on.query<SkillVersionRow>(
      `SELECT ${COLUMNS} FROM skill_versions WHERE skill_id = $1 AND version_ordinal = $2 AND org_id = $3`,
      [skillId, ordinal, scope.orgId],
    );
    return row ?? null;
  }

  /** In the order of their paths. */
  files(
    scope: OrgScope,
    skillId: string,
    ordinal: number,
    on: SqlExecutor = this.database,
  ): Promise<SkillFile[]> {
    return on.query<SkillFile>(
      `SELECT path, sha256, crc32, size_bytes FROM skill_files
       WHERE skill_id = $1 AND version_ordinal = $2 AND org_id = $3 ORDER BY path`,
      [skillId, ordinal, scope.orgId],
    );
  }

  async insertMany(tx: Tx, rows: readonly SkillVersionRow[]): Promise<void> {
    await tx.query(INSERT_VERSIONS, VERSION.parameters(rows));
  }

  async insertFiles(tx: Tx, rows: readonly SkillFileRow[]): Promise<void> {
    await tx.query(INSERT_FILES, FILE.parameters(rows));
  }

  /** What references come to within the workspace, by their place; those that name nothing live are not there. */
  async findReferred(
    on: SqlExecutor,
    scope: Scope,
    references: readonly SkillReference[],
  ): Promise<(ReferredSkill & { place: number })[]> {
    return on.query(
      `WITH given AS MATERIALIZED (
         SELECT * FROM unnest($2::text[], $3::int[]) WITH ORDINALITY AS given(skill_id, version_ordinal, place)
       )
       SELECT given.place - 1 AS place, s.skill_id, s.name, v.version_ordinal, v.source_digest
       FROM given
       JOIN skills s ON s.skill_id = given.skill_id AND s.workspace_id = $1 AND s.archived_at IS NULL
       JOIN skill_versions v ON v.skill_id = s.skill_id
         AND v.version_ordinal = coalesce(given.version_ordinal, s.version_ordinal)`,
      [
        scope.workspaceId,
        references.map(({ skill_id }) => skill_id),
        references.map(({ version_ordinal }) => version_ordinal ?? null),
      ],
    );
  }
}
