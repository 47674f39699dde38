import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { ApiClient, createTestDatabase, type TestDatabase, until } from '#testing';
import { setLogLevel } from '#platform/logging';
import { migrate } from '../../src/database/migrate';
import { MixedLoad } from './mixed-load.fixture';
import { INSERT_SCORES, LATER, LATER_MIGRATIONS, NEXT } from './next-release.fixture';
import { Release } from './release.fixture';

/** The commit of the previous release. */
const PREVIOUS = readFileSync('test/upgrades/baseline', 'utf8').trim();

const SCORES = 20_000;
/** Requests of each part of the upgrade. */
const REQUESTS = 100;

const isInHistory = spawnSync('git', ['cat-file', '-e', `${PREVIOUS}^{commit}`]).status === 0;

describe('a rolling upgrade from the previous release to the next one', () => {
  if (!isInHistory) {
    process.stderr.write(`\nWARNING (git): the upgrade from ${PREVIOUS} was NOT tested.\n`);
    it('was NOT tested: the commit of the previous release is not in the history (git fetch --unshallow)', () => {
      expect(isInHistory).toBe(false);
    });
    return;
  }

  let directory: string;
  let database: TestDatabase;
  let session: Client;
  let previous: Release;
  let next: Release;

  beforeAll(async () => {
    setLogLevel('silent');
    directory = mkdtempSync(path.join(os.tmpdir(), 'upgrade-'));
    database = await createTestDatabase();
    session = new Client({ connectionString: database.url });
    await session.connect();
    await session.query('DROP SCHEMA public CASCADE; DROP SCHEMA bullmq CASCADE; CREATE SCHEMA public');
    const env = {
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_URL: database.url,
      STORAGE_URL: pathToFileURL(path.join(directory, 'storage')).href,
      SECRETS_KEY: randomBytes(32).toString('base64'),
      EVENT_LOOP_DELAY_LIMIT_MS: '60000', // on a slow machine
    };
    previous = Release.previous(PREVIOUS, path.join(directory, 'previous'), env);
    next = Release.next(NEXT, path.join(directory, 'next'), env);
  }, 300_000);
  afterAll(async () => {
    await Promise.all([previous?.remove(), next?.remove()]);
    await session.end();
    await database.drop();
    rmSync(directory, { recursive: true });
  });

  const count = async (statement: string): Promise<unknown> => {
    const { rows } = await session.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${statement}`,
    );
    return rows[0]!.count;
  };

  it('fails no request, and loses nothing that either of them writes', async () => {
    const { workspace_id, api_key } = JSON.parse(await previous.run('bootstrap')) as Record<string, string>;
    await session.query(INSERT_SCORES(SCORES));
    const client = (process: { url: string }) => new ApiClient(process.url, api_key!, workspace_id!);

    let [oldApi, oldWorker] = await Promise.all([previous.api(), previous.worker()]);
    let newApi = oldApi; // until it runs
    const load = new MixedLoad(workspace_id!);
    for (let n = 0; n < 2; n++) {
      load.add(() => ({ writer: client(oldApi), reader: client(newApi) }));
      load.add(() => ({ writer: client(newApi), reader: client(oldApi) }));
    }
    await load.proceed(REQUESTS);
    await next.run('migrate');
    const started = await Promise.all([next.api(), next.worker()]);
    newApi = started[0];
    await load.proceed(REQUESTS);

    // pods of the previous release restart
    const stopped = [oldApi, oldWorker];
    [oldApi, oldWorker] = await Promise.all([previous.api(), previous.worker()]);
    await load.proceed(REQUESTS);
    expect(await Promise.all(stopped.map((process) => process.stop()))).toEqual([0, 0]);
    await until(async () => (await count('backfills WHERE finished_at IS NULL')) === 0);
    await load.proceed(REQUESTS);
    await load.stop();
    expect(load.failures).toEqual([]);
    expect([...previous.processes, ...next.processes].flatMap(({ errors }) => errors)).toEqual([]);
    // the next release finds every score by its day, also those of the previous release
    expect(await count('scores WHERE day IS NULL')).toBe(0);
    expect(await count('scores')).toBeGreaterThan(SCORES);

    // what the previous release uses goes only after its processes
    const hasTrigger = () => count(`pg_trigger WHERE tgname = 'score_day'`);
    await migrate(database.url, { migrations: LATER_MIGRATIONS, release: LATER });
    expect(await hasTrigger()).toBe(1);
    expect(await Promise.all([oldApi.stop(), oldWorker.stop()])).toEqual([0, 0]);
    await migrate(database.url, { migrations: LATER_MIGRATIONS, release: LATER });
    expect(await hasTrigger()).toBe(0);
    for (const entry of ['main', 'worker', 'migrate', 'bootstrap']) {
      const { code, output, errors } = await previous.end(entry);
      expect([entry, code]).toEqual([entry, 1]);
      expect(output + errors).toContain(`now requires ${NEXT} or newer. Run release ${LATER}.`);
    }
  }, 300_000);
});
