import { setTimeout as delay } from 'node:timers/promises';
import { StatisticsRepository } from '#platform/db';
import { createTestApp, type TestApp } from '#testing';

describe('statistics of tables that have grown', () => {
  let app: TestApp;
  let statistics: StatisticsRepository;

  beforeAll(async () => {
    app = await createTestApp();
    statistics = new StatisticsRepository(app.database);
    for (const table of ['loaded', 'excluded', 'small']) {
      // without autovacuum, which would be faster
      await app.database.query(`CREATE TABLE ${table} (n int) WITH (autovacuum_analyze_threshold = 100000)`);
      const rows = table === 'small' ? 100 : 5_000;
      await app.database.query(`INSERT INTO ${table} SELECT generate_series(1, ${rows})`);
    }
    await app.database.query('ALTER TABLE excluded SET (autovacuum_enabled = false)');
  });
  afterAll(() => app.close());

  const rowsOf = async (table: string): Promise<number> => {
    const [row] = await app.database.query<{ rows: number }>(
      `SELECT reltuples AS rows FROM pg_class WHERE relname = '${table}'`,
    );
    return row!.rows;
  };

  it('are collected once, except for tables that are excluded from autovacuum', async () => {
    // sessions report what they changed within a second or so
    let analyzed: string[] = [];
    for (
      const until = Date.now() + 30_000;
      !analyzed.includes('loaded') && Date.now() < until;
      await delay(200)
    ) {
      analyzed = await statistics.analyzeOutgrown();
    }
    expect(await rowsOf('loaded')).toBe(5_000);
    expect(await rowsOf('excluded')).toBe(-1);
    expect(await rowsOf('small')).toBe(-1);
    await delay(1_500);
    expect(await statistics.analyzeOutgrown()).not.toContain('loaded');
  });
});
