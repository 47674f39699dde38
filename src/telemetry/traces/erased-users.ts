import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { TombstoneRepository } from '../deletion/tombstone.repository';
import { TraceFeedRepository } from './trace-feed.repository';

/** Remembers erased users by a keyed hash, so that their data from before the erasure is not stored again. */
@Injectable()
export class ErasedUsers {
  constructor(
    private readonly tombstones: TombstoneRepository,
    private readonly feed: TraceFeedRepository,
  ) {}

  /**
   * Records the erasure of a user. Exports that begin after the commit refuse the traces and log records that name the user and
   * began before the erasure.
   *
   * @param userId as `user_id` of traces
   */
  add(tx: Tx, workspaceId: string, userId: string, erasedAt: Date): Promise<void> {
    return this.tombstones.addUser(tx, { workspaceId, id: userId }, erasedAt);
  }

  /** Returns the time of the database, in microseconds since 1970. */
  async now(tx: Tx): Promise<number> {
    return (await this.feed.clock(tx)).now_us;
  }

  /**
   * Tells whether the transactions that were open at a time have ended. Look for a user's data only then, because open exports may
   * not have seen the erasure.
   */
  async hasSettled(tx: Tx, us: number): Promise<boolean> {
    return (await this.feed.clock(tx)).settled_us >= us;
  }
}
