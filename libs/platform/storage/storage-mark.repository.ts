import { Injectable } from '@nestjs/common';
import { Database, sql, type SqlExecutor } from '#platform/db';

/** Records that the storage of this installation has its marker. */
@Injectable()
export class StorageMarkRepository {
  constructor(private readonly database: Database) {}

  async installationId(): Promise<string> {
    const [row] = await this.database.query<{ installation_id: string }>(
      sql`SELECT installation_id FROM installation`,
    );
    return row!.installation_id;
  }

  /** Tells whether the storage of this installation has ever had its marker. */
  async isMarked(): Promise<boolean> {
    const [row] = await this.database.query<{ is_marked: boolean }>(
      sql`SELECT storage_marked_at IS NOT NULL AS is_marked FROM installation`,
    );
    return row!.is_marked;
  }

  /**
   * Records the marker. Locks the record until the transaction ends.
   *
   * @returns false if it is recorded already
   */
  async record(on: SqlExecutor = this.database): Promise<boolean> {
    const recorded = await on.query(
      sql`UPDATE installation SET storage_marked_at = now() WHERE storage_marked_at IS NULL RETURNING 1`,
    );
    return recorded.length > 0;
  }

  /** Runs work that writes the first marker, in one process at a time. Does nothing if a marker is recorded already. */
  async recordFirst(writeMarker: () => Promise<void>): Promise<void> {
    await this.database.transactionAhead(async (tx) => {
      if (await this.record(tx)) await writeMarker();
    });
  }
}
