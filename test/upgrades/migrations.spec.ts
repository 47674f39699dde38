import { createTestApp } from '#testing';
import { setLogLevel } from '#platform/logging';
import { compareReleases, RELEASE } from '#platform/release';
import { migrate, MIGRATION_LOCK } from '../../src/database/migrate';
import { MIGRATIONS } from '../../src/database/migrations';
import { isBefore, type LockMode, type Migration, stepsOf } from '../../src/database/migrations/migration';
import { planMigration } from '../../src/database/plan';
import { finishBackfill } from './backfill.fixture';
import { UpgradedDatabase } from './migrations.fixture';
import { LATER, LATER_MIGRATIONS, NEXT, NEXT_MIGRATIONS } from './next-release.fixture';

const next = { migrations: NEXT_MIGRATIONS, release: NEXT };
const later = { migrations: LATER_MIGRATIONS, release: LATER };

beforeAll(() => setLogLevel('silent'));

/** Scores in the database: two and a half batches. */
const SCORES = 2_500;

const NOTHING_TO_DO = 'Nothing to do: the database has the schema of release 1000.2.0.';
const DAYS_MISSING = 'SELECT count(*)::int FROM scores WHERE day IS NULL';

describe('an upgrade of the schema', () => {
  let database: UpgradedDatabase;

  beforeEach(async () => {
    database = await UpgradedDatabase.create(SCORES);
  });
  afterEach(() => database.drop());

  it('is announced step by step with the locks that it takes, and what they block', async () => {
    const plan = () => planMigration(database.url, later);
    expect(await plan()).toEqual([
      '9000000000001-score-days/1: expand of release 1000.1.0; ACCESS EXCLUSIVE on scores, blocks reads and writes for a moment',
      '9000000000001-score-days/2: index of release 1000.1.0; SHARE UPDATE EXCLUSIVE on scores, blocks nothing',
      '9000000000001-score-days/3: index of release 1000.1.0; SHARE UPDATE EXCLUSIVE on spans, blocks nothing; SHARE on spans itself, blocks writes for a moment; one partition after the other',
      '9000000000001-score-days/4: backfill of release 1000.1.0; ROW EXCLUSIVE on scores, blocks nothing; about 2500 rows, by a worker',
      '9000000000002-score-days-only/1: contract of release 1000.2.0; ACCESS EXCLUSIVE on scores, blocks reads and writes for a moment; afterwards, releases before 1000.1.0 cannot run; waits until a worker has finished the backfill 9000000000001-score-days/4',
    ]);
    await migrate(database.url, next);
    expect(await plan()).toEqual([
      '9000000000001-score-days/4: backfill, a worker has done 0 of about 2500 rows',
      expect.stringMatching(
        /^9000000000002-score-days-only\/1: .*; waits because a worker has not finished the backfill 9000000000001-score-days\/4 \(0 of about 2500 rows\)$/,
      ) as string,
    ]);
    await finishBackfill(database.url);
    await migrate(database.url, later);
    expect(await plan()).toEqual([NOTHING_TO_DO]);
  });

  it('fails with the name of whom it waits for if it gets no lock, changes nothing, and continues later', async () => {
    await database.whileHeld('SELECT FROM scores', () =>
      expect(migrate(database.url, { ...next, lockRetry: { attempts: 1, maxDelayMs: 0 } })).rejects.toThrow(
        /^The migration step 9000000000001-score-days\/1 did not get its lock \(ACCESS EXCLUSIVE on scores\) in 1 attempts, because it waits for process \d+ of PostgreSQL \(application "weekly report", idle in transaction, transaction open for \d+ s\) on the table scores\. End that process or wait for it, then run the migration again, which continues with this step\.$/,
      ),
    );
    expect(
      await database.query(
        `SELECT FROM pg_attribute WHERE attrelid = 'scores'::regclass AND attname = 'day'`,
      ),
    ).toEqual([]);
    await migrate(database.url, next);
    expect(await database.value(DAYS_MISSING)).toBe(SCORES);
  });

  it('names the rows that prevent a unique index, and leaves no index that refuses others', async () => {
    const step = {
      kind: 'index',
      table: 'scores',
      name: 'one_score',
      isUnique: true,
      definition: '(workspace_id)',
    } as const;
    const migrations = [{ name: '9000000000001-one-score', release: NEXT, steps: [step] }];
    await expect(migrate(database.url, { migrations, release: NEXT })).rejects.toThrow(
      /^The migration step 9000000000001-one-score\/1 cannot build the unique index one_score of scores: Key \(workspace_id\)=\(\w+\) is duplicated\. Change or delete/,
    );
    expect(await database.value(`SELECT to_regclass('one_score') IS NULL`)).toBe(true);
  });

  it('keeps what older releases use until none of them runs any more', async () => {
    await migrate(database.url, next);
    const hasTrigger = () =>
      database.value(`SELECT count(*)::int FROM pg_trigger WHERE tgname = 'score_day'`);
    await migrate(database.url, later); // the backfill has not finished
    expect(await hasTrigger()).toBe(1);
    await finishBackfill(database.url);
    await database.query(
      `INSERT INTO live_processes VALUES (gen_random_uuid(), 'api', '1000.0.9', now(), now())`,
    );
    await migrate(database.url, later);
    expect(await hasTrigger()).toBe(1);
    expect((await planMigration(database.url, later)).join()).toContain(
      'waits because processes older than release 1000.1.0 are running (api 1000.0.9); replace or stop them',
    );
    await database.query('DELETE FROM live_processes');
    await migrate(database.url, later);
    expect(await hasTrigger()).toBe(0);

    const refusal = (release: string) =>
      `This is release ${release}, but release 1000.2.0 has migrated the database, which now requires 1000.1.0 or newer. Run release 1000.2.0.`;
    await expect(migrate(database.url, { release: '1000.0.9' })).rejects.toThrow(refusal('1000.0.9'));
    // a process that has read the schema before the contract, and records itself after it
    await expect(createTestApp({ databaseUrl: database.url })).rejects.toThrow(refusal(RELEASE));
    await expect(migrate(database.url, next)).resolves.toBeUndefined();
  });

  it('is complete at once in a new installation', async () => {
    await database.query('DROP SCHEMA public CASCADE; DROP SCHEMA bullmq CASCADE; CREATE SCHEMA public');
    expect((await planMigration(database.url, later))[0]).toMatch(
      /^\d+ baselines create the schema in the empty database$/,
    );
    await migrate(database.url, later);
    expect(await planMigration(database.url, later)).toEqual([NOTHING_TO_DO]);
    expect(await database.value('SELECT oldest_release FROM installation')).toBe(NEXT);
  });

  it('lets processes of the older release start while it runs', async () => {
    await database.query(`UPDATE installation SET schema_release = '${NEXT}'`);
    await database.whileHeld(`SELECT pg_advisory_lock(${MIGRATION_LOCK})`, () => migrate(database.url));
    expect(await database.value('SELECT schema_release FROM installation')).toBe(NEXT);
  });
});

/** The rules of migrations that the text of one cannot show: their order, and what a release may remove. */
function faultsOf(migrations: readonly Migration[], release: string): string[] {
  const faults: string[] = [];
  migrations.forEach(({ name, release: own, steps }, i) => {
    const before = migrations[i - 1];
    if (!/^\d{13}-[a-z0-9-]+$/.test(name)) faults.push(`${name}: starts with its time in milliseconds`);
    if (before && name <= before.name) faults.push(`${name}: is older than ${before.name}`);
    if (before && compareReleases(own, before.release) < 0)
      faults.push(`${name}: its release runs backwards`);
    if (compareReleases(own, release) > 0)
      faults.push(`${name}: package.json has an older version than ${own}`);
    for (const step of steps) {
      if (step.kind === 'contract' && compareReleases(step.oldestRelease, own) >= 0)
        faults.push(`${name}: removes what the previous release may use`);
    }
  });
  return faults;
}

describe('every change of the schema', () => {
  const ALL = [...MIGRATIONS, ...LATER_MIGRATIONS];
  const [DAYS, DAYS_ONLY] = LATER_MIGRATIONS as [Migration, Migration];

  it('runs its steps in the order of their numbers', () => {
    const steps = Array.from({ length: 11 }, () => DAYS.steps[0]!);
    const names = stepsOf([{ ...DAYS, steps }]).map(({ name }) => name);
    expect(names.every((name, index) => names.slice(0, index).every((one) => isBefore(one, name)))).toBe(
      true,
    );
  });

  it('belongs to a release, and leaves the previous release what it uses', () => {
    expect(faultsOf(MIGRATIONS, RELEASE)).toEqual([]);
    expect(faultsOf(LATER_MIGRATIONS, LATER)).toEqual([]);
    const early = { ...DAYS_ONLY, release: NEXT };
    expect(faultsOf([early, { ...DAYS, name: 'score-days', release: '1000.0.0' }], '1000.0.9')).toEqual([
      '9000000000002-score-days-only: package.json has an older version than 1000.1.0',
      '9000000000002-score-days-only: removes what the previous release may use',
      'score-days: starts with its time in milliseconds',
      'score-days: its release runs backwards',
    ]);
  });

  it('takes only the locks that it declares, and rewrites no table', async () => {
    const database = await UpgradedDatabase.create(10, { isBaseline: true });
    for (const { name, step } of stepsOf(ALL)) {
      if (step.kind === 'backfill') continue; // killed-migrations.heavy.spec.ts kills a batch
      const sql =
        step.kind === 'index' ? `CREATE INDEX ${step.name} ON ${step.table} ${step.definition}` : step.sql;
      const { locks, rewritten } = await database.effectsOf(sql);
      if (step.kind === 'index') continue; // killed-migrations.heavy.spec.ts kills the build of one
      const declared = Object.entries(step.locks).map(([table, mode]) => [table, pascal(mode)]);
      expect({ name, locks, rewritten }).toEqual({ name, locks: declared, rewritten: [] });
    }
    await database.drop();
  });
});

/** Returns the name of a lock mode in pg_locks: `AccessExclusiveLock` for `ACCESS EXCLUSIVE`. */
const pascal = (mode: LockMode): string =>
  `${mode.toLowerCase().replace(/(?:^| )([a-z])/g, (_, letter: string) => letter.toUpperCase())}Lock`;
