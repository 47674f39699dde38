import { Injectable } from '@nestjs/common';
import { Database } from './database';
import { raw, sql } from './sql';

/** Changed rows after which a table is analyzed, besides half of the rows that it had when it was last analyzed. */
const CHANGED_ROWS = 1_000;

/**
 * Keeps the planner's statistics up to date where autovacuum is slow or off. Needs a role that owns the tables.
 * Concurrent calls are safe: a table that is being vacuumed or analyzed is skipped.
 */
@Injectable()
export class StatisticsRepository {
  constructor(private readonly database: Database) {}

  /** Analyzes the tables that have outgrown their statistics. Leaves out those with `autovacuum_enabled = false`. */
  async analyzeOutgrown(): Promise<string[]> {
    const tables = await this.database.query<{ name: string }>(
      sql`SELECT c.oid::regclass::text AS name
        FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
        WHERE s.schemaname = current_schema() AND pg_has_role(c.relowner, 'USAGE')
          AND s.n_mod_since_analyze > ${CHANGED_ROWS} + greatest(c.reltuples, 0) / 2
          AND NOT coalesce(c.reloptions, '{}') && '{autovacuum_enabled=false,autovacuum_enabled=off}'
        ORDER BY c.oid`,
    );
    const names = tables.map(({ name }) => name);
    for (const name of names) await this.database.query(sql`ANALYZE (SKIP_LOCKED) ${raw(name)}`);
    return names;
  }
}
