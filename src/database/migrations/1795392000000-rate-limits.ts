import { SqlMigration } from './sql-migration';

/** Counters of rate limits, shared by API processes without Redis. */
export class RateLimits1795392000000 extends SqlMigration {
  protected readonly sql = `
    -- Unlogged, because a counter matters only for a minute. A crash or a failover empties the table. Most writes change only
    -- the points. The free space in each page then avoids new index entries.
    CREATE UNLOGGED TABLE rate_limits (
      -- the name of the limit, and the principal or address that is counted
      key text PRIMARY KEY,
      points integer NOT NULL,
      -- end of the window, in ms since 1970
      expire bigint NOT NULL
    ) WITH (fillfactor = 70);
    -- the periodic deletion of ended windows
    CREATE INDEX rate_limits_expire ON rate_limits (expire);
  `;
}
