import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { SyncState } from '../../registry';
import type { SkillEntity } from '../skill.entity';

/** The app's live skills that have to do with a change, locked in the order of their ids as by all who change many. */
const locked = (condition: string): string => `WITH locked AS MATERIALIZED (
  SELECT skill_id FROM skills WHERE workspace_id = $1 AND app_id = $2 AND archived_at IS NULL AND ${condition}
  ORDER BY skill_id FOR UPDATE)`;

const MARK = `${locked('name = ANY ($4) AND sync_state <> $5')}
  UPDATE skills s SET sync_state = $5, generation = generation + 1, updated_at = $3
  FROM locked WHERE s.skill_id = locked.skill_id AND s.workspace_id = $1`;

const MEND = `${locked("name <> ALL ($4) AND sync_state = 'failed'")}
  UPDATE skills s SET sync_state = 'pending', generation = generation + 1, updated_at = $3
  FROM locked WHERE s.skill_id = locked.skill_id AND s.workspace_id = $1`;

const RELEASE = `${locked('true')}
  UPDATE skills s SET app_id = NULL, app = NULL, sync_state = 'unmanaged', generation = generation + 1, updated_at = $3
  FROM locked WHERE s.skill_id = locked.skill_id AND s.workspace_id = $1 RETURNING s.skill_id`;

const LOCK = `SELECT skill_id, workspace_id, name, app_id, sync_state, source_digest, bytes FROM skills
  WHERE workspace_id = $1 AND archived_at IS NULL AND (app_id = $2 OR name = ANY ($3))
  ORDER BY skill_id FOR UPDATE`;

const SETTLE = `UPDATE skills SET sync_state = 'synced', generation = generation + 1, updated_at = $3
  WHERE skill_id = ANY ($1) AND workspace_id = $2`;

const ARCHIVE = `UPDATE skills SET archived_at = $3, generation = generation + 1, updated_at = $3
  WHERE skill_id = ANY ($1) AND workspace_id = $2`;

/** A skill, as a sweep first looks at it. */
export interface OwnedSkill extends Pick<
  SkillEntity,
  'skill_id' | 'workspace_id' | 'name' | 'app_id' | 'sync_state' | 'source_digest'
> {
  /** About as many as the whole of it has. */
  bytes: number;
}

/** How skills stand to the app that declares them. */
@Injectable()
export class SkillOwnerRepository {
  /** The workspace's live skills of these names, and all of the app's, locked in the order of their ids. */
  lock(tx: Tx, scope: Scope, appId: string, names: readonly string[]): Promise<OwnedSkill[]> {
    return tx.query<OwnedSkill>(LOCK, [scope.workspaceId, appId, names]);
  }

  /** Has skills that are as declared be `synced`. @param ids of those that are locked */
  async settle(tx: Tx, scope: Scope, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await tx.query(SETTLE, [ids, scope.workspaceId, new Date()]);
  }

  /** @param ids of those that are locked */
  async archive(tx: Tx, scope: Scope, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await tx.query(ARCHIVE, [ids, scope.workspaceId, new Date()]);
  }

  /** Sets the state of the app's live skills of these names. Those that have it stay as they are. */
  async mark(tx: Tx, scope: Scope, appId: string, names: readonly string[], state: SyncState): Promise<void> {
    await tx.query(MARK, [scope.workspaceId, appId, new Date(), names, state]);
  }

  /** Sets the app's live skills that are `failed` back to `pending`, but for those of these names. */
  async mend(tx: Tx, scope: Scope, appId: string, names: readonly string[]): Promise<void> {
    await tx.query(MEND, [scope.workspaceId, appId, new Date(), names]);
  }

  /** Has the app's live skills be nobody's. @returns their ids. */
  async release(tx: Tx, scope: Scope, appId: string): Promise<string[]> {
    const rows = await tx.query<{ skill_id: string }>(RELEASE, [scope.workspaceId, appId, new Date()]);
    return rows.map(({ skill_id }) => skill_id);
  }
}
