import { Injectable } from '@nestjs/common';
import { BriefCache } from '#platform/concurrency';
import { Database, raw, sql } from '#platform/db';

/** Most records that wait for their words, and their size in bytes. A search computes the words of those in its dataset. */
const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Records that are locked and filled at once: up to 100 ms for records of 1 KiB. */
const BATCH = 200;

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
    return this.backlog.find('records', async () => {
      const [row] = await this.database.query<{ is_behind: boolean }>(
        sql`SELECT count(*) >= ${MAX_WAITING} OR coalesce(sum(bytes), 0) >= ${MAX_WAITING_BYTES} AS is_behind
          FROM (SELECT bytes FROM records WHERE search IS NULL LIMIT ${MAX_WAITING}) waiting`,
      );
      return row!.is_behind;
    });
  }

  /**
   * Adds the words of records that wait for them, in all workspaces. Concurrent calls are safe: each takes other records.
   * Ends after as many as may wait, so that a worker can stop.
   */
  async fill(): Promise<void> {
    for (let filled = 0, inBatch = BATCH; inBatch === BATCH && filled < MAX_WAITING; filled += inBatch)
      inBatch = await this.fillBatch();
  }

  private async fillBatch(): Promise<number> {
    const rows = await this.database.query(
      sql`UPDATE records SET search = ${RECORD_WORDS}
        WHERE dataset_record_id = ANY (ARRAY(
          SELECT dataset_record_id FROM records WHERE search IS NULL LIMIT ${BATCH} FOR NO KEY UPDATE SKIP LOCKED))
        RETURNING 1`,
    );
    return rows.length;
  }
}
