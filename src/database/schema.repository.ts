import type { Client } from 'pg';
import { sql } from '#platform/db';
import { ALIVE_SECONDS } from '#platform/heartbeat';
import { compareReleases } from '#platform/release';
import type { BackfillStep, NamedStep } from './migrations/migration';

/** What the database records about its schema. */
export interface SchemaState {
  /** `other` if it has migrations of other software, or of a version before the baselines. */
  origin: 'empty' | 'service' | 'other';
  /** Names of the baselines and steps that have been applied. */
  applied: ReadonlySet<string>;
  /** The newest release that has migrated it; null before the baselines. */
  release: string | null;
  /** The oldest release that can run on it; null before the baselines. */
  oldestRelease: string | null;
}

/** The progress of a backfill. */
export interface BackfillProgress {
  name: string;
  rows_done: number;
  /** According to the statistics of PostgreSQL when the backfill was declared. */
  rows_estimated: number;
  is_finished: boolean;
}

/** Reads and writes what the database records about its schema, over the session that migrates. */
export class SchemaRepository {
  constructor(
    private readonly session: Client,
    private readonly release: string,
  ) {}

  async read(): Promise<SchemaState> {
    const { has_migrations, is_known, has_installation } = await this.row<{
      has_migrations: boolean;
      is_known: boolean;
      has_installation: boolean;
    }>(sql`SELECT to_regclass('migrations') IS NOT NULL AS has_migrations,
      EXISTS (SELECT FROM pg_attribute
        WHERE attrelid = to_regclass('migrations') AND attname = 'release' AND NOT attisdropped) AS is_known,
      to_regclass('installation') IS NOT NULL AS has_installation`);
    const state = { applied: new Set<string>(), release: null, oldestRelease: null };
    if (!has_migrations) return { ...state, origin: 'empty' };
    if (!is_known) return { ...state, origin: 'other' };
    const { rows } = await this.session.query<{ name: string }>(sql`SELECT name FROM migrations`);
    const applied = new Set(rows.map(({ name }) => name));
    if (applied.size === 0) return { ...state, origin: 'empty' };
    if (!has_installation) return { ...state, applied, origin: 'other' };
    const { schema_release, oldest_release } = await this.row<{
      schema_release: string;
      oldest_release: string;
    }>(sql`SELECT schema_release, oldest_release FROM installation`);
    return { applied, release: schema_release, oldestRelease: oldest_release, origin: 'service' };
  }

  /** Creates the table of applied migrations in an empty database. */
  async createTable(): Promise<void> {
    await this.session.query(sql`CREATE TABLE IF NOT EXISTS migrations (
      name text PRIMARY KEY,
      release text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`);
  }

  /** Records that a baseline or a step has been applied. */
  async record(name: string): Promise<void> {
    await this.session.query(sql`INSERT INTO migrations (name, release) VALUES (${name}, ${this.release})`);
  }

  /** Records that this release migrates the database, so that older ones start without migrating it. */
  async recordRelease(): Promise<void> {
    await this.session.query(sql`UPDATE installation SET schema_release = ${this.release}`);
  }

  /**
   * Records the oldest release that can run on the database, unless a newer one is recorded. Until the transaction ends,
   * starting processes wait, because they read the row with a lock (`LiveProcessRepository.supportedReleases`).
   */
  async raiseOldestRelease(release: string): Promise<void> {
    const { oldest_release: current } = await this.row<{ oldest_release: string }>(
      sql`SELECT oldest_release FROM installation FOR UPDATE`,
    );
    if (compareReleases(current, release) < 0)
      await this.session.query(sql`UPDATE installation SET oldest_release = ${release}`);
  }

  /** Returns the kinds and releases of the running processes that are older than a release, such as `worker 0.1.0`. */
  async processesBefore(release: string): Promise<string[]> {
    const { rows } = await this.session.query<{ kind: string; release: string }>(
      sql`SELECT DISTINCT kind, release FROM live_processes
        WHERE seen_at > now() - ${ALIVE_SECONDS} * interval '1 second'`,
    );
    const older = rows.filter((process) => compareReleases(process.release, release) < 0);
    return older.map((process) => `${process.kind} ${process.release}`).sort();
  }

  /** Declares a backfill, which is finished at once if its table is empty. */
  async declareBackfill({ name, step }: NamedStep<BackfillStep>): Promise<void> {
    const isEmpty = (await this.session.query(`SELECT FROM ${step.table} LIMIT 1`)).rowCount === 0;
    await this.session.query(
      sql`INSERT INTO backfills (name, rows_estimated, finished_at)
        VALUES (${name}, ${await this.estimateRows(step.table)}, CASE WHEN ${isEmpty}::boolean THEN now() END)`,
    );
  }

  async backfills(): Promise<BackfillProgress[]> {
    const { rows } = await this.session.query<BackfillProgress>(
      sql`SELECT name, rows_done::float8, rows_estimated::float8, finished_at IS NOT NULL AS is_finished
        FROM backfills ORDER BY started_at, name`,
    );
    return rows;
  }

  /** Estimates the rows of a table and its partitions from the statistics of PostgreSQL; 0 if it does not exist yet. */
  async estimateRows(table: string): Promise<number> {
    const { rows } = await this.row<{ rows: number }>(
      sql`SELECT coalesce(sum(greatest(reltuples, 0)) FILTER (WHERE relkind = 'r'), 0)::float8 AS rows FROM pg_class
        WHERE oid = to_regclass(${table}) OR oid IN (SELECT relid FROM pg_partition_tree(to_regclass(${table})))`,
    );
    return rows;
  }

  async isPartitioned(table: string): Promise<boolean> {
    const { rowCount } = await this.session.query(
      sql`SELECT FROM pg_class WHERE oid = to_regclass(${table}) AND relkind = 'p'`,
    );
    return rowCount === 1;
  }

  private async row<Row>(statement: { text: string; values: unknown[] }): Promise<Row> {
    return (await this.session.query(statement)).rows[0] as Row;
  }
}
