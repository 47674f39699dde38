import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import {
  type BulkColumn,
  BulkColumns,
  Database,
  prepared,
  raw,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
} from '#platform/db';
import { newId } from '#platform/ids';
import { storedJson, toRawJson } from '#platform/json';
import { listPage, type RowPage } from '#platform/paging';
import type { CreateMessageDto, MessageListQueryDto } from './message.dto';
import type { SessionMessageEntity } from './message.entity';
import type { AgentSessionEntity } from './session.entity';

const COLUMNS = `session_id, ordinal, message_id, org_id, workspace_id, role, content, tool_calls, tool_call_id, name,
  trace_id, created_at, created_by`;

/** A message to add. `index` is its position, from 0, among the messages of the same statement. */
interface NewMessage extends CreateMessageDto {
  index: number;
  message_id: string;
}

const NEW_MESSAGE = new BulkColumns<NewMessage>([
  { name: 'index', type: 'int8', value: ({ index }) => index },
  ...(['message_id', 'role', 'tool_call_id', 'name', 'trace_id'] as const).map(
    (name): BulkColumn<NewMessage> => ({ name, type: 'text', value: (row) => row[name] ?? null }),
  ),
  { name: 'content', type: 'json', value: ({ content }) => storedJson(toRawJson(content).text) },
  {
    name: 'tool_calls',
    type: 'json',
    value: ({ tool_calls }) => (tool_calls ? storedJson(toRawJson(tool_calls).text) : null),
  },
]);

@Injectable()
export class MessageRepository {
  constructor(private readonly database: Database) {}

  /** Inserts the first message of a new session. */
  async insertFirst(tx: Tx, session: AgentSessionEntity): Promise<void> {
    const { session_id, org_id, workspace_id, prompt, created_at, created_by } = session;
    await tx.query(
      prepared(
        'message.insert-first',
        sql`INSERT INTO session_messages
            (session_id, ordinal, message_id, org_id, workspace_id, role, content, created_at, created_by)
          VALUES (${session_id}, 1, ${newId('msg')}, ${org_id}, ${workspace_id}, 'user', ${toRawJson(prompt)}::json,
                  ${created_at}, ${created_by})`,
      ),
    );
  }

  /**
   * Appends messages to an active session, in order, and counts them. Takes one statement, so that the rows of the
   * session and its workspace are locked only while it runs. Writes nothing and returns no rows if the session does not
   * accept messages. `IS TRUE` leaves only the primary key to find the rows, because the plan may have been cached when
   * the tables were new.
   *
   * @param workspaceIds the workspaces in which the caller may write, or null for all of the organization
   */
  append(
    scope: OrgScope,
    workspaceIds: readonly string[] | null,
    sessionId: string,
    messages: readonly CreateMessageDto[],
  ): Promise<SessionMessageEntity[]> {
    const rows = messages.map((message, index) => ({ ...message, index, message_id: newId('msg') }));
    return this.database.write<SessionMessageEntity>(
      prepared(
        'message.append',
        sql`WITH place AS MATERIALIZED (
            SELECT s.session_id, s.workspace_id FROM agent_sessions s JOIN workspaces w USING (workspace_id)
            WHERE s.session_id = ${sessionId} AND (s.org_id = ${scope.orgId} AND w.archived_at IS NULL
              AND (${workspaceIds}::text[] IS NULL OR s.workspace_id = ANY (${workspaceIds}::text[]))) IS TRUE
            FOR SHARE OF w
          ), session AS (
            UPDATE agent_sessions s
            SET message_count = message_count + ${messages.length}::integer,
                last_ordinal = last_ordinal + ${messages.length}::integer, generation = generation + 1,
                last_message_at = greatest(last_message_at, clock.at), updated_at = greatest(updated_at, clock.at)
            FROM place, (SELECT ${new Date()}::timestamptz AS at) clock
            WHERE s.session_id = place.session_id
              AND (s.org_id = ${scope.orgId} AND s.archived_at IS NULL AND s.session_status = 'active') IS TRUE
            RETURNING s.session_id, s.last_ordinal, s.org_id, s.workspace_id, s.last_message_at
          )
          INSERT INTO session_messages (${raw(COLUMNS)})
          SELECT session_id, last_ordinal - ${messages.length}::integer + 1 + index, message_id, org_id, workspace_id,
            role, content, tool_calls, tool_call_id, name, trace_id, last_message_at, ${scope.principalId}
          FROM session CROSS JOIN ${NEW_MESSAGE.table(rows, 'input')}
          ORDER BY index RETURNING ${raw(COLUMNS)}`,
      ),
    );
  }

  /** Lists the messages of a session, by default in order. */
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
          .addIndexed(query.role, (role) => sql`role = ${role}`),
        id: 'ordinal',
        createdAt: 'created_at',
        idType: 'int8',
        defaultSort: 'created_at',
        bytes: 'bytes',
      },
      query,
    );
  }

  async find(
    scope: OrgScope,
    sessionId: string,
    messageId: string,
    on: SqlExecutor = this.database,
  ): Promise<SessionMessageEntity | null> {
    const [row] = await on.query<SessionMessageEntity>(
      sql`SELECT ${raw(COLUMNS)} FROM session_messages
        WHERE org_id = ${scope.orgId} AND session_id = ${sessionId} AND message_id = ${messageId}`,
    );
    return row ?? null;
  }

  async delete(tx: Tx, scope: OrgScope, { session_id, ordinal }: SessionMessageEntity): Promise<void> {
    await tx.query(
      sql`DELETE FROM session_messages
        WHERE session_id = ${session_id} AND ordinal = ${ordinal} AND (org_id = ${scope.orgId}) IS TRUE`,
    );
  }
}
