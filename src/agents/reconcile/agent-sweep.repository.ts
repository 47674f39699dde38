import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type Tx, Where } from '#platform/db';
import { toJsonText } from '#platform/json';
import type { SweptApp, SyncState } from '../../registry';
import { type AgentEntity, CONTENT_MEMBERS } from '../agents/agent.entity';

const CONTENT = CONTENT_MEMBERS.join(', ');
const COLUMNS = `agent_id, org_id, workspace_id, name, version_ordinal, version_id, ${CONTENT}, app_id, app, sync_state,
  generation, created_at, updated_at, created_by, archived_at`;

/** What a sweep writes again of an agent that it changes. */
const CHANGED = [
  ...CONTENT_MEMBERS,
  'version_ordinal',
  'version_id',
  'sync_state',
  'generation',
  'updated_at',
  'archived_at',
].map((column) => `${column} = given.${column}`);

/** The agents of a sweep, any number of them by one statement. */
@Injectable()
export class AgentSweepRepository {
  /** The workspace's live agents that are the app's or have one of these names, locked. */
  lockDeclared(tx: Tx, scope: Scope, { appId }: SweptApp, names: readonly string[]): Promise<AgentEntity[]> {
    const where = new Where(scope.key)
      .add('archived_at IS NULL')
      .add('(app_id = ? OR name = ANY (?))', appId, names);
    return tx.query<AgentEntity>(
      `SELECT ${COLUMNS} FROM agents WHERE ${where.toString()} ORDER BY agent_id FOR UPDATE`,
      where.values,
    );
  }

  async insertMany(tx: Tx, rows: readonly AgentEntity[]): Promise<void> {
    if (rows.length === 0) return;
    await tx.query(
      `INSERT INTO agents (${COLUMNS}) SELECT ${COLUMNS} FROM json_populate_recordset(NULL::agents, $1)`,
      [toJsonText(rows)],
    );
  }

  async updateMany(tx: Tx, scope: Scope, rows: readonly AgentEntity[]): Promise<void> {
    if (rows.length === 0) return;
    await tx.query(
      `UPDATE agents AS a SET ${CHANGED.join(', ')}
       FROM json_populate_recordset(NULL::agents, $1) AS given
       WHERE a.agent_id = given.agent_id AND a.workspace_id = $2`,
      [toJsonText(rows), scope.workspaceId],
    );
  }

  /** Sets the state of the app's live agents: of those with these names, or of all. */
  async mark(tx: Tx, scope: Scope, app: SweptApp, names: readonly string[], state: SyncState): Promise<void> {
    await tx.query(
      `UPDATE agents SET sync_state = $4, generation = generation + 1, updated_at = now()
       WHERE workspace_id = $1 AND app_id = $2 AND name = ANY ($3) AND archived_at IS NULL AND sync_state <> $4`,
      [scope.workspaceId, app.appId, names, state],
    );
  }

  /** Lets the app's live agents go. */
  async release(tx: Tx, scope: Scope, { appId }: SweptApp): Promise<void> {
    await tx.query(
      `UPDATE agents
       SET app_id = NULL, app = NULL, sync_state = 'unmanaged', generation = generation + 1, updated_at = now()
       WHERE workspace_id = $1 AND app_id = $2 AND archived_at IS NULL`,
      [scope.workspaceId, appId],
    );
  }
}
