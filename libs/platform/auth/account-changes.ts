import { Injectable } from '@nestjs/common';
import { Database, sql, type Tx } from '#platform/db';
import { PrincipalCache } from './principal-cache';
import { WorkspaceCache } from './workspace-cache';

/** PostgreSQL's notification channel on which API processes tell each other whose accounts have changed. */
export const ACCOUNTS_CHANNEL = 'accounts_changed';

/**
 * Changes to what authentication knows: accounts, workspaces, memberships, keys, revocations. Whatever writes those goes through
 * here, so that no process goes on with what it remembers: this one forgets it before the caller is answered, the
 * others as soon as PostgreSQL notifies them. `AUTH_CACHE_SECONDS` is the bound where a notification is lost.
 */
@Injectable()
export class AccountChanges {
  constructor(
    private readonly database: Database,
    private readonly principals: PrincipalCache,
    private readonly workspaces: WorkspaceCache,
  ) {}

  /** Runs a transaction that changes accounts of one organization. @param orgId empty for platform principals. */
  async within<Result>(orgId: string, work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const result = await this.database.transaction(async (tx) => {
      const done = await work(tx);
      // delivered when the transaction commits, and not at all when it rolls back
      await tx.query(sql`SELECT pg_notify(${ACCOUNTS_CHANNEL}, ${orgId})`);
      return done;
    });
    this.principals.forget(orgId);
    this.workspaces.forget(orgId);
    return result;
  }
}
