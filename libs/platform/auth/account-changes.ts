import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Client } from 'pg';
import { Environment } from '#platform/config';
import { Database, sql, type Tx } from '#platform/db';
import { rootLogger } from '#platform/logging';
import { AccountCache } from './account-cache';

/**
 * The PostgreSQL channel on which processes announce changed accounts. The payload is the id of the organization; empty for
 * platform principals.
 */
export const ACCOUNTS_CHANNEL = 'accounts_changed';

const RECONNECT_MS = 5_000;

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
      // sent when the transaction commits
      await tx.query(sql`SELECT pg_notify(${ACCOUNTS_CHANNEL}, ${orgId})`);
      return value;
    });
    this.cache.invalidate(orgId);
    return result;
  }
}

/**
 * Listens, on a separate connection, for accounts that other processes change, and drops their cached entries. While
 * the connection is lost, only `AUTH_CACHE_SECONDS` bounds how long a change stays unseen.
 */
@Injectable()
export class AccountChangeListener implements OnApplicationBootstrap, OnApplicationShutdown {
  private client: Client | null = null;
  private timer: NodeJS.Timeout | null = null;
  private isStopped = false;

  constructor(
    private readonly environment: Environment,
    private readonly cache: AccountCache,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    if (this.environment.AUTH_CACHE_SECONDS > 0) await this.listen();
  }

  async onApplicationShutdown(): Promise<void> {
    this.isStopped = true;
    if (this.timer) clearTimeout(this.timer);
    const { client } = this;
    this.client = null;
    await client?.end().catch(() => undefined);
  }

  private async listen(): Promise<void> {
    const client = new Client({
      connectionString: this.environment.DATABASE_URL,
      application_name: 'agent-registry-service account changes',
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
    });
    client.on('notification', ({ payload = '' }) => this.cache.invalidate(payload));
    client.on('error', () => this.reconnect(client));
    client.on('end', () => this.reconnect(client));
    this.client = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${ACCOUNTS_CHANNEL}`);
      // changes may have been missed before the subscription
      this.cache.clear();
    } catch (error) {
      rootLogger.warn({ err: error }, 'cannot listen for account changes; retrying');
      this.reconnect(client);
    }
  }

  /** Closes a lost connection and opens another after `RECONNECT_MS`. */
  private reconnect(client: Client): void {
    if (this.isStopped || this.client !== client) return;
    this.client = null;
    client.removeAllListeners().on('error', () => undefined);
    void client.end().catch(() => undefined);
    this.timer = setTimeout(() => void this.listen(), RECONNECT_MS).unref();
  }
}
