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
  host: string;
  pid: number;
  /** The ids of the keys of `SECRETS_KEYS` that it holds. */
  secrets_keys: readonly string[];
  /** The id of the key with which it seals secrets. */
  sealing_key: string;
}

/** The releases that can run on the database: the oldest one, and the newest one that has migrated it. */
interface SupportedReleases {
  oldest: string;
  newest: string;
}

/** What a process learns from its heartbeat. */
interface Orders extends SupportedReleases {
  /** The id of the key with which it has to seal secrets. */
  sealing_key: string;
}

/** Seconds after its last heartbeat for which a process counts as running. */
export const ALIVE_SECONDS = 30;

/** The processes that use the database. */
@Injectable()
export class LiveProcessRepository {
  constructor(private readonly database: Database) {}

  /**
   * Records a heartbeat, and deletes processes that have not had one for a day. Returns what all processes have to follow from
   * now on.
   */
  async beat(live: LiveProcess): Promise<Orders> {
    const [row] = await this.database.query<Orders>(
      sql`WITH ended AS (DELETE FROM live_processes WHERE seen_at < now() - interval '1 day'),
        recorded AS (
          INSERT INTO live_processes
            (process_id, kind, release, host, pid, secrets_keys, sealing_key, started_at, seen_at)
          VALUES (${live.process_id}, ${live.kind}, ${live.release}, ${live.host}, ${live.pid},
            ${live.secrets_keys}, ${live.sealing_key}, now(), now())
          ON CONFLICT (process_id) DO UPDATE SET sealing_key = excluded.sealing_key, seen_at = excluded.seen_at
        )
        SELECT secret_sealed_by AS sealing_key, oldest_release AS oldest, schema_release AS newest FROM installation`,
    );
    return row!;
  }

  /** Deletes a process that stops. */
  async delete(processId: string): Promise<void> {
    await this.database.query(sql`DELETE FROM live_processes WHERE process_id = ${processId}`);
  }

  /**
   * Returns the releases that can run on the database. Waits for a migration that is raising the oldest one.
   */
  async supportedReleases(): Promise<SupportedReleases> {
    const [row] = await this.database.query<SupportedReleases>(
      sql`SELECT oldest_release AS oldest, schema_release AS newest FROM installation FOR SHARE`,
    );
    return row!;
  }

  /** Lists the processes that have had a heartbeat within 30 s. */
  list(): Promise<LiveProcess[]> {
    return this.database.query<LiveProcess>(
      sql`SELECT process_id, kind, release, host, pid, secrets_keys, sealing_key FROM live_processes
        WHERE seen_at > now() - ${ALIVE_SECONDS} * interval '1 second' ORDER BY started_at`,
    );
  }
}
