import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { migrateQueues } from '#platform/jobs';
import { MIGRATIONS } from './migrations';

/** Advisory lock under which migrations run: any number, the same in every process. */
const MIGRATION_LOCK = 7_160_301_447;
const POLL_MS = 200;

/**
 * Brings a database to the present schema. Any number of processes may call it at once: one migrates, the others
 * wait. The lock is polled, because a session blocked on it would keep `CREATE INDEX CONCURRENTLY` waiting for ever.
 */
export async function migrate(databaseUrl: string): Promise<void> {
  const lock = new Client({ connectionString: databaseUrl });
  await lock.connect();
  try {
    while (!(await tryLock(lock))) await delay(POLL_MS);
    const source = new DataSource({
      type: 'postgres',
      url: databaseUrl,
      migrations: MIGRATIONS,
      migrationsTableName: 'migrations',
      migrationsTransactionMode: 'each',
      installExtensions: false,
      poolSize: 1,
    });
    await source.initialize();
    try {
      await source.runMigrations();
    } finally {
      await source.destroy();
    }
    await migrateQueues(lock);
  } finally {
    await lock.end();
  }
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    MIGRATION_LOCK,
  ]);
  return rows[0]?.locked === true;
}
