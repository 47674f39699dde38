import { Injectable } from '@nestjs/common';
import { Database, prepared, sql } from '#platform/db';
import { toJsonText } from '#platform/json';

/** A judge's rate limit, as all processes share it. Times are in ms since 1970, by the database's clock. */
export interface SharedLimit {
  /** Requests that each process may have in flight, at least 1. */
  maxInFlight: number;
  /** No process sends a request before this time. */
  blockedUntil: number;
  /** When `maxInFlight` was last halved. */
  decreasedAt: number;
  /** When the judge last returned 429. */
  limitedAt: number;
}

/** A judge's limit, null if it has none, and the current time. */
export interface ReadLimit {
  limit: SharedLimit | null;
  now: number;
}

interface Row {
  state: SharedLimit | null;
  now: number;
}

const NOW = sql`(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;

/** The rate limits of judges, one row per judge. All workspaces share the operator's judges. */
@Injectable()
export class JudgeLimitRepository {
  constructor(private readonly database: Database) {}

  async find(judge: string): Promise<ReadLimit> {
    const [row] = await this.database.query<Row>(
      prepared(
        'judge-limit.find',
        sql`SELECT ${NOW}, (SELECT state FROM judge_limits WHERE judge = ${judge}) AS state`,
      ),
    );
    return { limit: row!.state, now: row!.now };
  }

  /** Replaces a judge's limit with the result of `rule`, under a lock. */
  change(
    judge: string,
    rule: (limit: SharedLimit | null, now: number) => SharedLimit | null,
  ): Promise<ReadLimit> {
    return this.database.transaction(async (tx) => {
      await tx.query(sql`INSERT INTO judge_limits (judge) VALUES (${judge}) ON CONFLICT DO NOTHING`);
      const [row] = await tx.query<Row>(
        sql`SELECT ${NOW}, state FROM judge_limits WHERE judge = ${judge} FOR UPDATE`,
      );
      const limit = rule(row!.state, row!.now);
      await tx.query(
        sql`UPDATE judge_limits SET state = ${limit && toJsonText(limit)}, updated_at = now() WHERE judge = ${judge}`,
      );
      return { limit, now: row!.now };
    });
  }

  /** Deletes the limits of judges that have not returned 429 for a day. */
  async deleteOld(): Promise<void> {
    await this.database.query(sql`DELETE FROM judge_limits WHERE updated_at < now() - interval '1 day'`);
  }
}
