import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, type Tx, Where } from '#platform/db';
import { listPage, type RowPage } from '#platform/paging';
import type { MessageListQueryDto } from './message.dto';
import { SessionMessageEntity } from './message.entity';

const COLUMNS = `session_id, ordinal, message_id, org_id, workspace_id, role, content, tool_calls, tool_call_id, name,
  trace_id, created_at, created_by`;

@Injectable()
export class MessageRepository {
  constructor(private readonly database: Database) {}

  async insert(tx: Tx, row: SessionMessageEntity): Promise<void> {
    await tx.manager.insert(SessionMessageEntity, row);
  }

  /** In the order in which they were said, unless asked otherwise. */
  list(
    scope: OrgScope,
    sessionId: string,
    query: MessageListQueryDto,
  ): Promise<RowPage<SessionMessageEntity>> {
    const where = new Where(scope.orgKey).add('session_id = ?', sessionId).addIf(query.role, 'role = ?');
    return listPage<SessionMessageEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'session_messages',
        where,
        id: 'ordinal',
        idType: 'int8',
        defaultSort: 'created_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  /** One of a session, by its id; null where the session has none of it. */
  async find(scope: OrgScope, sessionId: string, messageId: string): Promise<SessionMessageEntity | null> {
    const where = new Where(scope.orgKey).add('session_id = ?', sessionId).add('message_id = ?', messageId);
    const [row] = await this.database.query<SessionMessageEntity>(
      `SELECT ${COLUMNS} FROM session_messages WHERE ${where.toString()}`,
      where.values,
    );
    return row ?? null;
  }
}
