import { Injectable } from '@nestjs/common';
import { followIndexes, minuteOf, sql, type Tx } from '#platform/db';

/** Deletes sessions that have not changed for a long time. */
@Injectable()
export class SessionRetentionRepository {
  /**
   * Deletes the sessions of a workspace that have not changed since, the oldest first, with their messages. Skips sessions that
   * a writer has locked. @returns their number
   */
  async deleteUnchanged(
    tx: Tx,
    { orgId, workspaceId }: { orgId: string; workspaceId: string },
    before: Date,
    limit: number,
  ): Promise<number> {
    await followIndexes(tx);
    const sessions = await tx.query<{ session_id: string }>(
      sql`SELECT session_id FROM agent_sessions
        WHERE org_id = ${orgId} AND workspace_id = ${workspaceId}
          AND updated_minute <= ${minuteOf(sql`${before}::timestamptz`)} AND updated_at < ${before}
        ORDER BY org_id, workspace_id, updated_minute, session_id LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
    );
    const ids = sessions.map(({ session_id }) => session_id);
    await tx.query(
      sql`DELETE FROM session_messages WHERE session_id = ANY (${ids}::text[]) AND workspace_id = ${workspaceId}`,
    );
    await tx.query(
      sql`DELETE FROM agent_sessions WHERE session_id = ANY (${ids}::text[]) AND workspace_id = ${workspaceId}`,
    );
    return ids.length;
  }
}
