import { Injectable } from '@nestjs/common';
import { LoadingCache, runAs } from '#platform/concurrency';
import { Database, raw, sql } from '#platform/db';

/** Maximum backlog of records without words, in records and in bytes. A search computes missing words itself. */
const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Maximum batch of records that are locked at once, in records and approximately in bytes. A batch takes about 50 ms. */
const BATCH = 200;
const BATCH_BYTES = 256 * 1024;

/** Owner of the connection that counts the waiting records for all organizations. */
const OWNER = 'words of records';

/** The SQL expression that computes the words of a record from its content, for the full-text search. */
export const RECORD_WORDS = raw('record_words(metadata, expected, input)');

/**
 * Manages the words of records for full-text search, in the column `search`. The column of a new record is NULL until
 * {@link fill} adds the words.
 */
@Injectable()
export class RecordWordsRepository {
  private readonly backlog = new LoadingCache<boolean>();

  constructor(private readonly database: Database) {}

  /** Whether the backlog is so large that writers must add the words themselves. The result may be a second old. */
  isBehind(): Promise<boolean> {
    return this.backlog.find('records', () => runAs(OWNER, () => this.countWaiting()));
  }

  private async countWaiting(): Promise<boolean> {
    const [row] = await this.database.query<{ is_behind: boolean }>(
      sql`SELECT count(*) >= ${MAX_WAITING} OR coalesce(sum(bytes), 0) >= ${MAX_WAITING_BYTES} AS is_behind
        FROM (SELECT bytes FROM records WHERE search IS NULL LIMIT ${MAX_WAITING}) waiting`,
    );
    return row!.is_behind;
  }

  /**
   * Adds the missing words of records in all workspaces. Concurrent calls are safe, because each locks other records. Stops
   * after `MAX_WAITING` records, so that a worker can shut down.
   */
  async fill(): Promise<void> {
    for (let filled = 0, inBatch = 1; inBatch > 0 && filled < MAX_WAITING; filled += inBatch)
      inBatch = await this.fillBatch();
  }

  private async fillBatch(): Promise<number> {
    const rows = await this.database.query(
      sql`UPDATE records SET search = ${RECORD_WORDS}
        WHERE dataset_record_id = ANY (ARRAY(
          SELECT dataset_record_id FROM (
            SELECT dataset_record_id, sum(bytes) OVER (ORDER BY dataset_record_id ROWS UNBOUNDED PRECEDING) - bytes AS before
            FROM (SELECT dataset_record_id, bytes FROM records WHERE search IS NULL LIMIT ${BATCH}
                  FOR NO KEY UPDATE SKIP LOCKED) locked
          ) waiting WHERE before < ${BATCH_BYTES}))
        RETURNING 1`,
    );
    return rows.length;
  }
}
