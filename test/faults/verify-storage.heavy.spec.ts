import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, rm } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { ownApp, createTestDatabase } from '#testing';
import { FileCallers, newBytes } from '../e2e/files/files.fixture';
import { StoreOrg } from '../e2e/store/store.fixture';

// each test starts processes
jest.setTimeout(120_000);

describe('verify-storage', () => {
  const app = ownApp();
  let callers: FileCallers;

  beforeAll(async () => {
    callers = await FileCallers.of(app);
  });

  const start = (args: string[] = [], env: Record<string, string> = {}): ChildProcess =>
    spawn(process.execPath, ['scripts/start.mjs', 'verify-storage', ...args], {
      env: {
        PATH: process.env.PATH,
        DATABASE_URL: app.databaseUrl,
        STORAGE_URL: app.env.STORAGE_URL!,
        ...env,
      },
    });

  async function run(args: string[] = [], env: Record<string, string> = {}) {
    const child = start(args, env);
    const [output, notes] = await Promise.all([
      text(child.stdout!),
      text(child.stderr!),
      once(child, 'exit'),
    ]);
    const lines = output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
    const summary = lines.find((line) => 'summary' in line)?.summary;
    return { code: child.exitCode, findings: lines.filter((line) => 'finding' in line), summary, notes };
  }

  it('succeeds for a complete storage, and names the file and the release of missing bytes', async () => {
    const { view } = await callers.created(newBytes(1_000));
    const org = await StoreOrg.open(app);
    const item = await org.item();
    const complete = await run(['--hash']);
    expect(complete).toMatchObject({ code: 0, findings: [], summary: { rows: 2, objects: 2, missing: 0 } });

    await rm(await callers.objectOf(view.sha256));
    await rm(path.join(callers.storage, 'objects', org.id), { recursive: true });
    const { code, findings, summary } = await run();
    expect([code, summary]).toEqual([1, expect.objectContaining({ rows: 2, objects: 0, missing: 2 })]);
    const uses = Object.fromEntries(findings.map(({ sha256, used_by }) => [sha256, used_by]));
    expect(uses).toEqual({
      [view.sha256]: [
        { table: 'file_versions', key: { file_id: view.file_id, version_ordinal: 1 } },
        { table: 'files', key: { file_id: view.file_id } },
      ],
      [item.sha256]: [{ table: 'store_releases', key: { release_id: item.source.release_id } }],
    });
  });

  it('refuses a storage without its marker until an operator accepts it, but not one that lacks bytes', async () => {
    const { view } = await callers.created(newBytes(1_000));
    const moved = `${callers.storage}.moved`;
    const env = { STORAGE_URL: pathToFileURL(moved).href };
    const refused = await run([], env);
    expect([refused.code, refused.summary]).toEqual([2, undefined]);
    expect(refused.notes).toMatch(/lacks the marker .*volume is mounted.*verify-storage --mark/);
    const empty = await run(['--mark'], env);
    expect([empty.code, empty.notes]).toEqual([1, expect.stringContaining('add --force')]);

    await cp(path.join(callers.storage, 'objects'), path.join(moved, 'objects'), { recursive: true });
    await rm(path.join(moved, 'objects/.agent-registry.json'));
    // the test before has lost two objects for good
    await app.database.query(`DELETE FROM store_releases`);
    await app.database.query(`DELETE FROM file_versions WHERE sha256 <> $1`, [view.sha256]);
    await app.database.query(`DELETE FROM files WHERE sha256 <> $1`, [view.sha256]);
    await app.database.query(`DELETE FROM blobs WHERE sha256 <> $1`, [view.sha256]);
    expect(await run(['--mark'], env)).toMatchObject({ code: 0, summary: { missing: 0 } });
    expect(await run([], env)).toMatchObject({ code: 0, notes: '' });
    await rm(moved, { recursive: true });
  });

  it('can be killed at any time, and then finds the same', async () => {
    await app.database.query(
      `INSERT INTO blobs SELECT $1, n::text, 1, 0, $1 || '/' || n FROM generate_series(1, 20000) n`,
      [callers.org.orgId],
    );
    const child = start();
    await once(child.stdout!, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    const { code, summary } = await run();
    expect([code, summary.missing]).toEqual([1, 20_000]);
  });

  it('says what to do about a database without the schema, one that is away, and a storage that cannot be read', async () => {
    const other = await createTestDatabase();
    const away = new URL(other.url);
    away.pathname = '/no_such_database';
    await expect(run([], { DATABASE_URL: away.href })).resolves.toMatchObject({
      code: 2,
      notes: expect.stringContaining('check DATABASE_URL'),
    });
    await expect(run([], { STORAGE_URL: 'file:///dev/null/none' })).resolves.toMatchObject({
      code: 2,
      notes: expect.stringContaining('check STORAGE_URL'),
    });
    await expect(run([], { DATABASE_URL: '', DATA_DIR: '/dev/null/none' })).resolves.toMatchObject({
      code: 2,
      notes: expect.stringContaining('Set DATABASE_URL'),
    });
    await other.drop();
  });
});
