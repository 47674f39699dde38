import { Injectable } from '@nestjs/common';
import { Database, prepared, sql } from '#platform/db';
import { toJsonText } from '#platform/json';

/** A model's rate limit, as all processes share it. Times are in ms since 1970, by the database's clock. */
export interface SharedLimit {
  /** Requests that each process may have in flight, at least 1. */
  maxInFlight: number;
  /** No process sends a request before this time. */
  blockedUntil: number;
  /** When `maxInFlight` was last halved. */
  decreasedAt: number;
  /** When the model last returned 429. */
  limitedAt: number;
}

/** A model's limit, null if it has none, and the current time. */
export interface ReadLimit {
  limit: SharedLimit | null;
  now: number;
}

const NOW = sql`(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;

/** Stores the rate limits that models have shown. */
@Injectable()
export class LearnedLimitRepository {
  constructor(private readonly database: Database) {}

  /** Returns the limit of a model. */
  async find(model: string): Promise<ReadLimit> {
    const [row] = await this.database.query<ReadLimit>(
      prepared(
        'learned-limit.find',
        sql`SELECT ${NOW}, (SELECT state FROM model_limits WHERE model = ${model}) AS "limit"`,
      ),
    );
    return row!;
  }

  /** Replaces a model's limit with the result of `rule`, under a lock. */
  change(
    model: string,
    rule: (limit: SharedLimit | null, now: number) => SharedLimit | null,
  ): Promise<ReadLimit> {
    return this.database.transaction(async (tx) => {
      await tx.query(sql`INSERT INTO model_limits (model) VALUES (${model}) ON CONFLICT DO NOTHING`);
      const [row] = await tx.query<ReadLimit>(
        sql`SELECT ${NOW}, state AS "limit" FROM model_limits WHERE model = ${model} FOR UPDATE`,
      );
      const { now } = row!;
      const limit = rule(row!.limit, now);
      await tx.query(
        sql`UPDATE model_limits SET state = ${limit && toJsonText(limit)}, updated_at = now() WHERE model = ${model}`,
      );
      return { limit, now };
    });
  }

  /** Deletes the limits of models that have not returned 429 for a day. */
  async deleteOld(): Promise<void> {
    await this.database.query(sql`DELETE FROM model_limits WHERE updated_at < now() - interval '1 day'`);
  }
}
