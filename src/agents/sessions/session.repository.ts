import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgRepository, type Tx } from '#platform/db';
import { addCreated, BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import { whereReadable } from '../../registry';
import type { AgentSessionListQueryDto } from './session.dto';
import { AgentSessionEntity } from './session.entity';
import { SESSION_READERS } from './session-access';

/** Counts one message more, and so gives it its place; the row stays locked, so writers take turns. */
const COUNT = {
  name: 'session.count-message',
  text: `UPDATE agent_sessions
    SET message_count = message_count + 1, last_message_at = $3, updated_at = $3, generation = generation + 1
    WHERE session_id = $1 AND org_id = $2 RETURNING message_count`,
};

@Injectable()
export class AgentSessionRepository extends OrgRepository<AgentSessionEntity> {
  constructor(database: Database) {
    super(database, AgentSessionEntity, 'session_id');
  }

  list(scope: OrgScope, query: AgentSessionListQueryDto): Promise<RowPage<AgentSessionEntity>> {
    const where = whereReadable(scope, query.workspace_id, SESSION_READERS)
      .addIf(query.agent_id, 'agent_id = ?')
      .addIf(query.session_status, 'session_status = ?');
    addCreated(where, { prefix: 'ses', id: 'session_id' }, query);
    return listPage<AgentSessionEntity>(
      this.database,
      {
        columns: '*',
        from: 'agent_sessions',
        where,
        id: 'session_id',
        sorts: BY_CHANGE,
        archivedAt: 'archived_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** The place of the next message. */
  async countMessage(tx: Tx, scope: OrgScope, id: string, at: Date): Promise<number> {
    const [row] = await tx.query<{ message_count: number }>(COUNT, [id, scope.orgId, at]);
    return row!.message_count;
  }
}
