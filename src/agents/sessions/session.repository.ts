import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgScopedRepository, sql } from '#platform/db';
import { BY_FREQUENT_CHANGE, listPage, type RowPage } from '#platform/paging';
import { whereReadable } from '../../resources';
import type { AgentSessionListQueryDto } from './session.dto';
import { AgentSessionEntity, SESSION_READERS } from './session.entity';

@Injectable()
export class AgentSessionRepository extends OrgScopedRepository<AgentSessionEntity> {
  constructor(database: Database) {
    super(database, AgentSessionEntity, 'session_id', { bytes: 'bytes' });
  }

  list(scope: OrgScope, query: AgentSessionListQueryDto): Promise<RowPage<AgentSessionEntity>> {
    const where = whereReadable(scope, query.workspace_id, SESSION_READERS)
      .addIndexedInParts(query.agent_id, (id) => sql`agent_id = ${id}`)
      .addIndexedInParts(query.session_status, (status) => sql`session_status = ${status}`);
    return listPage<AgentSessionEntity>(
      this.database,
      { ...this.listed, where, sorts: BY_FREQUENT_CHANGE },
      query,
    );
  }
}
