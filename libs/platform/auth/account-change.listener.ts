import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Client } from 'pg';
import { Environment } from '#platform/config';
import { rootLogger } from '#platform/logging';
import { ACCOUNTS_CHANNEL } from './account-changes';
import { PrincipalCache } from './principal-cache';
import { WorkspaceCache } from './workspace-cache';

const RECONNECT_MS = 5_000;

/**
 * Hears of accounts that other processes have changed, on a connection of its own, and forgets what is remembered of
 * them. While the connection is lost, `AUTH_CACHE_SECONDS` alone bounds how long a change takes to be seen.
 */
@Injectable()
export class AccountChangeListener implements OnApplicationBootstrap, OnApplicationShutdown {
  private client: Client | null = null;
  private timer: NodeJS.Timeout | null = null;
  private stopped = false;

  constructor(
    private readonly environment: Environment,
    private readonly principals: PrincipalCache,
    private readonly workspaces: WorkspaceCache,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    // a cache that keeps nothing has nothing to forget
    if (this.environment.AUTH_CACHE_SECONDS > 0) await this.listen();
  }

  async onApplicationShutdown(): Promise<void> {
    this.stopped = true;
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
    client.on('notification', ({ payload = '' }) => {
      this.principals.forget(payload);
      this.workspaces.forget(payload);
    });
    client.on('error', () => this.lost(client));
    client.on('end', () => this.lost(client));
    this.client = client;
    try {
      await client.connect();
      await client.query(`LISTEN ${ACCOUNTS_CHANNEL}`);
      // what changed while nobody listened
      this.principals.clear();
      this.workspaces.clear();
    } catch (error) {
      rootLogger.warn({ err: error }, 'changes of accounts cannot be listened for');
      this.lost(client);
    }
  }

  private lost(client: Client): void {
    if (this.stopped || this.client !== client) return;
    this.client = null;
    client.removeAllListeners().on('error', () => undefined);
    void client.end().catch(() => undefined);
    this.timer = setTimeout(() => void this.listen(), RECONNECT_MS).unref();
  }
}
