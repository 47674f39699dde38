import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Client } from 'pg';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { AccountCache } from './account-cache';
import { AccountChangeRepository } from './account-change.repository';

const RECONNECT_MS = 5_000;

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
    private readonly repository: AccountChangeRepository,
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
      await this.repository.listen(client);
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
