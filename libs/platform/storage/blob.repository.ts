import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/scope';
import { runUnjoined } from '#platform/concurrency';
import { Database, raw, sql, type SqlExecutor, type Tx } from '#platform/db';

/** A complete object. */
export interface BlobRow {
  sha256: string;
  size_bytes: number;
  /** Unsigned. */
  crc32: number;
  storage_key: string;
}

/** Records which objects are being written, and which are complete. Uses the clock of the database. */
@Injectable()
export class BlobRepository {
  constructor(private readonly database: Database) {}

  /** The columns that refer to blobs, as conditions that no row refers to a blob. Read once, from the catalog. */
  private unreferenced: Promise<string> | undefined;

  /**
   * Records a write before its first byte, so that its object is found even if the process dies. Never part of the transaction of
   * the request, because the bytes remain when that is rolled back.
   */
  async begin({ orgId }: Pick<OrgScope, 'orgId'>, key: string): Promise<void> {
    await runUnjoined(() =>
      this.database.query(
        sql`INSERT INTO blob_writes (storage_key, org_id, heartbeat_at) VALUES (${key}, ${orgId}, now())`,
      ),
    );
  }

  /** Renews the heartbeat of a write, unless its object has been deleted as interrupted. */
  async renew(key: string): Promise<void> {
    await runUnjoined(() =>
      this.database.query(
        sql`UPDATE blob_writes SET heartbeat_at = now() WHERE storage_key = ${key} AND heartbeat_at IS NOT NULL`,
      ),
    );
  }

  /**
   * Renews the heartbeat of a complete write. Returns the key of the object that the organization already has with the same bytes.
   * Returns undefined if the new object has been deleted as interrupted.
   */
  async renewWritten(
    { orgId }: Pick<OrgScope, 'orgId'>,
    { sha256, storage_key }: BlobRow,
  ): Promise<{ earlier_key: string | null } | undefined> {
    const [renewed] = await runUnjoined(() =>
      this.database.query<{ earlier_key: string | null }>(
        sql`UPDATE blob_writes SET heartbeat_at = now() WHERE storage_key = ${storage_key} AND heartbeat_at IS NOT NULL
          RETURNING (SELECT b.storage_key FROM blobs b WHERE b.org_id = ${orgId} AND b.sha256 = ${sha256}) AS earlier_key`,
      ),
    );
    return renewed;
  }

  /** Ends a write whose object is to be kept. Returns false if the object has been deleted as interrupted meanwhile. */
  async end(tx: Tx, key: string): Promise<boolean> {
    const ended = await tx.query(
      sql`DELETE FROM blob_writes WHERE storage_key = ${key} AND heartbeat_at IS NOT NULL RETURNING 1`,
    );
    return ended.length > 0;
  }

  /** Inserts an object, or locks the existing object with the same bytes. Returns the key of the object that is kept. */
  async keep(tx: Tx, { orgId }: Pick<OrgScope, 'orgId'>, row: BlobRow): Promise<string> {
    const [stored] = await tx.query<{ storage_key: string }>(
      sql`INSERT INTO blobs AS existing (org_id, sha256, size_bytes, crc32, storage_key)
        VALUES (${orgId}, ${row.sha256}, ${row.size_bytes}, ${row.crc32}, ${row.storage_key})
        ON CONFLICT (org_id, sha256) DO UPDATE SET crc32 = existing.crc32
        RETURNING storage_key`,
    );
    return stored!.storage_key;
  }

  /** Replaces an object that the storage has lost by one with the same bytes, and marks its remains for deletion. */
  async replaceLost(
    tx: Tx,
    { orgId }: Pick<OrgScope, 'orgId'>,
    row: BlobRow,
    lostKey: string,
  ): Promise<void> {
    await tx.query(
      sql`WITH replaced AS (
          UPDATE blobs SET storage_key = ${row.storage_key}
          WHERE org_id = ${orgId} AND sha256 = ${row.sha256} AND storage_key = ${lostKey} RETURNING 1
        )
        INSERT INTO blob_writes (storage_key, org_id) SELECT ${lostKey}, ${orgId} FROM replaced`,
    );
  }

  /** Tells whether this object itself is kept, and not another one with the same bytes. */
  async isKept({ orgId }: Pick<OrgScope, 'orgId'>, row: BlobRow): Promise<boolean> {
    const rows = await this.database.query(
      sql`SELECT 1 FROM blobs
        WHERE org_id = ${orgId} AND sha256 = ${row.sha256} AND storage_key = ${row.storage_key}`,
    );
    return rows.length > 0;
  }

  async find(
    { orgId }: Pick<OrgScope, 'orgId'>,
    sha256: string,
    on: SqlExecutor = this.database,
  ): Promise<BlobRow | null> {
    const [row] = await on.query<BlobRow>(
      sql`SELECT sha256, size_bytes, crc32, storage_key FROM blobs
        WHERE org_id = ${orgId} AND sha256 = ${sha256}`,
    );
    return row ?? null;
  }

  /** Locks an object against `release` until the transaction ends. Returns false if there is none. */
  async hold(tx: Tx, { orgId }: Pick<OrgScope, 'orgId'>, sha256: string): Promise<boolean> {
    const rows = await tx.query(
      sql`SELECT 1 FROM blobs WHERE org_id = ${orgId} AND sha256 = ${sha256} FOR KEY SHARE`,
    );
    return rows.length > 0;
  }

  /** Marks an object for deletion. Returns false if it is kept or already deleted. */
  async abandon(key: string, on: SqlExecutor = this.database): Promise<boolean> {
    const abandoned = await on.query(
      sql`UPDATE blob_writes SET heartbeat_at = NULL WHERE storage_key = ${key} RETURNING 1`,
    );
    return abandoned.length > 0;
  }

  /** Abandons writes without a heartbeat, and returns objects to delete, in any order, so that none blocks the others. */
  async findAbandoned(orphanSeconds: number, limit: number): Promise<string[]> {
    const rows = await this.database.query<{ storage_key: string }>(
      sql`UPDATE blob_writes SET heartbeat_at = NULL
        WHERE storage_key IN (
          SELECT storage_key FROM blob_writes
          WHERE heartbeat_at IS NULL OR heartbeat_at < now() - ${orphanSeconds} * interval '1 second'
          ORDER BY random() LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ) RETURNING storage_key`,
    );
    return rows.map((row) => row.storage_key);
  }

  /**
   * Removes those of some objects that no row refers to, and marks them for deletion. The lock comes first, in a statement of its
   * own, so that the second one sees the rows of a transaction that has just kept the same bytes.
   *
   * @returns the number of the objects, and of their bytes
   */
  async release(
    tx: Tx,
    { orgId }: Pick<OrgScope, 'orgId'>,
    sha256s: readonly string[],
  ): Promise<{ count: number; bytes: number }> {
    await tx.query(
      sql`SELECT 1 FROM blobs WHERE org_id = ${orgId} AND sha256 = ANY (${sha256s}::text[]) ORDER BY sha256 FOR UPDATE`,
    );
    const [released] = await tx.query<{ count: number; bytes: number }>(
      sql`WITH released AS (
          DELETE FROM blobs WHERE org_id = ${orgId} AND sha256 = ANY (${sha256s}::text[])
            AND ${raw(await this.isUnreferenced())}
          RETURNING storage_key, size_bytes
        ), marked AS (
          INSERT INTO blob_writes (storage_key, org_id) SELECT storage_key, ${orgId} FROM released
        )
        SELECT count(*) AS count, coalesce(sum(size_bytes), 0)::bigint AS bytes FROM released`,
    );
    return released!;
  }

  /** Returns the digests of an organization's objects after one, in order. */
  async list({ orgId }: Pick<OrgScope, 'orgId'>, on: SqlExecutor, after: string, limit: number) {
    const rows = await on.query<{ sha256: string }>(
      sql`SELECT sha256 FROM blobs WHERE org_id = ${orgId} AND sha256 > ${after} ORDER BY sha256 LIMIT ${limit}`,
    );
    return rows.map(({ sha256 }) => sha256);
  }

  /** Returns objects of an organization that are marked for deletion, and locks them. */
  async findReleased({ orgId }: Pick<OrgScope, 'orgId'>, tx: Tx, limit: number): Promise<string[]> {
    const rows = await tx.query<{ storage_key: string }>(
      sql`SELECT storage_key FROM blob_writes WHERE org_id = ${orgId} AND heartbeat_at IS NULL
        LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
    );
    return rows.map((row) => row.storage_key);
  }

  /** Removes the record of an object that has been deleted. */
  async forget(key: string): Promise<void> {
    await this.forgetAll(this.database, [key]);
  }

  async forgetAll(on: SqlExecutor, keys: readonly string[]): Promise<void> {
    await on.query(
      sql`DELETE FROM blob_writes WHERE storage_key = ANY (${keys}::text[]) AND heartbeat_at IS NULL`,
    );
  }

  /** Returns the condition that no row of any table refers to a blob. */
  private isUnreferenced(): Promise<string> {
    this.unreferenced ??= this.readReferences().catch((error: unknown) => {
      this.unreferenced = undefined;
      throw error;
    });
    return this.unreferenced;
  }

  private async readReferences(): Promise<string> {
    const references = await blobReferences(this.database);
    return references
      .map(({ table, condition }) => `NOT EXISTS (SELECT FROM ${table} child WHERE ${condition})`)
      .join(' AND ');
  }
}

/** A foreign key to `blobs`, as quoted SQL. */
export interface BlobReference {
  table: string;
  /** The condition that a row `child` of the table refers to a row of `blobs`. */
  condition: string;
  /** The primary key of the row `child`, as a JSON object. */
  key: string;
}

/** Reads the foreign keys to `blobs` from the catalog, so that none can be forgotten. */
export const blobReferences = (on: SqlExecutor): Promise<BlobReference[]> =>
  on.query<BlobReference>(
    `SELECT k.conrelid::regclass::text AS table, (
        SELECT string_agg(format('child.%I = blobs.%I', a.attname, b.attname), ' AND ')
        FROM unnest(k.conkey, k.confkey) AS pair (child, parent)
          JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = pair.child
          JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = pair.parent) AS condition, (
        SELECT format('jsonb_build_object(%s)', string_agg(format('%L, child.%I', a.attname, a.attname), ', '))
        FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = k.conrelid AND i.indisprimary) AS key
      FROM pg_constraint k WHERE k.contype = 'f' AND k.confrelid = 'blobs'::regclass ORDER BY 1`,
  );
