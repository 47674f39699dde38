import type { Client, DatabaseError } from 'pg';
import { retry } from '#platform/concurrency';
import { sql } from '#platform/db';
import { StartError } from '#platform/process';
import { isLockFailure, type MigrationSession } from './migration-session';
import type { IndexStep, NamedStep } from './migrations/migration';

const UNDEFINED_TABLE = '42P01';
const UNIQUE_VIOLATION = '23505';

/** Attempts to build an index, each of which may end in a deadlock with another build or an ANALYZE. */
const ATTEMPTS = 5;

/** An index of a table; `is_valid` is null if it does not exist. */
interface FoundIndex {
  is_partitioned: boolean;
  is_valid: boolean | null;
}

interface Partition {
  table: string;
  /** Whether an earlier build of its index ended; null if there was none. */
  is_valid: boolean | null;
}

/**
 * Builds an index without blocking reads or writes. An index that an interrupted build left is invalid, and replaced.
 *
 * PostgreSQL cannot build the index of a partitioned table concurrently. So the index is first created on the table alone,
 * which takes no time, then built on one partition after the other, and attached.
 */
export async function buildIndex(
  session: MigrationSession,
  { name: stepName, step }: NamedStep<IndexStep>,
): Promise<void> {
  const { client } = session;
  const unique = step.isUnique ? 'UNIQUE ' : '';
  const createOnce = async (table: string, name: string): Promise<void> => {
    const drop = () => session.patiently(stepName, `DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
    await drop();
    try {
      await session.patiently(
        stepName,
        `CREATE ${unique}INDEX CONCURRENTLY ${name} ON ${table} ${step.definition}`,
      );
    } catch (error) {
      const { code, detail } = error as DatabaseError;
      if (code !== UNIQUE_VIOLATION) throw error;
      await drop(); // an invalid unique index can still refuse rows
      throw new StartError(
        `The migration step ${stepName} cannot build the unique index ${name} of ${table}: ${detail} Change or delete one of these rows, then run the migration again.`,
        { cause: error },
      );
    }
  };
  const create = (table: string, name: string): Promise<void> =>
    retry(() => createOnce(table, name), { attempts: ATTEMPTS, isRetryable: isLockFailure });
  const { is_partitioned, is_valid } = await findIndex(client, step);
  if (is_valid) return;
  if (!is_partitioned) return create(step.table, step.name);
  if (is_valid === null) {
    await session.locked(stepName, { [`ONLY ${step.table}`]: 'SHARE' }, () =>
      client.query(`CREATE ${unique}INDEX ${step.name} ON ONLY ${step.table} ${step.definition}`),
    );
  }
  for (let part = await nextPartition(client, step); part; part = await nextPartition(client, step)) {
    const { table, is_valid: isBuilt } = part;
    const name = indexOf(table, step);
    try {
      if (!isBuilt) await create(table, name);
      await session.locked(stepName, {}, () =>
        client.query(`ALTER INDEX ${step.name} ATTACH PARTITION ${name}`),
      );
    } catch (error) {
      // the retention may have dropped the partition
      if ((error as DatabaseError).code !== UNDEFINED_TABLE) throw error;
    }
  }
}

/** Returns the name of the index of a partition, which PostgreSQL limits to 63 characters. */
const indexOf = (partition: string, { name }: IndexStep): string => `${partition}_${name}`.slice(0, 63);

async function findIndex(client: Client, { table, name }: IndexStep): Promise<FoundIndex> {
  const { rows } = await client.query<FoundIndex>(
    sql`SELECT t.relkind = 'p' AS is_partitioned, i.indisvalid AS is_valid
      FROM pg_class t LEFT JOIN (pg_index i JOIN pg_class c ON c.oid = i.indexrelid AND c.relname = ${name})
        ON i.indrelid = t.oid
      WHERE t.oid = ${table}::regclass`,
  );
  return rows[0]!;
}

/** Returns a partition whose index is not attached yet. */
async function nextPartition(client: Client, step: IndexStep): Promise<Partition | undefined> {
  const { rows } = await client.query<Partition>(
    sql`SELECT p.relname AS table, own.indisvalid AS is_valid
      FROM pg_inherits part JOIN pg_class p ON p.oid = part.inhrelid
        LEFT JOIN (pg_index own JOIN pg_class c ON c.oid = own.indexrelid)
          ON own.indrelid = p.oid AND c.relname = (p.relname || '_' || ${step.name})::name
      WHERE part.inhparent = ${step.table}::regclass AND NOT EXISTS (
        SELECT FROM pg_index i JOIN pg_inherits attached ON attached.inhrelid = i.indexrelid
        WHERE i.indrelid = p.oid AND attached.inhparent = ${step.name}::regclass)
      ORDER BY p.relname LIMIT 1`,
  );
  return rows[0];
}
