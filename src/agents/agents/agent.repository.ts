import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgRepository, type Tx, Where } from '#platform/db';
import { BY_NAME, type OrderedListQueryDto, listPage, type RowPage } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import { whereReadable } from '../../registry';
import type { AgentListQueryDto } from './agent.dto';
import { AgentEntity, CONTENT_MEMBERS, type AgentVersionRow } from './agent.entity';

explainConstraint('agents_name', 'conflict', 'The workspace has an agent of this name already.');

const VERSION = `agent_id, version_ordinal, version_id, org_id, workspace_id, name, ${CONTENT_MEMBERS.join(', ')}`;
const COLUMNS = `${VERSION}, app_id, app, sync_state, generation, created_at, updated_at, created_by, archived_at`;

/** The first version is made with the agent, each later one with a change of it. */
const KEEP_VERSIONS = `INSERT INTO agent_versions (${VERSION}, created_at, created_by)
  SELECT ${VERSION}, updated_at, $3 FROM agents WHERE agent_id = ANY ($1) AND org_id = $2`;

@Injectable()
export class AgentRepository extends OrgRepository<AgentEntity> {
  constructor(database: Database) {
    super(database, AgentEntity, 'agent_id');
  }

  list(scope: OrgScope, query: AgentListQueryDto): Promise<RowPage<AgentEntity>> {
    const where = whereReadable(scope, query.workspace_id)
      .addIf(query.sync_state, 'sync_state = ?')
      .addIf(query.app, query.app?.startsWith('app_') ? 'app_id = ?' : 'app = ?')
      .addIf(query.name, 'name COLLATE "C" = ?')
      .addSearch(query.q);
    return listPage<AgentEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'agents',
        where,
        id: 'agent_id',
        sorts: BY_NAME,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** Keeps what agents are now as their present versions. */
  async keepVersions(tx: Tx, scope: OrgScope, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await tx.query(KEEP_VERSIONS, [ids, scope.orgId, scope.principalId]);
  }

  listVersions(scope: OrgScope, id: string, query: OrderedListQueryDto): Promise<RowPage<AgentVersionRow>> {
    const where = new Where(scope.orgKey).add('agent_id = ?', id);
    return listPage<AgentVersionRow>(
      this.database,
      {
        columns: `${VERSION}, created_at, created_by`,
        from: 'agent_versions',
        where,
        id: 'version_ordinal',
        idType: 'int8',
        bytes: 'bytes',
      },
      query,
    );
  }

  async findVersion(scope: OrgScope, id: string, ordinal: number): Promise<AgentVersionRow | null> {
    const where = new Where(scope.orgKey).add('agent_id = ?', id).add('version_ordinal = ?', ordinal);
    const [row] = await this.database.query<AgentVersionRow>(
      `SELECT ${VERSION}, created_at, created_by FROM agent_versions WHERE ${where.toString()}`,
      where.values,
    );
    return row ?? null;
  }
}
