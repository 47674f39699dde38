import { Injectable } from '@nestjs/common';
import { BriefCache, runAs } from '#platform/concurrency';
import { Database, raw, sql } from '#platform/db';

/** Most records that wait for their words, and their size in bytes. A search computes the words of those in its dataset. */
const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Most records that are locked and filled at once, and about their size in bytes: some 50 ms. */
const BATCH = 200;
const BATCH_BYTES = 256 * 1024;

/** Owner of the connection that counts the waiting records for all organizations. */
const OWNER = 'words of records';

/** The words that a search of records matches, computed from the content of a record. */
export const RECORD_WORDS = raw('record_words(metadata, expected, input)');

/**
 * The words of records for full-text search, in their column `search`. They are NULL in a new record until
 * {@link fill} adds them.
 */
@Injectable()
export class RecordWordsRepository {
  private readonly backlog = new BriefCache<boolean>();

  constructor(private readonly database: Database) {}

  /** Whether so many records wait for their words that writers have to add them. Up to a second old. */
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
   * Adds the words of records that wait for them, in all workspaces. Concurrent calls are safe: each takes other records.
   * Ends after as many as may wait, so that a worker can stop.
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
