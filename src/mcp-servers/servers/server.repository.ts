import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, sql, type Tx } from '#platform/db';
import type { RowPage } from '#platform/paging';
import { type ComparedRow, OwnedRepository, sha256Of } from '../../resources';
import type { ServerListQueryDto } from './server.dto';
import {
  AUTH_COLUMNS,
  type AuthColumns,
  REGISTRY_NAME,
  ServerEntity,
  type ServerVersionRow,
  VERSIONED_FIELDS,
} from './server.entity';

/** The columns of a server that a reconcile compares. Large ones are read as SHA-256 in hexadecimal. */
export interface ComparedServer
  extends ComparedRow, AuthColumns, Pick<ServerEntity, 'url' | 'transport' | 'tools_listed_at'> {
  description_sha256: string | null;
  metadata_sha256: string;
}

@Injectable()
export class ServerRepository extends OwnedRepository<ServerEntity, ServerVersionRow> {
  constructor(database: Database) {
    super(database, ServerEntity, {
      table: 'mcp_servers',
      versions: 'mcp_server_versions',
      id: 'server_id',
      content: VERSIONED_FIELDS,
      others: [
        'auth_secret',
        'url_secrets',
        'is_system',
        'metadata',
        'declared_name',
        'tools_listed_at',
        'health_status',
        'health_checked_at',
        'health_latency_ms',
        'health_error',
        'next_check_at',
      ],
      declaredName: 'declared_name',
      secrets: ['auth_secret', 'url_secrets'],
      compared: `url, transport, ${AUTH_COLUMNS.join(', ')}, tools_listed_at,
        ${sha256Of('description')} AS description_sha256, ${sha256Of('metadata::text')} AS metadata_sha256`,
    });
  }

  override list(scope: OrgScope, query: ServerListQueryDto): Promise<RowPage<ServerEntity>> {
    return this.listAmong(scope, query, null);
  }

  /**
   * Lists servers. The system server named `registry` is neither listed nor counted.
   *
   * @param ids the only servers to list; null for all
   */
  listAmong(
    scope: OrgScope,
    query: ServerListQueryDto,
    ids: readonly string[] | null,
  ): Promise<RowPage<ServerEntity>> {
    return super.list(scope, query, (where) =>
      where
        // Worded differently from the partial indexes of due servers, so that the planner does not use them.
        .add(sql`(NOT is_system OR name IS DISTINCT FROM ${REGISTRY_NAME})`)
        .addIf(ids ?? undefined, (only) => sql`server_id = ANY (${only}::text[])`)
        .addIndexed(query.transport, (transport) => sql`transport = ${transport}`)
        .addIndexed(query.health, (health) => sql`health_status = ${health}`),
    );
  }

  /**
   * Records that a locked server has listed its tools. The generation stays, because the configuration does not change.
   */
  async markListed(tx: Tx, scope: OrgScope, serverId: string): Promise<void> {
    await tx.query(
      sql`UPDATE mcp_servers SET tools_listed_at = ${new Date()}
        WHERE server_id = ${serverId} AND org_id = ${scope.orgId}`,
    );
  }

  /** Archives the live system servers named `registry` in the whole organization. */
  archiveRegistry(tx: Tx, scope: OrgScope, at: Date): Promise<{ id: string; workspaceId: string }[]> {
    return tx.query(
      sql`UPDATE mcp_servers
        SET archived_at = ${at}, updated_at = ${at}, auth_secret = NULL, url_secrets = NULL,
          generation = generation + 1
        WHERE org_id = ${scope.orgId} AND is_system AND name = ${REGISTRY_NAME} AND archived_at IS NULL
        RETURNING server_id AS id, workspace_id AS "workspaceId"`,
    );
  }
}
