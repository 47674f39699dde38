import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import { AccountCache } from './account-cache';
import { AccountChangeRepository } from './account-change.repository';

/**
 * Runs transactions that change what authentication caches: accounts, workspaces, memberships, keys and revocations. All
 * code that writes those must use this class. This process drops its cached entries before the caller gets its response,
 * and other processes drop theirs as soon as PostgreSQL notifies them. If a notification is lost, entries expire after
 * `AUTH_CACHE_SECONDS`.
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
  async run<Result>(orgId: string, work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const result = await this.database.transaction(async (tx) => {
      const value = await work(tx);
      await this.repository.notify(tx, orgId);
      return value;
    });
    this.cache.invalidate(orgId);
    return result;
  }
}
