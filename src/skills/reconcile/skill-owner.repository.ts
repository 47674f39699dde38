import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { OwnedRepository } from '../../registry';
import type { SkillEntity } from '../skill.entity';

const LOCK = `SELECT skill_id, workspace_id, name, app_id, sync_state, source_digest, bytes FROM skills
  WHERE workspace_id = $1 AND archived_at IS NULL AND (app_id = $2 OR name = ANY ($3))
  ORDER BY skill_id FOR UPDATE`;

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
export class SkillOwnerRepository extends OwnedRepository {
  constructor() {
    super({ table: 'skills', id: 'skill_id', declaredName: 'name' });
  }

  /** The workspace's live skills of these names, and all of the app's, locked in the order of their ids. */
  lock(tx: Tx, scope: Scope, appId: string, names: readonly string[]): Promise<OwnedSkill[]> {
    return tx.query<OwnedSkill>(LOCK, [scope.workspaceId, appId, names]);
  }
}
