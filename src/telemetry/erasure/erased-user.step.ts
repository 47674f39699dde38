import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';
import { ErasedUsers } from '../traces/erased-users';

/**
 * Remembers an erased end user, so that their older spans are refused. Then waits for open exports, which may not have seen this,
 * so that the next phase finds what they stored.
 */
@Injectable()
export class ErasedUserStep implements ErasureStep {
  readonly name = 'erased user';
  readonly subjects = ['end_user'] as const;
  readonly phase = 'prepare';

  constructor(
    steps: ErasureSteps,
    private readonly users: ErasedUsers,
  ) {
    steps.add(this);
  }

  async run(
    tx: Tx,
    { workspaceId, id, requestedAt, isDryRun }: ErasureRun,
    cursor: string | null,
  ): Promise<ErasureBatch> {
    if (isDryRun) return { counts: {}, next: null };
    if (cursor === null) {
      await this.users.add(tx, workspaceId, id, requestedAt);
      return { counts: {}, next: 'added' };
    }
    const since = cursor === 'added' ? await this.users.now(tx) : Number(cursor);
    return { counts: {}, next: (await this.users.hasSettled(tx, since)) ? null : String(since) };
  }
}
