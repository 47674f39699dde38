import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { SyncState } from '../../registry';

/** How skills stand to the app that declares them. */
@Injectable()
export class SkillOwnerRepository {
  /** Sets the state of the app's live skills of these names. Those that have it stay as they are. */
  async mark(tx: Tx, scope: Scope, appId: string, names: readonly string[], state: SyncState): Promise<void> {
    await tx.query(
      `UPDATE skills SET sync_state = $4, generation = generation + 1, updated_at = $5
       WHERE workspace_id = $1 AND app_id = $2 AND name = ANY ($3) AND archived_at IS NULL AND sync_state <> $4`,
      [scope.workspaceId, appId, names, state, new Date()],
    );
  }

  /** Has the app's live skills be nobody's. */
  async release(tx: Tx, scope: Scope, appId: string): Promise<void> {
    await tx.query(
      `UPDATE skills SET app_id = NULL, app = NULL, sync_state = 'unmanaged', generation = generation + 1, updated_at = $3
       WHERE workspace_id = $1 AND app_id = $2 AND archived_at IS NULL`,
      [scope.workspaceId, appId, new Date()],
    );
  }
}
