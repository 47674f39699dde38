import { Injectable } from '@nestjs/common';
import { Database } from '#platform/db';
import { RetentionPolicy } from '../../registry';
import { SessionRetentionRepository } from './session-retention.repository';

const DAY_MS = 24 * 60 * 60_000;

/** Sessions that are deleted at once, with all their messages. */
const BATCH = 50;

/** Deletes sessions that have not changed for longer than they are kept. Safe to run in any number of workers at once. */
@Injectable()
export class SessionRetention {
  constructor(
    private readonly policy: RetentionPolicy,
    private readonly database: Database,
    private readonly sessions: SessionRetentionRepository,
  ) {}

  async deleteExpired(): Promise<void> {
    for await (const { orgId, workspaceId, days } of this.policy.limited('sessions_days')) {
      const before = new Date(Date.now() - days * DAY_MS);
      const deleteBatch = () =>
        this.database.transaction((tx) =>
          this.sessions.deleteUnchanged(tx, { orgId, workspaceId }, before, BATCH),
        );
      while ((await deleteBatch()) === BATCH);
    }
  }
}
