import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

/** A separate database session, which can hold locks that the service needs. */
export class LockHolder {
  private constructor(private readonly client: Client) {}

  static async connect(url: string): Promise<LockHolder> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return new LockHolder(client);
  }

  /** Keeps everyone else from reading and writing the tables until the release. */
  async lock(...tables: string[]): Promise<void> {
    await this.client.query('BEGIN');
    await this.client.query(`LOCK TABLE ${tables.join(', ')}`);
  }

  async release(): Promise<void> {
    await this.client.query('ROLLBACK');
  }

  /** Counts the service's statements that wait for a lock, and its connections that are in a transaction. */
  async waiting(): Promise<{ statements: number; transactions: number }> {
    // within a transaction, the statistics would otherwise not change
    await this.client.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await this.client.query<{ statements: number; transactions: number }>(
      `SELECT count(*) FILTER (WHERE wait_event_type = 'Lock')::int AS statements,
         count(xact_start)::int AS transactions
       FROM pg_stat_activity
       WHERE application_name = 'agent-registry-service' AND datname = current_database()`,
    );
    return rows[0]!;
  }

  async until(isReached: (waiting: Awaited<ReturnType<LockHolder['waiting']>>) => boolean): Promise<void> {
    while (!isReached(await this.waiting())) await delay(10);
  }

  end(): Promise<void> {
    return this.client.end();
  }
}
