import { Injectable } from '@nestjs/common';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import { BACKENDS_LOCK } from '../search-index.repository';

/** A backend that documents are embedded by, or are to be. */
export interface SearchBackend {
  backend_id: number;
  identity: string;
  dimensions: number;
  is_active: boolean;
  /** It is the one that was asked for last. */
  is_wanted: boolean;
  /** There is an index of pgvector for it that can be used. */
  is_indexed: boolean;
}

/** The name of the index of pgvector of a backend. */
export const indexOf = (backendId: number): string => `search_embeddings_near_${backendId}`;

const BACKENDS = `SELECT backend_id, identity, dimensions, is_active,
    wanted_at = max(wanted_at) OVER () AS is_wanted,
    EXISTS (SELECT 1 FROM pg_catalog.pg_index
      WHERE indexrelid = to_regclass('search_embeddings_near_' || backend_id) AND indisvalid) AS is_indexed
  FROM search_backends`;

/** The backends of embeddings: of the service, and so of no tenant. */
@Injectable()
export class SearchBackendRepository {
  constructor(private readonly database: Database) {}

  list(on: SqlExecutor = this.database): Promise<SearchBackend[]> {
    return on.query<SearchBackend>(`${BACKENDS} ORDER BY backend_id`);
  }

  /** The one that searches go by. */
  async active(on: SqlExecutor = this.database): Promise<SearchBackend> {
    const [row] = await on.query<SearchBackend>(`SELECT * FROM (${BACKENDS}) backends WHERE is_active`);
    return row!;
  }

  /** Makes a backend the one that all documents are to be embedded by; new ones are from here on. */
  async want(identity: string, dimensions: number): Promise<void> {
    if ((await this.list()).some((one) => one.identity === identity && one.is_wanted)) return;
    await this.database.transaction(async (tx) => {
      await this.changing(tx);
      await tx.query(
        `INSERT INTO search_backends (identity, dimensions, is_active, wanted_at)
         VALUES ($1, $2, false, clock_timestamp())
         ON CONFLICT (identity) DO UPDATE SET wanted_at = excluded.wanted_at,
           -- it may have been on its way out: what was deleted is embedded again
           queued_to = CASE WHEN search_backends.is_active THEN search_backends.queued_to ELSE 0 END`,
        [identity, dimensions],
      );
    });
  }

  /**
   * The transactions that have written documents, and are not over. Those that begin after a backend was committed see
   * it; of the others one may not have, so that documents are queued for it when all of them are over.
   */
  async writers(): Promise<string[]> {
    const rows = await this.database.query<{ writer: string }>(
      `SELECT DISTINCT virtualtransaction AS writer FROM pg_catalog.pg_locks
       WHERE locktype = 'advisory' AND objsubid = 1
         AND database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
         AND (classid::bigint << 32) | objid::bigint = ${BACKENDS_LOCK}`,
    );
    return rows.map(({ writer }) => writer);
  }

  /** Has searches go by a backend that is there, from the commit on. */
  activate(backendId: number): Promise<void> {
    return this.database.transaction(async (tx) => {
      await this.changing(tx);
      await tx.query(
        `UPDATE search_backends SET is_active = false
         WHERE is_active AND EXISTS (SELECT 1 FROM search_backends WHERE backend_id = $1)`,
        [backendId],
      );
      await tx.query(`UPDATE search_backends SET is_active = true WHERE backend_id = $1`, [backendId]);
    });
  }

  /**
   * Takes away a backend that is neither active nor wanted, with the embeddings that are left of it; does nothing while
   * documents are being written, of which some may have embeddings of it. It is tried, not waited for: who waits for a
   * lock alone has all wait behind it who write after that.
   */
  async drop(backendId: number): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.changing(tx);
      const [gone] = await tx.query(
        `SELECT 1 FROM search_backends WHERE backend_id = $1 AND NOT is_active
           AND wanted_at < (SELECT max(wanted_at) FROM search_backends)`,
        [backendId],
      );
      if (!gone) return;
      const [tried] = await tx.query<{ is_alone: boolean }>(
        `SELECT pg_try_advisory_xact_lock(${BACKENDS_LOCK}) AS is_alone`,
      );
      if (!tried!.is_alone) return;
      await tx.query('DELETE FROM search_embeddings WHERE backend_id = $1', [backendId]);
      await tx.query('DELETE FROM search_backends WHERE backend_id = $1', [backendId]);
    });
  }

  /** Has workers that change backends do so one after the other. No other transaction takes this lock. */
  private async changing(tx: Tx): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('search_backends changing', 0))`);
  }
}
