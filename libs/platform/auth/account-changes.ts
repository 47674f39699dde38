import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import { AccountCache } from './account-cache';
import { AccountChangeRepository } from './account-change.repository';

/**
 * Runs changes of what authentication caches: accounts, workspaces, memberships, keys and revocations. All code that
 * writes those must use it. This process drops its cached entries before the caller gets its answer, the others as soon
 * as PostgreSQL notifies them. If a notification is lost, entries expire after `AUTH_CACHE_SECONDS`.
 */
@Injectable()
export class AccountChanges {
  constructor(
    private readonly database: Database,
    private readonly repository: AccountChangeRepository,
    private readonly cache: AccountCache,
  ) {}

  /**
   * Runs a transaction that changes accounts of one organization.
   *
   * @param orgId empty for platform principals
   */
  async within<Result>(orgId: string, work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const result = await this.database.transaction(async (tx) => {
      const done = await work(tx);
      await this.repository.notify(tx, orgId);
      return done;
    });
    this.cache.invalidate(orgId);
    return result;
  }
}
