import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { Database } from './database';
import { sql } from './sql';

/** Changed rows after which a table is analyzed, in addition to half of the rows that it had at the last analysis. */
const CHANGED_ROWS = 1_000;

/** Minimum time between two turns of a table, in ms, even after a failure, so that other tables get their turns. */
const TURN_MS = 60_000;

const UNDEFINED_TABLE = '42P01';

/**
 * Keeps the planner's statistics up to date where autovacuum is slow or off. Needs a role that owns the tables.
 * Concurrent calls are safe: a table that is being vacuumed or analyzed is skipped.
 */
@Injectable()
export class StatisticsRepository implements OnModuleDestroy {
  private readonly stopping = new AbortController();
  /** When tables last had their turns, by name. */
  private readonly turns = new Map<string, number>();

  constructor(private readonly database: Database) {}

  /** Ends the analysis of a large table, which may take minutes, so that the process can stop. */
  onModuleDestroy(): void {
    this.stopping.abort();
  }

  /**
   * Analyzes the table that has outgrown its statistics most. Skips tables with `autovacuum_enabled = false`.
   *
   * @returns its name, or null if no table has outgrown its statistics
   */
  async analyzeOutgrown(): Promise<string | null> {
    const now = Date.now();
    for (const [name, at] of this.turns) if (at <= now - TURN_MS) this.turns.delete(name);
    const name = await this.findOutgrown([...this.turns.keys()]);
    if (name === null) return null;
    this.turns.set(name, now);
    try {
      await this.database.runWithoutTimeout(`ANALYZE (SKIP_LOCKED) ${name}`, this.stopping.signal);
    } catch (error) {
      const hasVanished = (error as { code?: unknown }).code === UNDEFINED_TABLE;
      if (!hasVanished && !this.stopping.signal.aborted) throw error;
    }
    return name;
  }

  private async findOutgrown(except: readonly string[]): Promise<string | null> {
    const [table] = await this.database.query<{ name: string }>(
      sql`SELECT name FROM (
          SELECT c.oid::regclass::text AS name, s.n_mod_since_analyze AS changed,
            ${CHANGED_ROWS} + greatest(c.reltuples, 0) / 2 AS most
          FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
          WHERE s.schemaname = current_schema() AND pg_has_role(c.relowner, 'USAGE')
            AND NOT coalesce(c.reloptions, '{}') && '{autovacuum_enabled=false,autovacuum_enabled=off}'
        ) tables
        WHERE changed > most AND name <> ALL (${except}::text[])
        ORDER BY changed / most DESC LIMIT 1`,
    );
    return table?.name ?? null;
  }
}
