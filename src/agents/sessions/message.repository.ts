import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, raw, sql, type Tx, Where } from '#platform/db';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import { listPage, type RowPage } from '#platform/paging';
import type { CreateMessageDto, MessageListQueryDto } from './message.dto';
import { SessionMessageEntity } from './message.entity';
import type { AgentSessionEntity } from './session.entity';

const COLUMNS = `session_id, ordinal, message_id, org_id, workspace_id, role, content, tool_calls, tool_call_id, name,
  trace_id, created_at, created_by`;

@Injectable()
export class MessageRepository {
  constructor(private readonly database: Database) {}

  /** Inserts a message at its place in a session. */
  async insert(
    tx: Tx,
    scope: OrgScope,
    session: Pick<AgentSessionEntity, 'session_id' | 'workspace_id'>,
    ordinal: number,
    message: CreateMessageDto,
    at: Date,
  ): Promise<SessionMessageEntity> {
    const row: SessionMessageEntity = {
      session_id: session.session_id,
      ordinal,
      message_id: newId('msg'),
      org_id: scope.orgId,
      workspace_id: session.workspace_id,
      role: message.role,
      content: toRawJson(message.content),
      tool_calls: message.tool_calls ? toRawJson(message.tool_calls) : null,
      tool_call_id: message.tool_call_id ?? null,
      name: message.name ?? null,
      trace_id: message.trace_id ?? null,
      created_at: at,
      created_by: scope.principalId,
    };
    await tx.manager.insert(SessionMessageEntity, row);
    return row;
  }

  /** Lists the messages of a session, by default in their order. */
  list(
    scope: OrgScope,
    sessionId: string,
    query: MessageListQueryDto,
  ): Promise<RowPage<SessionMessageEntity>> {
    return listPage<SessionMessageEntity>(
      this.database,
      {
        columns: COLUMNS,
        from: 'session_messages',
        where: new Where(scope.orgKey)
          .add(sql`session_id = ${sessionId}`)
          .addIf(query.role, (role) => sql`role = ${role}`),
        id: 'ordinal',
        idType: 'int8',
        defaultSort: 'created_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  async find(scope: OrgScope, sessionId: string, messageId: string): Promise<SessionMessageEntity | null> {
    const [row] = await this.database.query<SessionMessageEntity>(
      sql`SELECT ${raw(COLUMNS)} FROM session_messages
        WHERE org_id = ${scope.orgId} AND session_id = ${sessionId} AND message_id = ${messageId}`,
    );
    return row ?? null;
  }
}
