import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { migrateQueues } from '#platform/jobs';
import { rootLogger } from '#platform/logging';
import { StartError } from '#platform/process';
import { compareReleases, RELEASE, unsupportedRelease } from '#platform/release';
import { type LockRetry, MigrationSession } from './migration-session';
import { BASELINES, MIGRATIONS } from './migrations';
import { type Migration, stepsOf } from './migrations/migration';
import { SchemaRepository, type SchemaState } from './schema.repository';
import { StepRunner } from './step-runner';
import { withSession } from './with-session';

/** Key of the advisory lock for migrations: an arbitrary number, the same in every process. */
export const MIGRATION_LOCK = 7_160_301_447;
const POLL_MS = 200;

/** Interval at which a waiting process reports its wait. */
const REPORT_MS = 30_000;

export interface MigrateOptions {
  /** Called at once and then every 30 s while another process migrates, with the seconds waited so far. */
  readonly onWait?: (seconds: number) => void;
  /** Instruction for a database with the migrations of other software. It is the end of the error's sentence. */
  readonly remedy?: string;
  /** The changes since the baselines. Default: those of this release. */
  readonly migrations?: readonly Migration[];
  readonly release?: string;
  readonly lockRetry?: LockRetry;
}

const logWait = (seconds: number): void =>
  rootLogger.info({ waited_seconds: seconds }, 'waiting for another process that migrates the database');

/**
 * Migrates a database to the schema of this release. Any number of processes may call it at once: one migrates, the others
 * wait. Each step is recorded when it ends, so that the next start continues after it. A worker runs the backfills.
 *
 * Changes nothing if a newer release migrates or has migrated the database, and this one is supported. So processes of this
 * release can restart during a rollout.
 *
 * @throws StartError if there is no URL, if the database cannot be reached or refuses the connection or a migration, if it has
 *   migrations of other software, if it does not support this release, or if a step gets no lock. Earlier steps remain.
 */
export async function migrate(
  databaseUrl: string | undefined,
  {
    onWait = logWait,
    remedy = 'set DATABASE_URL to an empty database',
    migrations = MIGRATIONS,
    release = RELEASE,
    lockRetry,
  }: MigrateOptions = {},
): Promise<void> {
  await withSession(databaseUrl, async (client, url) => {
    const schema = new SchemaRepository(client, release);
    const state = await lockToMigrate(client, schema, release, { onWait, remedy });
    if (state === null) return;
    const session = new MigrationSession(client, url, lockRetry);
    await applyBaselines(session, schema, state);
    if (state.release !== release) await schema.recordRelease();
    const steps = stepsOf(migrations).filter(({ name }) => !state.applied.has(name));
    if (steps.length > 0) await new StepRunner(session, schema).run(steps);
    await session.retried('of BullMQ', () => migrateQueues(client));
  });
}

/**
 * Waits for the lock for migrations. Polls for it, because a session that blocks on it would keep `CREATE INDEX CONCURRENTLY`
 * waiting forever.
 *
 * @returns the state of the database; null if a newer release migrates it or has migrated it
 */
async function lockToMigrate(
  client: Client,
  schema: SchemaRepository,
  release: string,
  { onWait, remedy }: Required<Pick<MigrateOptions, 'onWait' | 'remedy'>>,
): Promise<SchemaState | null> {
  const start = performance.now();
  for (let reports = 0; ; await delay(POLL_MS)) {
    const isLocked = await tryLock(client);
    const state = await readSupported(schema, release, remedy);
    if (state.release !== null && compareReleases(state.release, release) > 0) {
      rootLogger.info({ schema_release: state.release, release }, 'a newer release migrates the database');
      return null;
    }
    if (isLocked) return state;
    const waited = performance.now() - start;
    if (waited < reports * REPORT_MS) continue;
    reports++;
    onWait(Math.round(waited / 1000));
  }
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
    MIGRATION_LOCK,
  ]);
  return rows[0]?.locked === true;
}

/** Reads the state of a database. Throws a StartError if it is of other software, or does not support this release. */
export async function readSupported(
  schema: SchemaRepository,
  release: string,
  remedy: string,
): Promise<SchemaState> {
  const state = await schema.read();
  if (state.origin === 'other' || (state.origin === 'service' && !state.applied.has(BASELINES[0]!.name))) {
    throw new StartError(
      `The database has migrations of an earlier version or of other software, so it cannot be migrated: ${remedy}.`,
    );
  }
  if (state.oldestRelease !== null && compareReleases(release, state.oldestRelease) < 0) {
    throw new StartError(unsupportedRelease(release, state.oldestRelease, state.release!));
  }
  return state;
}

async function applyBaselines(
  session: MigrationSession,
  schema: SchemaRepository,
  { applied }: SchemaState,
): Promise<void> {
  const missing = BASELINES.filter(({ name }) => !applied.has(name));
  if (missing.length === 0) return;
  await schema.createTable();
  for (const baseline of missing) {
    await session.transaction(async () => {
      await new baseline().up(session.client);
      await schema.record(baseline.name);
    });
  }
  rootLogger.info({ baselines: missing.length }, 'created the schema in the empty database');
}
