import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { TombstoneRepository } from '../deletion/tombstone.repository';
import { TraceFeedRepository } from './trace-feed.repository';

/** Milliseconds between two looks at the open transactions. */
const POLL_MS = 20;

/** Remembers erased users by a keyed hash, so that their data from before the erasure is not stored again. */
@Injectable()
export class ErasedUsers {
  constructor(
    private readonly tombstones: TombstoneRepository,
    private readonly feed: TraceFeedRepository,
  ) {}

  /**
   * Records the erasure of a user. Exports that begin after the commit refuse the traces and log records that name the user and
   * began before the returned time.
   *
   * @param userId as `user_id` of traces
   */
  add(tx: Tx, workspaceId: string, userId: string): Promise<Date> {
    return this.tombstones.addUser(tx, { workspaceId, id: userId });
  }

  /**
   * Waits until the transactions that are open now have ended, at most ten minutes. Call it after the commit of `add` and before
   * looking for the user's data, because open exports may not have seen the erasure.
   */
  async settle(signal?: AbortSignal): Promise<void> {
    const { now_us } = await this.feed.clock();
    while ((await this.feed.clock()).settled_us < now_us) await delay(POLL_MS, undefined, { signal });
  }
}
