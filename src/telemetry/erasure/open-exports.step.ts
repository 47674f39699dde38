import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';
import { ArrivalRepository } from './arrival.repository';
import { ErasedUsers } from '../traces/erased-users';

/**
 * Remembers an erased end user, so that their older data is refused. Then waits for open exports, which may not have seen this,
 * so that the next phase finds what they stored. A session is not remembered.
 */
@Injectable()
export class OpenExportsStep implements ErasureStep {
  readonly name = 'open exports';
  readonly subjects = ['end_user', 'session'] as const;
  readonly phase = 'prepare';

  constructor(
    steps: ErasureSteps,
    private readonly users: ErasedUsers,
    private readonly arrivals: ArrivalRepository,
  ) {
    steps.add(this);
  }

  async run(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { subject, workspaceId, id, requestedAt, isDryRun } = erasure;
    if (cursor === null) {
      if (subject === 'end_user') await this.arrivals.remember(tx, erasure);
      if (isDryRun) return { counts: {}, next: null };
      if (subject === 'end_user') await this.users.add(tx, workspaceId, id, requestedAt);
      return { counts: {}, next: 'added' };
    }
    const since = cursor === 'added' ? await this.users.now(tx) : Number(cursor);
    if (await this.users.hasSettled(tx, since)) return { counts: {}, next: null };
    return { counts: {}, next: String(since), isWaiting: true };
  }
}
