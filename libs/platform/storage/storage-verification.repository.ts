import { Injectable } from '@nestjs/common';
import { Database, raw, sql } from '#platform/db';
import { blobReferences } from './blob.repository';

/** A row of `blobs`. */
export interface KeptRow {
  sha256: string;
  size_bytes: number;
  storage_key: string;
}

/** A row that refers to stored bytes: its table, and its primary key. */
export interface BlobUse {
  table: string;
  key: Record<string, unknown>;
}

/** Rows that a page of `rows` has. */
const PAGE = 1_000;
/** Most rows that are named for one object. */
const USES_MAX = 10;

/** Reads which objects the storage should have. Takes no locks, so that it can run beside the service. */
@Injectable()
export class StorageVerificationRepository {
  constructor(private readonly database: Database) {}

  private lateralUses: string | undefined;

  /** Yields the complete objects in the order of their keys, a page at a time. */
  async *rows(): AsyncGenerator<KeptRow, void, undefined> {
    for (let after = ''; ;) {
      const page = await this.database.query<KeptRow>(
        sql`SELECT sha256, size_bytes, storage_key FROM blobs
          WHERE storage_key > ${after} ORDER BY storage_key LIMIT ${PAGE}`,
      );
      yield* page;
      if (page.length < PAGE) return;
      after = page.at(-1)!.storage_key;
    }
  }

  /** Returns the keys that the database knows: complete objects, unfinished writes and pending deletions. */
  async known(keys: readonly string[]): Promise<Set<string>> {
    const rows = await this.database.query<{ storage_key: string }>(
      sql`SELECT storage_key FROM blobs WHERE storage_key = ANY (${keys}::text[])
        UNION ALL SELECT storage_key FROM blob_writes WHERE storage_key = ANY (${keys}::text[])`,
    );
    return new Set(rows.map((row) => row.storage_key));
  }

  /** Returns which of some objects are complete at the moment, with rows that refer to them, at most `USES_MAX` for each. */
  async uses(keys: readonly string[]): Promise<Map<string, BlobUse[]>> {
    if (keys.length === 0) return new Map();
    this.lateralUses ??= (await blobReferences(this.database))
      .map(
        ({ table, condition, key }) =>
          `SELECT '${table}' AS "table", ${key} AS key FROM ${table} child WHERE ${condition}`,
      )
      .join(' UNION ALL ');
    const rows = await this.database.query<{ storage_key: string; uses: BlobUse[] }>(
      sql`SELECT storage_key, (
          SELECT jsonb_agg(u) FROM (SELECT * FROM (${raw(this.lateralUses)}) every LIMIT ${USES_MAX}) u
        ) AS uses FROM blobs WHERE storage_key = ANY (${keys}::text[])`,
    );
    return new Map(rows.map(({ storage_key, uses }) => [storage_key, uses ?? []]));
  }

  /** Marks objects that no row refers to for deletion by a worker. Returns how many. */
  async deleteLater(keys: readonly string[]): Promise<number> {
    const marked = await this.database.query(
      sql`INSERT INTO blob_writes (storage_key, org_id)
        SELECT orphan.key, split_part(orphan.key, '/', 1) FROM unnest(${keys}::text[]) AS orphan (key)
        WHERE NOT EXISTS (SELECT FROM blobs b WHERE b.storage_key = orphan.key)
        ON CONFLICT DO NOTHING RETURNING 1`,
    );
    return marked.length;
  }
}
