import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgScopedRepository, sql, type Tx } from '#platform/db';
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

  /** Deletes sessions of a workspace with their messages, or only counts them. */
  async erase(
    tx: Tx,
    workspaceId: string,
    ids: readonly string[],
    isDryRun: boolean,
  ): Promise<{ agent_sessions: number; session_messages: number }> {
    const named = sql`session_id = ANY (${ids}::text[]) AND (workspace_id = ${workspaceId}) IS TRUE`;
    const rows = await tx.query<{ message_count: number }>(
      isDryRun
        ? sql`SELECT message_count FROM agent_sessions WHERE ${named}`
        : sql`DELETE FROM agent_sessions WHERE ${named} RETURNING message_count`,
    );
    const messages = rows.reduce((sum, { message_count }) => sum + message_count, 0);
    return { agent_sessions: rows.length, session_messages: messages };
  }

  /** Finds active sessions with an agent. @param version only those pinned to this version */
  async findActiveOf(
    tx: Tx,
    scope: OrgScope,
    agentId: string,
    version: number | undefined,
    limit: number,
  ): Promise<string[]> {
    const rows = await tx.query<{ session_id: string }>(
      sql`SELECT session_id FROM agent_sessions
        WHERE agent_id = ${agentId} AND (org_id = ${scope.orgId} AND session_status = 'active') IS TRUE
          AND archived_at IS NULL AND (${version ?? null}::int IS NULL OR version_ordinal = ${version ?? null})
        LIMIT ${limit}`,
    );
    return rows.map(({ session_id }) => session_id);
  }
}
