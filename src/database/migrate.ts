import { setTimeout as delay } from 'node:timers/promises';
import { type Client, DatabaseError } from 'pg';
import { DataSource } from 'typeorm';
import { WatchedClient } from '#platform/db';
import { migrateQueues } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { StartError } from '#platform/process';
import { MIGRATIONS } from './migrations';

/** Key of the advisory lock for migrations: an arbitrary number, the same in every process. */
export const MIGRATION_LOCK = 7_160_301_447;
const POLL_MS = 200;

/** Interval at which a waiting process reports its wait. */
const REPORT_MS = 30_000;

/** Codes of PostgreSQL (its manual, appendix A): a wrong user, password or database. */
const WRONG_URL = /^(28|3D)/;
const INSUFFICIENT_PRIVILEGE = '42501';

const MIGRATIONS_TABLE = 'migrations';

export interface MigrateOptions {
  /** Called at once and then every 30 s while another process migrates, with the seconds waited so far. */
  readonly onWait?: (seconds: number) => void;
  /** Instruction for a database with the migrations of other software. It is the end of the error's sentence. */
  readonly remedy?: string;
}

const logWait = (seconds: number): void =>
  rootLogger.info({ waited_seconds: seconds }, 'waiting for another process that migrates the database');

/**
 * Migrates a database to the current schema. Any number of processes may call it at once: one migrates, the others wait.
 * Each migration commits together with the row that records it, so the next start continues after the last one.
 *
 * Polls for the lock, because a session that blocks on it would keep `CREATE INDEX CONCURRENTLY` waiting forever.
 *
 * @throws StartError if there is no URL, if the database cannot be reached or refuses the connection or a migration, or if it
 *   has migrations of other software. It is left unchanged, except for the migrations before the one that was refused.
 */
export async function migrate(
  databaseUrl: string | undefined,
  { onWait = logWait, remedy = 'set DATABASE_URL to an empty database' }: MigrateOptions = {},
): Promise<void> {
  if (!databaseUrl) {
    throw new StartError(
      'DATABASE_URL is required; set it to a PostgreSQL database, such as postgres://user:password@localhost/registry.',
    );
  }
  const session = new WatchedClient({ connectionString: databaseUrl });
  await connect(session);
  try {
    await takeLock(session, onWait);
    if (await hasOtherMigrations(session)) {
      throw new StartError(
        `The database has migrations of an earlier version or of other software, so it cannot be migrated: ${remedy}.`,
      );
    }
    const source = new DataSource({
      type: 'postgres',
      url: databaseUrl,
      migrations: MIGRATIONS,
      migrationsTableName: MIGRATIONS_TABLE,
      migrationsTransactionMode: 'each',
      // the default prints failures to the console, in addition to throwing them
      logger: 'debug',
      installExtensions: false,
      poolSize: 1,
    });
    await source.initialize();
    try {
      await source.runMigrations();
    } finally {
      await source.destroy();
    }
    await migrateQueues(session);
  } catch (error) {
    throw refusalOf(error) ?? error;
  } finally {
    await session.end();
  }
}

async function connect(session: Client): Promise<void> {
  try {
    await session.connect();
  } catch (error) {
    const [first = error] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
    throw new StartError(connectFailure(first as Error), { cause: error });
  }
}

function connectFailure(error: Error): string {
  const { message } = error;
  if (error instanceof DatabaseError) {
    // with another code, such as 53300 for too many connections, the URL is right
    const remedy = WRONG_URL.test(error.code ?? '') ? '; check DATABASE_URL' : '';
    return `The database refuses the connection (${message})${remedy}.`;
  }
  return 'syscall' in error
    ? `The database cannot be reached (${message}); check DATABASE_URL, and that its server is running.`
    : `The connection to the database failed (${message}); check DATABASE_URL.`;
}

/** Returns the error for the operator if the role lacks a privilege. */
function refusalOf(error: unknown): StartError | undefined {
  const { code, message } = error as DatabaseError;
  if (code !== INSUFFICIENT_PRIVILEGE) return undefined;
  return new StartError(
    `The role in DATABASE_URL may not migrate the database (${message}); use the role that owns the database and its tables, or allow this one to create tables and schemas.`,
    { cause: error },
  );
}

async function takeLock(session: Client, onWait: (seconds: number) => void): Promise<void> {
  const start = performance.now();
  for (let reports = 0; !(await tryLock(session)); await delay(POLL_MS)) {
    const waited = performance.now() - start;
    if (waited < reports * REPORT_MS) continue;
    reports++;
    onWait(Math.round(waited / 1000));
  }
}

async function tryLock(session: Client): Promise<boolean> {
  const { rows } = await session.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    MIGRATION_LOCK,
  ]);
  return rows[0]?.locked === true;
}

/** Tells whether migrations are recorded, but not the first one. A newer version may have recorded more than this one has. */
async function hasOtherMigrations(session: Client): Promise<boolean> {
  const { rows: tables } = await session.query('SELECT 1 WHERE to_regclass($1) IS NOT NULL', [
    MIGRATIONS_TABLE,
  ]);
  if (tables.length === 0) return false;
  const { rows } = await session.query<{ is_other: boolean | null }>(
    `SELECT NOT bool_or(name = $1) AS is_other FROM ${MIGRATIONS_TABLE}`,
    [MIGRATIONS[0]!.name],
  );
  return rows[0]?.is_other === true;
}
