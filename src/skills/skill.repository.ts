import { Injectable } from '@nestjs/common';
import type { OrgScope, Scope } from '#platform/auth';
import { BulkColumns, Database, OrgRepository, type SqlExecutor, type Tx } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import { whereReadable } from '../registry';
import type { SkillListQueryDto } from './skill.dto';
import { SkillEntity } from './skill.entity';

explainConstraint('skills_name', 'conflict', 'The workspace has a skill of this name already.');

const COLUMNS = `skill_id, org_id, workspace_id, name, description, license, compatibility, allowed_tools, metadata,
  instructions, version_ordinal, version_id, source_digest, file_count, size_bytes, app_id, app, sync_state, generation,
  created_at, updated_at, created_by, archived_at`;

export const microseconds = (time: Date): bigint => BigInt(time.getTime()) * 1000n;

/** What a change may write. */
const CHANGING = [
  { name: 'description', type: 'text', value: (row: SkillEntity) => row.description },
  { name: 'license', type: 'text', value: (row: SkillEntity) => row.license },
  { name: 'compatibility', type: 'text', value: (row: SkillEntity) => row.compatibility },
  { name: 'allowed_tools', type: 'json', value: (row: SkillEntity) => row.allowed_tools?.text ?? null },
  { name: 'metadata', type: 'json', value: (row: SkillEntity) => row.metadata.text },
  { name: 'instructions', type: 'text', value: (row: SkillEntity) => row.instructions },
  { name: 'version_ordinal', type: 'int8', value: (row: SkillEntity) => row.version_ordinal },
  { name: 'version_id', type: 'text', value: (row: SkillEntity) => row.version_id },
  { name: 'source_digest', type: 'text', value: (row: SkillEntity) => row.source_digest },
  { name: 'file_count', type: 'int8', value: (row: SkillEntity) => row.file_count },
  { name: 'size_bytes', type: 'int8', value: (row: SkillEntity) => row.size_bytes },
  { name: 'app_id', type: 'text', value: (row: SkillEntity) => row.app_id },
  { name: 'app', type: 'text', value: (row: SkillEntity) => row.app },
  { name: 'sync_state', type: 'text', value: (row: SkillEntity) => row.sync_state },
  { name: 'generation', type: 'int8', value: (row: SkillEntity) => row.generation },
  { name: 'updated_at', type: 'timestamptz', value: (row: SkillEntity) => microseconds(row.updated_at) },
  {
    name: 'archived_at',
    type: 'timestamptz',
    value: (row: SkillEntity) => row.archived_at && microseconds(row.archived_at),
  },
] as const;

const CHANGES = new BulkColumns<SkillEntity>([
  { name: 'skill_id', type: 'text', value: (row) => row.skill_id },
  ...CHANGING,
]);

const INSERTED = new BulkColumns<SkillEntity>([
  { name: 'skill_id', type: 'text', value: (row) => row.skill_id },
  { name: 'org_id', type: 'text', value: (row) => row.org_id },
  { name: 'workspace_id', type: 'text', value: (row) => row.workspace_id },
  { name: 'name', type: 'text', value: (row) => row.name },
  { name: 'created_at', type: 'timestamptz', value: (row) => microseconds(row.created_at) },
  { name: 'created_by', type: 'text', value: (row) => row.created_by },
  ...CHANGING,
]);

const INSERT = `INSERT INTO skills (${INSERTED.names}) SELECT ${INSERTED.names} FROM ${INSERTED.from(1, 'given')}`;

const UPDATE = `UPDATE skills s SET ${CHANGING.map(({ name }) => `${name} = given.${name}`).join(', ')}
  FROM ${CHANGES.from(2, 'given')} WHERE s.skill_id = given.skill_id AND s.org_id = $1`;

@Injectable()
export class SkillRepository extends OrgRepository<SkillEntity> {
  constructor(database: Database) {
    super(database, SkillEntity, 'skill_id');
  }

  list(scope: OrgScope, query: SkillListQueryDto): Promise<RowPage<SkillEntity>> {
    const where = whereReadable(scope, query.workspace_id)
      .addSearch(query.q)
      .addIf(query.name, 'name = ?')
      .addIf(query.sync_state, 'sync_state = ?')
      .addIf(query.app, query.app?.startsWith('app_') ? 'app_id = ?' : 'app = ?');
    return listPage<SkillEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'skills',
        where,
        id: 'skill_id',
        sorts: BY_NAME,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  async insertMany(tx: Tx, rows: readonly SkillEntity[]): Promise<void> {
    await tx.query(INSERT, INSERTED.parameters(rows));
  }

  /** Writes all that may change of rows. */
  async updateMany(tx: Tx, scope: OrgScope, rows: readonly SkillEntity[]): Promise<void> {
    await tx.query(UPDATE, [scope.orgId, ...CHANGES.parameters(rows)]);
  }

  /** Whole skills of the workspace, which may be large: a page of them. */
  findMany(tx: Tx, scope: Scope, ids: readonly string[]): Promise<SkillEntity[]> {
    return tx.query<SkillEntity>(
      `SELECT ${COLUMNS} FROM skills WHERE skill_id = ANY ($1) AND workspace_id = $2`,
      [ids, scope.workspaceId],
    );
  }

  /** The workspace's live skills of these names. */
  findByNames(
    on: SqlExecutor,
    scope: Scope,
    names: readonly string[],
  ): Promise<Pick<SkillEntity, 'skill_id' | 'name'>[]> {
    return on.query(
      `SELECT skill_id, name FROM skills WHERE workspace_id = $1 AND name = ANY ($2) AND archived_at IS NULL`,
      [scope.workspaceId, names],
    );
  }
}
