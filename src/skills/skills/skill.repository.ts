import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { BulkColumns, Database, sql, type SqlExecutor, type Tx } from '#platform/db';
import { BY_NAME, listPage } from '#platform/paging';
import {
  type ComparedRow,
  LATEST,
  OWNED_READERS,
  OwnedRepository,
  type VersionName,
  whereReadable,
} from '../../resources';
import { SKILL_MD, type SkillFile } from '../format/skill-files';
import { CONTENT_FIELDS, SkillEntity, type SkillVersionRow } from './skill.entity';

/** The columns of a skill that a reconcile reads. */
export interface ComparedSkill extends ComparedRow {
  source_digest: string;
}

/** A file and its version. */
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

/** A reference to a version of a skill by its number or a label, by default the newest. */
export interface SkillReference {
  skill_id: string;
  version_ordinal?: VersionName | null;
}

/** The version that a reference resolves to. */
export interface ResolvedSkill {
  skill_id: string;
  name: string;
  version_ordinal: number;
  source_digest: string;
}

/** The name and description of a version of a skill. */
export interface DescribedSkill {
  skill_id: string;
  name: string;
  description: string;
}

/** A skill, as the discovery index lists it. */
export interface IndexedSkill extends DescribedSkill {
  version_ordinal: number;
  /** The digest of `SKILL.md` if the skill has no other file. */
  skill_md_sha256: string | null;
  root_archive_sha256: string | null;
}

/** The digest and size of a version's zip archive. */
export interface VersionArchive {
  skill_id: string;
  sha256: string;
  bytes: number;
}

/** Skills, their versions, and the files of each version. */
@Injectable()
export class SkillRepository extends OwnedRepository<SkillEntity, SkillVersionRow> {
  constructor(database: Database) {
    super(database, SkillEntity, {
      table: 'skills',
      versions: 'skill_versions',
      id: 'skill_id',
      content: CONTENT_FIELDS,
      others: ['labels'],
      ownVersionColumns: ['archive_sha256', 'archive_bytes', 'root_archive_sha256', 'root_archive_bytes'],
      compared: 'source_digest',
    });
  }

  /** Lists the newest versions of the skills that the caller may read, by name. */
  async listNewest(scope: OrgScope, workspaceId: string | undefined, limit: number): Promise<IndexedSkill[]> {
    const { rows } = await listPage<IndexedSkill>(
      this.database,
      {
        from: 'skills',
        id: 'skill_id',
        archivedAt: 'archived_at',
        columns: `skill_id, name, description, version_ordinal,
          (SELECT f.sha256 FROM skill_files f WHERE f.skill_id = skills.skill_id AND f.path = '${SKILL_MD}'
            AND f.version_ordinal = skills.version_ordinal AND file_count = 1) AS skill_md_sha256,
          (SELECT v.root_archive_sha256 FROM skill_versions v WHERE v.skill_id = skills.skill_id
            AND v.version_ordinal = skills.version_ordinal) AS root_archive_sha256`,
        where: whereReadable(scope, workspaceId, OWNED_READERS),
        sorts: BY_NAME,
      },
      { limit, sort: 'name', total: false },
    );
    return rows;
  }

  /** Keeps the digest of a version's archive that has `SKILL.md` at its root. */
  async keepRootArchive(
    scope: OrgScope,
    { skill_id, sha256, bytes }: VersionArchive,
    ordinal: number,
  ): Promise<void> {
    await this.database.query(
      sql`UPDATE skill_versions SET root_archive_sha256 = ${sha256}, root_archive_bytes = ${bytes}
        WHERE skill_id = ${skill_id} AND version_ordinal = ${ordinal} AND org_id = ${scope.orgId}`,
    );
  }

  /** Lists the files of a version in the order of their paths. */
  files(
    scope: OrgScope,
    skillId: string,
    ordinal: number,
    on: SqlExecutor = this.database,
  ): Promise<SkillFile[]> {
    return on.query<SkillFile>(
      sql`SELECT path, sha256, crc32, size_bytes FROM skill_files
        WHERE skill_id = ${skillId} AND version_ordinal = ${ordinal} AND org_id = ${scope.orgId} ORDER BY path`,
    );
  }

  /** Lists the files of several versions in the order of their paths. @param path only files with this path */
  filesOf(
    scope: OrgScope,
    versions: readonly { skill_id: string; version_ordinal: number }[],
    path: string | null = null,
  ): Promise<(SkillFile & { skill_id: string })[]> {
    const ids = versions.map(({ skill_id }) => skill_id);
    const ordinals = versions.map(({ version_ordinal }) => version_ordinal);
    return this.database.query(
      sql`SELECT skill_id, path, sha256, crc32, size_bytes
        FROM unnest(${ids}::text[], ${ordinals}::int[]) AS versions(skill_id, version_ordinal)
        JOIN skill_files USING (skill_id, version_ordinal)
        WHERE org_id = ${scope.orgId} AND (${path}::text IS NULL OR path = ${path})
        ORDER BY skill_id, path`,
    );
  }

  /** Returns the digests of the files of a skill, of one version or of all. */
  async contentsOf(tx: Tx, scope: OrgScope, skillId: string, ordinal: number | null): Promise<string[]> {
    const rows = await tx.query<{ sha256: string }>(
      sql`SELECT DISTINCT sha256 FROM skill_files WHERE skill_id = ${skillId} AND org_id = ${scope.orgId}
        AND (${ordinal}::int IS NULL OR version_ordinal = ${ordinal})`,
    );
    return rows.map(({ sha256 }) => sha256);
  }

  /** Finds the newest version of a skill that has these files. */
  async findByDigest(
    on: SqlExecutor,
    scope: Scope,
    skillId: string,
    digest: string,
  ): Promise<Pick<SkillVersionRow, 'name' | 'version_id' | 'version_ordinal'> | null> {
    const [version] = await on.query<Pick<SkillVersionRow, 'name' | 'version_id' | 'version_ordinal'>>(
      sql`SELECT name, version_id, version_ordinal FROM skill_versions
        WHERE skill_id = ${skillId} AND workspace_id = ${scope.workspaceId} AND source_digest = ${digest}
        ORDER BY version_ordinal DESC LIMIT 1`,
    );
    return version ?? null;
  }

  /** Stores the current state of skills as their newest version. @param archives one for each skill */
  async insertVersions(tx: Tx, scope: OrgScope, archives: readonly VersionArchive[]): Promise<void> {
    const ids = archives.map(({ skill_id }) => skill_id);
    const digests = archives.map(({ sha256 }) => sha256);
    const sizes = archives.map(({ bytes }) => bytes);
    await tx.query(
      sql`INSERT INTO skill_versions (${this.versioned}, archive_sha256, archive_bytes, created_at, created_by)
        SELECT ${this.versioned}, archive_sha256, archive_bytes, updated_at, ${scope.principalId}
        FROM skills
        JOIN unnest(${ids}::text[], ${digests}::text[], ${sizes}::integer[])
          AS archives(skill_id, archive_sha256, archive_bytes) USING (skill_id)
        WHERE org_id = ${scope.orgId}`,
    );
  }

  async insertFiles(tx: Tx, rows: readonly SkillFileRow[]): Promise<void> {
    await tx.query(
      sql`INSERT INTO skill_files (${FILE.columnList}) SELECT ${FILE.columnList} FROM ${FILE.table(rows, 'input')}`,
    );
  }

  /** Returns the names and descriptions of versions in the order of the references, without versions that do not exist. */
  describe(scope: OrgScope, references: readonly SkillReference[]): Promise<DescribedSkill[]> {
    const ids = references.map(({ skill_id }) => skill_id);
    const ordinals = references.map(({ version_ordinal }) => version_ordinal ?? null);
    return this.database.query(
      sql`SELECT v.skill_id, v.name, v.description
        FROM unnest(${ids}::text[], ${ordinals}::int[]) WITH ORDINALITY AS refs(skill_id, version_ordinal, place)
        JOIN skills s USING (skill_id)
        JOIN skill_versions v ON v.skill_id = s.skill_id
          AND v.version_ordinal = coalesce(refs.version_ordinal, s.version_ordinal)
        WHERE s.org_id = ${scope.orgId} ORDER BY place`,
    );
  }

  /**
   * Resolves references within the workspace. Returns those that name a version of a live skill, with their index. Within a
   * transaction, these versions cannot be deleted until it ends.
   */
  resolve(
    on: SqlExecutor,
    scope: Scope,
    references: readonly SkillReference[],
  ): Promise<(ResolvedSkill & { index: number })[]> {
    const ids = references.map(({ skill_id }) => skill_id);
    const versions = references.map(({ version_ordinal }) => version_ordinal ?? LATEST);
    const ordinals = versions.map((one) => (typeof one === 'number' ? one : null));
    const labels = versions.map((one) => (typeof one === 'number' || one === LATEST ? null : one));
    return on.query(
      sql`WITH refs AS MATERIALIZED (
          SELECT * FROM unnest(${ids}::text[], ${ordinals}::int[], ${labels}::text[])
            WITH ORDINALITY AS refs(skill_id, version_ordinal, label, place)
        )
        SELECT refs.place - 1 AS index, s.skill_id, s.name, v.version_ordinal, v.source_digest
        FROM refs
        JOIN skills s ON s.skill_id = refs.skill_id AND s.workspace_id = ${scope.workspaceId}
          AND s.archived_at IS NULL
        JOIN skill_versions v ON v.skill_id = s.skill_id
          AND v.version_ordinal = CASE WHEN refs.label IS NULL
            THEN coalesce(refs.version_ordinal, s.version_ordinal) ELSE (s.labels ->> refs.label)::int END
        ORDER BY s.skill_id FOR KEY SHARE OF s`,
    );
  }
}
