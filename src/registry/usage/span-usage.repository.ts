import { Injectable } from '@nestjs/common';
import { BulkColumns, Database, sql } from '#platform/db';

/** Spans of an organization on a day, such as `2026-03-01` (UTC). */
export interface SpanCount {
  orgId: string;
  day: string;
  spans: number;
}

const COUNTS = new BulkColumns<SpanCount>([
  { name: 'org_id', type: 'text', value: ({ orgId }) => orgId },
  { name: 'day', type: 'date', value: ({ day }) => day },
  { name: 'spans', type: 'int8', value: ({ spans }) => spans },
]);

/** Counts the spans that organizations send. Uses one row for each organization, which has the count of the last day. */
@Injectable()
export class SpanUsageRepository {
  constructor(private readonly database: Database) {}

  /** Returns the spans of an organization on a day. */
  async find(orgId: string, day: string): Promise<number> {
    const [row] = await this.database.query<{ spans: number }>(
      sql`SELECT spans FROM span_usage WHERE org_id = ${orgId} AND day = ${day}::date`,
    );
    return row?.spans ?? 0;
  }

  /**
   * Adds spans, and returns the sums of the day.
   *
   * @param counts of distinct organizations, sorted so that concurrent statements do not deadlock
   */
  async add(counts: readonly SpanCount[]): Promise<SpanCount[]> {
    return this.database.write<SpanCount>(
      sql`INSERT INTO span_usage AS present (org_id, day, spans)
        SELECT org_id, day, spans FROM ${COUNTS.table(counts, 'input')}
        ON CONFLICT (org_id) DO UPDATE SET
          day = excluded.day,
          spans = CASE WHEN present.day = excluded.day THEN present.spans ELSE 0 END + excluded.spans
        WHERE present.day <= excluded.day
        RETURNING org_id AS "orgId", day::text, spans`,
    );
  }
}
