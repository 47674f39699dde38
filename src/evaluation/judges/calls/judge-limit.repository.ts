import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import { toJsonText } from '#platform/json';
import { type Asked, decreased, exchanged, type Limited, type SharedLimit } from './limit-rules';

/** What a process learns of a judge's limit. */
export interface LimitState {
  /** Requests that may be under way over all processes; null where there is no limit. */
  limit: number | null;
  /** How many of those that it wants it may begin. */
  granted: number;
  /** How long nobody is to ask, in ms. */
  blockedMs: number;
}

interface Found {
  now: number;
  state: SharedLimit | null;
}

const FIND = {
  name: 'judge-limit.find',
  text: `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, state FROM judge_limits
    WHERE judge = $1 FOR UPDATE`,
};

/** The limits of judges, which all processes share. They are the operator's, the same for all workspaces. */
@Injectable()
export class JudgeLimitRepository {
  constructor(private readonly database: Database) {}

  /** Tells what a process holds of a judge's limit, and takes what it wants of it as far as there is any. */
  exchange(judge: string, asked: Asked): Promise<LimitState> {
    return this.database.transaction(async (tx) => {
      const found = await find(tx, judge);
      if (!found?.state) return { limit: null, granted: asked.wanted, blockedMs: 0 };
      const { limit, granted } = exchanged(found.state, asked, found.now);
      await write(tx, judge, limit);
      return stateOf(limit, granted, found.now);
    });
  }

  /** Tells that the judge answered 429. */
  decrease(judge: string, limited: Limited): Promise<LimitState> {
    return this.database.transaction(async (tx) => {
      await tx.query('INSERT INTO judge_limits (judge) VALUES ($1) ON CONFLICT DO NOTHING', [judge]);
      const { state, now } = (await find(tx, judge))!;
      const limit = decreased(state, limited, now);
      await write(tx, judge, limit);
      return stateOf(limit, 0, now);
    });
  }

  /** Forgets judges that have not been asked for a day. */
  async prune(): Promise<void> {
    await this.database.query(`DELETE FROM judge_limits WHERE updated_at < now() - interval '1 day'`);
  }
}

const find = async (tx: Tx, judge: string): Promise<Found | undefined> =>
  (await tx.query<Found>(FIND, [judge]))[0];

const write = async (tx: Tx, judge: string, state: SharedLimit | null): Promise<void> => {
  await tx.query('UPDATE judge_limits SET state = $2, updated_at = now() WHERE judge = $1', [
    judge,
    state && toJsonText(state),
  ]);
};

const stateOf = (limit: SharedLimit | null, granted: number, now: number): LimitState => ({
  limit: limit && limit.maxInFlight,
  granted,
  blockedMs: limit ? Math.max(0, limit.blockedUntil - now) : 0,
});
