import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgRepository, type Tx, Where } from '#platform/db';
import { BY_NAME, type ListQueryDto, listPage, type RowPage } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import { whereReadable } from '../../registry';
import type { ServerListQueryDto } from './server.dto';
import { REGISTRY_NAME, ServerEntity, type ServerVersionRow } from './server.entity';

explainConstraint('mcp_servers_name', 'conflict', 'The workspace has a server of this name already.');

const COLUMNS = `server_id, org_id, workspace_id, name, description, url, transport, auth_type, auth_header, auth_secret,
  is_system, metadata, app_id, app, declared_name, sync_state, tools_listed_at, version_ordinal, version_id, generation,
  created_at, updated_at, created_by, archived_at`;

const CONTENT = `server_id, org_id, workspace_id, version_ordinal, version_id, name, description, url, transport,
  auth_type, auth_header`;
const VERSION = `${CONTENT}, created_at, created_by`;

const KEEP_VERSIONS = `INSERT INTO mcp_server_versions (${VERSION})
  SELECT ${CONTENT}, updated_at, $3 FROM mcp_servers WHERE server_id = ANY ($1::text[]) AND org_id = $2`;

@Injectable()
export class ServerRepository extends OrgRepository<ServerEntity> {
  constructor(database: Database) {
    super(database, ServerEntity, 'server_id');
  }

  /** Never the system server named `registry`, nor is it counted. */
  list(scope: OrgScope, query: ServerListQueryDto): Promise<RowPage<ServerEntity>> {
    const where = whereReadable(scope, query.workspace_id)
      .addSearch(query.q)
      .addIf(query.name, 'name = ?')
      .addIf(query.transport, 'transport = ?')
      .addIf(query.sync_state, 'sync_state = ?')
      // a slug has no underscore
      .addIf(query.app, query.app?.startsWith('app_') ? 'app_id = ?' : 'app = ?')
      .add('NOT (is_system AND name = ?)', REGISTRY_NAME);
    return listPage<ServerEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'mcp_servers',
        where,
        id: 'server_id',
        sorts: BY_NAME,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** Keeps what servers are now as their present versions. */
  async keepVersions(tx: Tx, scope: OrgScope, serverIds: readonly string[]): Promise<void> {
    if (serverIds.length > 0) await tx.query(KEEP_VERSIONS, [serverIds, scope.orgId, scope.principalId]);
  }

  /** By number, the newest first: ids that were made within a millisecond are in no order. */
  listVersions(scope: OrgScope, id: string, query: ListQueryDto): Promise<RowPage<ServerVersionRow>> {
    const where = new Where(scope.orgKey).add('server_id = ?', id);
    return listPage<ServerVersionRow>(
      this.database,
      {
        columns: VERSION,
        from: 'mcp_server_versions',
        where,
        id: 'version_ordinal',
        idType: 'int8',
        bytes: 'bytes',
      },
      query,
    );
  }

  async findVersion(scope: OrgScope, id: string, ordinal: number): Promise<ServerVersionRow | null> {
    const [row] = await this.database.query<ServerVersionRow>(
      `SELECT ${VERSION} FROM mcp_server_versions WHERE server_id = $1 AND version_ordinal = $2 AND org_id = $3`,
      [id, ordinal, scope.orgId],
    );
    return row ?? null;
  }
}
