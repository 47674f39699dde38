import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { WatchedClient } from '#platform/db';
import { migrateQueues } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { MIGRATIONS } from './migrations';

/** Advisory lock under which migrations run: any number, the same in every process. */
export const MIGRATION_LOCK = 7_160_301_447;
const POLL_MS = 200;

/** How often a process that waits says so. */
const WORD_MS = 30_000;

type OnWait = (seconds: number) => void;

const logWait: OnWait = (seconds) =>
  rootLogger.info({ waited_seconds: seconds }, 'waiting for another process that migrates the database');

/**
 * Brings a database to the present schema. Any number of processes may call it at once: one migrates, the others
 * wait. The lock is polled, because a session blocked on it would keep `CREATE INDEX CONCURRENTLY` waiting for ever.
 *
 * @param onWait hears at once, and every 30 s, for how many seconds this process has been waiting for another.
 */
export async function migrate(databaseUrl: string, onWait: OnWait = logWait): Promise<void> {
  const lock = new WatchedClient({ connectionString: databaseUrl });
  await lock.connect();
  try {
    await takeLock(lock, onWait);
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

async function takeLock(client: Client, onWait: OnWait): Promise<void> {
  const begun = performance.now();
  for (let words = 0; !(await tryLock(client)); await delay(POLL_MS)) {
    const waited = performance.now() - begun;
    if (waited < words * WORD_MS) continue;
    words++;
    onWait(Math.round(waited / 1000));
  }
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    MIGRATION_LOCK,
  ]);
  return rows[0]?.locked === true;
}
