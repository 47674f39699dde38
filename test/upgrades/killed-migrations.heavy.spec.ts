import { setLogLevel } from '#platform/logging';
import { migrate } from '../../src/database/migrate';
import { finishBackfill } from './backfill.fixture';
import { UpgradedDatabase } from './migrations.fixture';
import { LATER, LATER_MIGRATIONS, NEXT, NEXT_MIGRATIONS } from './next-release.fixture';

const next = { migrations: NEXT_MIGRATIONS, release: NEXT };
const later = { migrations: LATER_MIGRATIONS, release: LATER };

/** Scores in the database: two and a half batches. */
const SCORES = 2_500;

const DAYS_MISSING = 'SELECT count(*)::int FROM scores WHERE day IS NULL';
const IS_INDEX_VALID = `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('scores_by_day')`;

beforeAll(() => setLogLevel('silent'));

describe('a migration that is killed', () => {
  let database: UpgradedDatabase;

  beforeAll(async () => {
    database = await UpgradedDatabase.create(SCORES);
  });
  afterAll(() => database.drop());

  it('while it expands the schema, has changed nothing', async () => {
    // its last statement waits
    const locks = await database.killWhileHeld('next', 'LOCK TABLE migrations IN SHARE MODE');
    expect(locks).toContainEqual(['scores', 'AccessExclusiveLock']);
    expect(await database.query(`SELECT FROM pg_proc WHERE proname = 'set_score_day'`)).toEqual([]);
  });

  it('while it builds an index, replaces it at the next start', async () => {
    const [{ name, release, steps }] = NEXT_MIGRATIONS as [(typeof NEXT_MIGRATIONS)[number]];
    await migrate(database.url, { release, migrations: [{ name, release, steps: steps.slice(0, 1) }] });
    const locks = await database.killWhileHeld('next', 'DELETE FROM scores');
    expect(locks).toEqual([['scores', 'ShareUpdateExclusiveLock']]);
    expect(await database.value(IS_INDEX_VALID)).toBe(false);
    await migrate(database.url, next);
    expect(await database.value(IS_INDEX_VALID)).toBe(true);
    const partitions = await database.query<{ is_valid: boolean; is_complete: boolean }>(`
      SELECT indisvalid AS is_valid,
        (SELECT count(*) FROM pg_inherits WHERE inhparent = indexrelid) = (SELECT count(*) FROM pg_inherits WHERE inhparent = indrelid) AS is_complete
      FROM pg_index WHERE indexrelid = 'spans_by_day'::regclass`);
    expect(partitions).toEqual([{ is_valid: true, is_complete: true }]);
  });

  it('while it runs a backfill, continues with the batch that was running', async () => {
    const row = 'SELECT score_id FROM scores ORDER BY workspace_id, score_id OFFSET 1500 LIMIT 1';
    const locks = await database.killWhileHeld(
      'backfill',
      `SELECT FROM scores WHERE score_id = (${row}) FOR UPDATE`,
    );
    expect(locks).toEqual([['scores', 'RowExclusiveLock']]);
    expect(await database.value('SELECT rows_done::int FROM backfills')).toBe(1_000);
    expect(await database.value(DAYS_MISSING)).toBe(SCORES - 1_000);
    await finishBackfill(database.url);
    expect(await database.value('SELECT rows_done::int FROM backfills')).toBe(SCORES);
    expect(await database.value(DAYS_MISSING)).toBe(0);
  });

  it('while it contracts the schema, has changed nothing, and finishes at the next start', async () => {
    const locks = await database.killWhileHeld('later', 'LOCK TABLE migrations IN SHARE MODE');
    expect(locks).toContainEqual(['scores', 'AccessExclusiveLock']);
    expect(await database.value('SELECT oldest_release FROM installation')).toBe('0.0.0');
    await migrate(database.url, later);
    expect(await database.value('SELECT oldest_release FROM installation')).toBe(NEXT);
    expect(await database.query(`SELECT FROM pg_proc WHERE proname = 'set_score_day'`)).toEqual([]);
  });
});
