import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

/** Somebody else's session in the database, which can hold what the service needs. */
export class Holder {
  private constructor(private readonly client: Client) {}

  static async connect(url: string): Promise<Holder> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return new Holder(client);
  }

  /** Nobody else reads or writes the tables until the release. */
  async lock(...tables: string[]): Promise<void> {
    await this.client.query('BEGIN');
    await this.client.query(`LOCK TABLE ${tables.join(', ')}`);
  }

  async release(): Promise<void> {
    await this.client.query('ROLLBACK');
  }

  /** Statements of the service that wait for a lock, and connections that are in a transaction. */
  async waiting(): Promise<{ statements: number; transactions: number }> {
    // within a transaction, the statistics would not change
    await this.client.query('SELECT pg_stat_clear_snapshot()');
    const { rows } = await this.client.query<{ statements: number; transactions: number }>(
      `SELECT count(*) FILTER (WHERE wait_event_type = 'Lock')::int AS statements,
         count(xact_start)::int AS transactions
       FROM pg_stat_activity
       WHERE application_name = 'agent-registry-service' AND datname = current_database()`,
    );
    return rows[0]!;
  }

  async until(isThere: (waiting: Awaited<ReturnType<Holder['waiting']>>) => boolean): Promise<void> {
    while (!isThere(await this.waiting())) await delay(10);
  }

  end(): Promise<void> {
    return this.client.end();
  }
}
