import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, sql, type Tx } from '#platform/db';
import { firstDayOf } from './spend.repository';

/** Time after which the reservations of a process that does not renew them no longer count, because it has died. */
const EXPIRY_SECONDS = 60;

/** What has been spent and reserved of a subject's budget, in US dollars. */
export interface SubjectState {
  subject: string;
  /** The first day of the month. */
  month: string;
  spent_usd: number;
  /** Reserved by other processes. */
  elsewhere_usd: number;
}

/** Reads and writes what processes have reserved in budgets. */
@Injectable()
export class ReservationRepository {
  private readonly processId = randomUUID();

  constructor(private readonly database: Database) {}

  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.database.transaction(work);
  }

  /** Returns the state of subjects, and keeps other processes from reserving until the transaction ends. */
  async lock(tx: Tx, subjects: readonly string[]): Promise<SubjectState[]> {
    const all = [...subjects];
    await tx.query(
      // in the order of the keys, so that processes do not deadlock
      sql`SELECT pg_advisory_xact_lock(key) FROM (
          SELECT hashtextextended('model reservations ' || subject, 0) AS key FROM unnest(${all}::text[]) subject
          ORDER BY key) keys`,
    );
    return tx.query<SubjectState>(
      sql`WITH expired AS (
          DELETE FROM model_reservations WHERE subject = ANY (${all}::text[]) AND expires_at <= now()
        )
        SELECT subject, month::text, coalesce(spent_usd, 0) AS spent_usd, coalesce((
            SELECT sum(reserved_usd) FROM model_reservations other WHERE other.subject = asked.subject
              AND process_id <> ${this.processId} AND expires_at > now()
          ), 0) AS elsewhere_usd
        FROM (SELECT unnest(${all}::text[]) AS subject, ${firstDayOf(new Date())}::date AS month) asked
          LEFT JOIN model_spend USING (subject, month)`,
    );
  }

  /** Stores what this process has reserved, in place of what it had reserved before. */
  async put(tx: Tx, reserved: ReadonlyMap<string, number>): Promise<void> {
    await tx.query(
      sql`WITH given AS (
          SELECT * FROM unnest(${[...reserved.keys()]}::text[], ${[...reserved.values()]}::float8[]) AS given (subject, usd)
        ), ended AS (
          DELETE FROM model_reservations USING given
          WHERE model_reservations.subject = given.subject AND process_id = ${this.processId} AND usd = 0
        )
        INSERT INTO model_reservations (subject, process_id, reserved_usd, expires_at)
        SELECT subject, ${this.processId}, usd, now() + make_interval(secs => ${EXPIRY_SECONDS}) FROM given WHERE usd > 0
        ON CONFLICT (subject, process_id) DO UPDATE
          SET reserved_usd = excluded.reserved_usd, expires_at = excluded.expires_at`,
    );
  }
}
