import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, prepared, sql, type Tx } from '#platform/db';
import { firstDayOf } from './spend.repository';

/** Lifetime of a reservation that its process does not renew, in milliseconds. */
export const EXPIRY_MS = 60_000;

/** What was spent and reserved of a subject's budget, in US dollars. */
export interface SubjectState {
  subject: string;
  spent_usd: number;
  reserved_by_others_usd: number;
}

/** Reads and writes what each process has reserved in budgets. */
@Injectable()
export class ReservationRepository {
  private readonly processId = randomUUID();

  constructor(private readonly database: Database) {}

  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.database.transaction(work);
  }

  /** Returns the state of subjects, and keeps other processes from reserving more until the transaction ends. */
  async lock(tx: Tx, subjects: readonly string[]): Promise<SubjectState[]> {
    const all = [...subjects];
    await tx.query(
      prepared(
        'model-reservations.lock',
        // in the order of the keys, so that processes do not deadlock
        sql`SELECT pg_advisory_xact_lock(key) FROM (
            SELECT hashtextextended('model reservations ' || subject, 0) AS key FROM unnest(${all}::text[]) subject
            ORDER BY key) keys`,
      ),
    );
    return tx.query<SubjectState>(
      prepared(
        'model-reservations.state',
        sql`SELECT subject, coalesce(spent_usd, 0) AS spent_usd, coalesce((
              SELECT sum(reserved_usd) FROM model_reservations other WHERE other.subject = asked.subject
                AND process_id <> ${this.processId} AND expires_at > now()
            ), 0) AS reserved_by_others_usd
          FROM (SELECT unnest(${all}::text[]) AS subject, ${firstDayOf(new Date())}::date AS month) asked
            LEFT JOIN model_spend USING (subject, month)`,
      ),
    );
  }

  /** Stores what this process has reserved, by subject, instead of what it had reserved before. */
  async put(reserved: ReadonlyMap<string, number>, on: Tx | Database = this.database): Promise<void> {
    await on.query(
      prepared(
        'model-reservations.put',
        sql`WITH given AS (
            SELECT * FROM unnest(${[...reserved.keys()]}::text[], ${[...reserved.values()]}::float8[]) AS given (subject, usd)
          ), ended AS (
            DELETE FROM model_reservations USING given
            WHERE model_reservations.subject = given.subject AND process_id = ${this.processId} AND usd <= 0
          )
          INSERT INTO model_reservations (subject, process_id, reserved_usd, expires_at)
          SELECT subject, ${this.processId}, usd, now() + make_interval(secs => ${EXPIRY_MS / 1000})
          FROM given WHERE usd > 0 ORDER BY subject
          ON CONFLICT (subject, process_id) DO UPDATE
            SET reserved_usd = excluded.reserved_usd, expires_at = excluded.expires_at`,
      ),
    );
  }

  /** Deletes the reservations of processes that have died. */
  async deleteExpired(): Promise<void> {
    await this.database.query(sql`DELETE FROM model_reservations WHERE (subject, process_id) IN (
        SELECT subject, process_id FROM model_reservations WHERE expires_at <= now() FOR UPDATE SKIP LOCKED)`);
  }
}
