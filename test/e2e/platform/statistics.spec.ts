import { setTimeout as delay } from 'node:timers/promises';
import { StatisticsRepository } from '#platform/db';
import { ownApp } from '#testing';

describe('statistics of tables that have grown', () => {
  const app = ownApp();
  let statistics: StatisticsRepository;

  beforeEach(() => {
    statistics = new StatisticsRepository(app.database);
  });
  afterEach(() => jest.restoreAllMocks());

  /**
   * Creates a table that only `statistics` analyzes.
   * @param analysis a statement of PL/pgSQL that runs when the table is analyzed
   */
  async function createTable(name: string, rows: number, analysis?: string): Promise<void> {
    // without autovacuum, which would analyze the table or count its rows first
    await app.database.query(
      `CREATE TABLE ${name} (n int)
         WITH (autovacuum_analyze_threshold = 100000000, autovacuum_vacuum_insert_threshold = -1)`,
    );
    const define = (statement: string) =>
      app.database.query(
        `CREATE OR REPLACE FUNCTION ${name}_key(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql
           AS 'BEGIN ${statement}; RETURN n; END'`,
      );
    if (analysis !== undefined) {
      await define('NULL');
      await app.database.query(`CREATE INDEX ON ${name} (${name}_key(n))`);
    }
    await app.database.transaction(async (tx) => {
      await tx.query(`INSERT INTO ${name} SELECT generate_series(1, ${rows})`);
      // otherwise, PostgreSQL reports the changes after about a second
      await tx.query('SELECT pg_stat_force_next_flush()');
    });
    if (analysis !== undefined) await define(analysis);
  }

  const rowsOf = async (table: string): Promise<number> => {
    const [row] = await app.database.query<{ rows: number }>(
      `SELECT reltuples AS rows FROM pg_class WHERE relname = '${table}'`,
    );
    return row!.rows;
  };

  it('are collected once, except for tables that are excluded from autovacuum', async () => {
    await createTable('loaded', 5_000);
    await createTable('excluded', 5_000);
    await createTable('small', 100);
    await app.database.query('ALTER TABLE excluded SET (autovacuum_enabled = false)');
    expect(await statistics.analyzeOutgrown()).toBe('loaded');
    expect(await rowsOf('loaded')).toBe(5_000);
    expect(await rowsOf('excluded')).toBe(-1);
    expect(await rowsOf('small')).toBe(-1);
    expect(await new StatisticsRepository(app.database).analyzeOutgrown()).toBeNull();
  });

  it('are collected for other tables even if one fails, in the order of their growth', async () => {
    await createTable('failing', 40_000, 'RAISE division_by_zero');
    await createTable('larger', 20_000);
    await createTable('smaller', 10_000);
    await expect(statistics.analyzeOutgrown()).rejects.toThrow('division_by_zero');
    expect(await statistics.analyzeOutgrown()).toBe('larger');
    expect(await statistics.analyzeOutgrown()).toBe('smaller');
    expect(await statistics.analyzeOutgrown()).toBeNull();
    await app.database.query('DROP TABLE failing');
  });

  it('are not required for a table that was dropped', async () => {
    await createTable('vanishing', 5_000);
    const { runWithoutTimeout } = app.database;
    jest.spyOn(app.database, 'runWithoutTimeout').mockImplementation(async (...args) => {
      await app.database.query('DROP TABLE vanishing');
      return runWithoutTimeout.apply(app.database, args);
    });
    expect(await statistics.analyzeOutgrown()).toBe('vanishing');
    expect(await statistics.analyzeOutgrown()).toBeNull();
  });

  it('do not prevent the process from stopping', async () => {
    await createTable('slow', 5_000, 'PERFORM pg_sleep(60)');
    const analysis = statistics.analyzeOutgrown();
    const running = `SELECT pid FROM pg_stat_activity WHERE query LIKE 'ANALYZE%slow' AND state = 'active'`;
    while ((await app.database.query(running)).length === 0) await delay(50);
    statistics.onModuleDestroy();
    expect(await analysis).toBe('slow');
    await app.database.query(`SELECT pg_terminate_backend(pid) FROM (${running}) analyzing`);
  });
});
