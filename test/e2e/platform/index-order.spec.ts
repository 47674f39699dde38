import { indexOrdered, sql } from '#platform/db';
import { createTestApp, type TestApp } from '#testing';

describe('statements in index order', () => {
  let app: TestApp;

  beforeAll(async () => (app = await createTestApp({ env: { DATABASE_POOL_SIZE: '2' } })));
  afterAll(() => app.close());

  const settingOf = async (): Promise<string> => {
    const [row] = await app.database.query<{ setting: string }>(
      sql`SELECT current_setting('enable_sort') AS setting`,
    );
    return row!.setting;
  };

  it('return their rows, with bound values', async () => {
    const statement = sql`SELECT n, n * ${10} AS product, current_setting('enable_sort') AS sort
      FROM generate_series(1, ${3}::int) n`;
    const rows = await app.database.query(indexOrdered(statement));
    expect(rows).toEqual([1, 2, 3].map((n) => ({ n, product: n * 10, sort: 'off' })));
    expect(await app.database.query(indexOrdered(sql`SELECT 1 WHERE false`))).toEqual([]);
  });

  it('do not change the settings of their connection, whether they succeed or fail', async () => {
    await app.database.query(indexOrdered(sql`SELECT 1`));
    expect(await settingOf()).toBe('on');
    await expect(app.database.query(indexOrdered(sql`SELECT 1 / ${0}::int`))).rejects.toMatchObject({
      code: '22012',
    });
    await expect(app.database.query(indexOrdered(sql`SELECT nonsense`))).rejects.toMatchObject({
      code: '42703',
    });
    expect(await settingOf()).toBe('on');
  });

  it('run concurrently with other statements', async () => {
    const results = Array.from({ length: 40 }, (_, n) =>
      n % 2 === 0
        ? app.database.query<{ n: number }>(indexOrdered(sql`SELECT ${n}::int AS n`))
        : app.database.query<{ n: number }>(sql`SELECT ${n}::int AS n`),
    );
    expect((await Promise.all(results)).map(([row]) => row!.n)).toEqual(results.map((_, n) => n));
    expect(await settingOf()).toBe('on');
  });

  it('are planned with their settings when they are prepared, and once a connection has failed to prepare them', async () => {
    const database = app.database;
    const read = (n: number) =>
      database.query(
        indexOrdered(sql`SELECT n, current_setting('enable_sort') AS sort FROM later WHERE n >= ${n}`, true),
      );
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(read(1)).rejects.toMatchObject({ code: '42P01' });
    await database.query(`CREATE TABLE later AS SELECT generate_series(1, 2) AS n`);
    for (let n = 1; n < 12; n++) {
      expect(await Promise.all([read(1), read(2)])).toEqual([
        [1, 2].map((one) => ({ n: one, sort: 'off' })),
        [{ n: 2, sort: 'off' }],
      ]);
    }
    const [prepared] = await database.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM pg_prepared_statements WHERE statement LIKE 'SELECT n, current_setting%'`,
    );
    expect(prepared!.count).toBe(1);
    expect(await settingOf()).toBe('on');
  });
});
