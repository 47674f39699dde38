import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, empty, sql } from '#platform/db';
import type { RowPage } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import { OwnedRepository } from '../../resources';
import type { ServerListQueryDto } from './server.dto';
import { REGISTRY_NAME, ServerEntity, type ServerVersionRow, VERSIONED_FIELDS } from './server.entity';

explainConstraint('mcp_servers_name', 'conflict', 'The workspace already has a server with this name.');

@Injectable()
export class ServerRepository extends OwnedRepository<ServerEntity, ServerVersionRow> {
  constructor(database: Database) {
    super(database, ServerEntity, {
      table: 'mcp_servers',
      versions: 'mcp_server_versions',
      id: 'server_id',
      content: VERSIONED_FIELDS,
      others: ['auth_secret', 'is_system', 'metadata', 'declared_name', 'tools_listed_at'],
      declaredName: 'declared_name',
      secret: 'auth_secret',
    });
  }

  /** Lists servers. The system server named `registry` is neither listed nor counted. */
  override list(scope: OrgScope, query: ServerListQueryDto): Promise<RowPage<ServerEntity>> {
    const transport = query.transport ? sql` AND transport = ${query.transport}` : empty;
    return super.list(scope, query, sql`NOT (is_system AND name = ${REGISTRY_NAME})${transport}`);
  }
}
