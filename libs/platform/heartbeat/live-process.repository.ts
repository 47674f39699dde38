import { Injectable } from '@nestjs/common';
import { Database, sql } from '#platform/db';

/** What a process runs. `standalone` is the API and the worker in one process. */
export type ProcessKind = 'api' | 'worker' | 'standalone';

/** A process that uses the database. */
export interface LiveProcess {
  process_id: string;
  kind: ProcessKind;
  /** The version of the service, such as `0.2.0`. */
  release: string;
}

/** Seconds after its last heartbeat for which a process counts as running. */
export const ALIVE_SECONDS = 30;

/** The processes that use the database. */
@Injectable()
export class LiveProcessRepository {
  constructor(private readonly database: Database) {}

  /** Records a heartbeat, and deletes processes that have not had one for a day. */
  async beat({ process_id, kind, release }: LiveProcess): Promise<void> {
    await this.database.query(
      sql`WITH ended AS (DELETE FROM live_processes WHERE seen_at < now() - interval '1 day')
        INSERT INTO live_processes AS known (process_id, kind, release, started_at, seen_at)
        VALUES (${process_id}, ${kind}, ${release}, now(), now())
        ON CONFLICT (process_id) DO UPDATE SET seen_at = excluded.seen_at`,
    );
  }

  /** Deletes a process that stops. */
  async delete(processId: string): Promise<void> {
    await this.database.query(sql`DELETE FROM live_processes WHERE process_id = ${processId}`);
  }

  /**
   * Returns the oldest release that can run on the database, and the newest one that has migrated it. Waits for a migration
   * that is raising the oldest one.
   */
  async supportedReleases(): Promise<{ oldest: string; newest: string }> {
    const [row] = await this.database.query<{ oldest: string; newest: string }>(
      sql`SELECT oldest_release AS oldest, schema_release AS newest FROM installation FOR SHARE`,
    );
    return row!;
  }

  /** Lists the processes that have had a heartbeat within 30 s. */
  list(): Promise<LiveProcess[]> {
    return this.database.query<LiveProcess>(
      sql`SELECT process_id, kind, release FROM live_processes
        WHERE seen_at > now() - ${ALIVE_SECONDS} * interval '1 second' ORDER BY started_at`,
    );
  }
}
