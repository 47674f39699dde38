import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { until } from '#testing';
import {
  psColumn,
  closedDirectory,
  endNodes,
  isAlive,
  NodeWithServer,
  orphanServer,
  query,
  serverPid,
  withServer,
} from './embedded-postgres.harness';

const SAVED = [{ word: 'kept' }];
const READ = 'SELECT word FROM saved';

describe('embedded PostgreSQL', () => {
  let home: string;
  let dataDir: string;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    home = closedDirectory();
    dataDir = path.join(home, 'database');
    await withServer(dataDir, async (url) => {
      await query(url, `CREATE TABLE saved AS SELECT 'kept' AS word`);
    });
  });

  afterEach(endNodes);

  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(home, { recursive: true });
  });

  /** Starts a process as the server's user. PostgreSQL alone would mistake its pid for a running server. */
  async function processOfServersUser(command: string): Promise<string> {
    const { uid, gid } = statSync(path.join(dataDir, 'cluster'));
    const child = spawn('sh', ['-c', command], { uid, gid, cwd: '/', stdio: ['ignore', 'pipe', 'ignore'] });
    children.push(child);
    const [output] = (await once(child.stdout, 'data')) as [Buffer];
    return output.toString().trim();
  }

  it('keeps its data across restarts', async () => {
    expect(await withServer(dataDir, (url) => query(url, READ))).toEqual(SAVED);
  });

  it('requires the password, and listens on 127.0.0.1 only', async () => {
    await withServer(dataDir, async (url) => {
      for (const user of ['registry', 'postgres']) {
        const guess = new URL(url);
        guess.username = user;
        guess.password = 'guess';
        await expect(query(guess.toString(), 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
      }
      const superuser = new URL(url);
      superuser.username = 'postgres';
      const listeners = `SELECT setting FROM pg_settings WHERE name ~ '^(listen_addresses|unix_socket_directories)$' ORDER BY 1`;
      expect(await query(superuser.toString(), listeners)).toEqual([
        { setting: '' },
        { setting: '127.0.0.1' },
      ]);
      expect(statSync(path.join(dataDir, 'cluster/embedded-postgres.password')).mode & 0o777).toBe(0o600);
      expect(statSync(path.join(dataDir, 'cluster')).mode & 0o777).toBe(0o700);
    });
  });

  it('runs as an unprivileged user, without a superuser role, even below a directory closed to others', async () => {
    expect(statSync(home).mode & 0o777).toBe(0o700);
    await withServer(dataDir, async (url) => {
      const own = process.getuid?.();
      const uids = ['uid', 'ruid'].map((column) => Number(psColumn(serverPid(dataDir), column)));
      if (own === 0) expect(uids).not.toContain(0);
      else expect(uids).toEqual([own, own]);
      expect(
        await query(url, 'SELECT usesuper, usecreatedb FROM pg_user WHERE usename = current_user'),
      ).toEqual([{ usesuper: false, usecreatedb: false }]);
    });
  });

  it('sorts by code point on every system, and folds the case of all letters', async () => {
    const rows = await withServer(dataDir, (url) =>
      query(
        url,
        `SELECT 'a' < 'B' AS a_first, 'ÜBER' ILIKE 'über' AS folds, pg_encoding_to_char(encoding) AS encoding
                  FROM pg_database WHERE datname = current_database()`,
      ),
    );
    expect(rows).toEqual([{ a_first: false, folds: true, encoding: 'UTF8' }]);
  });

  it('logs no values of statements, even if a statement fails', async () => {
    await withServer(dataDir, async (url) => {
      await expect(query(url, `SELECT 'confidential' / 0`)).rejects.toThrow();
    });
    expect(readFileSync(path.join(dataDir, 'server.log'), 'utf8')).not.toContain('confidential');
  });

  it('does not pass its environment, which may contain secrets, to the server', async () => {
    process.env.SECRET_OF_THE_SERVICE = 'confidential';
    await withServer(dataDir, async () => {
      const environment = psColumn(serverPid(dataDir), 'command', 'eww');
      expect(environment).toContain('TZ=UTC');
      expect(environment).not.toContain('confidential');
      await Promise.resolve();
    });
    delete process.env.SECRET_OF_THE_SERVICE;
  });

  it('ends when its Node process is killed, and keeps the data for the next start', async () => {
    const node = new NodeWithServer(dataDir);
    await query(await node.url(), `CREATE TABLE of_the_killed AS SELECT 'written' AS word`);
    const pid = serverPid(dataDir);
    await node.kill();
    await until(() => !isAlive(pid));
    expect(await withServer(dataDir, (url) => query(url, 'SELECT word FROM of_the_killed'))).toEqual([
      { word: 'written' },
    ]);
  });

  it('starts immediately after such a kill, while the old server is still shutting down', async () => {
    const node = new NodeWithServer(dataDir);
    await node.url();
    await node.kill();
    expect(await withServer(dataDir, (url) => query(url, READ))).toEqual(SAVED);
  });

  it('ends an orphaned server, and starts its own', async () => {
    const node = new NodeWithServer(dataDir);
    await node.url();
    const orphan = await orphanServer(node, dataDir);
    expect(isAlive(orphan)).toBe(true);
    expect(await withServer(dataDir, (url) => query(url, READ))).toEqual(SAVED);
    expect(isAlive(orphan)).toBe(false);
  });

  const STALE: [string, () => Promise<string>][] = [
    ['a process that has ended', async () => processOfServersUser('echo $$')],
    ['another program', async () => processOfServersUser('echo $$; exec sleep 600')],
    ['a zombie', async () => processOfServersUser('sleep 0 & echo $!; exec sleep 600')],
    ['no process, because it is damaged', () => Promise.resolve('')],
  ];

  it.each(STALE)('starts despite a stale postmaster.pid that names %s', async (_, pidOf) => {
    const pid = await pidOf();
    writeFileSync(
      path.join(dataDir, 'cluster/postmaster.pid'),
      `${pid}\n${dataDir}/cluster\n0\n5432\n\n\n0 0\nready\n`,
    );
    expect(await withServer(dataDir, (url) => query(url, READ))).toEqual(SAVED);
  });

  it('does not touch the program whose pid a stale postmaster.pid names', async () => {
    const pid = await processOfServersUser('echo $$; exec sleep 600');
    writeFileSync(path.join(dataDir, 'cluster/postmaster.pid'), `${pid}\n${dataDir}/cluster\n0\n5432\n`);
    await withServer(dataDir, (url) => query(url, READ));
    expect(psColumn(Number(pid), 'command')).toContain('sleep');
  });

  it('rejects a second process on its directory, and keeps serving the first', async () => {
    const first = new NodeWithServer(dataDir);
    const url = await first.url();
    const second = new NodeWithServer(dataDir);
    expect((await second.outcome).error).toContain(`is in use by process ${first.pid}`);
    expect(await query(url, READ)).toEqual(SAVED);
    await Promise.all([first.stop(), second.stop()]);
  });

  it('rejects a second server of the same process on its directory', async () => {
    await withServer(dataDir, async (url) => {
      await expect(withServer(dataDir, (other) => query(other, READ))).rejects.toThrow(
        `is in use by process ${process.pid}`,
      );
      expect(await query(url, READ)).toEqual(SAVED);
    });
  });

  it('gives a new directory to exactly one of two processes that start at the same time', async () => {
    const contested = path.join(home, 'contested');
    const nodes = [new NodeWithServer(contested), new NodeWithServer(contested)];
    const outcomes = await Promise.all(nodes.map((node) => node.outcome));
    expect(outcomes.filter(({ url }) => url)).toHaveLength(1);
    expect(outcomes.filter(({ error }) => error?.includes('is in use by process'))).toHaveLength(1);
    await Promise.all(nodes.map((node) => node.stop()));
  });

  it('does not use a database whose creation was interrupted', async () => {
    const cut = path.join(home, 'cut');
    const node = new NodeWithServer(cut);
    await until(
      () =>
        existsSync(cut) &&
        readdirSync(cut).some(
          (name) => name.startsWith('init-') && existsSync(path.join(cut, name, 'cluster/PG_VERSION')),
        ),
    );
    await node.kill();
    expect(existsSync(path.join(cut, 'cluster'))).toBe(false);
    expect(await withServer(cut, (url) => query(url, 'SELECT 1 AS one'))).toEqual([{ one: 1 }]);
    expect(readdirSync(cut).sort()).toEqual(['cluster', 'server.log', 'server.pipe']);
  });

  it('rejects data of another major version, and leaves it unchanged', async () => {
    const version = path.join(dataDir, 'cluster/PG_VERSION');
    const original = readFileSync(version, 'utf8');
    writeFileSync(version, '15\n');
    await expect(withServer(dataDir, (url) => query(url, READ))).rejects.toThrow(
      'was created by PostgreSQL 15',
    );
    writeFileSync(version, original);
    expect(await withServer(dataDir, (url) => query(url, READ))).toEqual(SAVED);
  });

  it('rejects a directory that contains other files, and removes nothing', async () => {
    const foreign = path.join(home, 'foreign');
    mkdirSync(path.join(foreign, 'cluster'), { recursive: true });
    writeFileSync(path.join(foreign, 'cluster/thesis'), '');
    await expect(withServer(foreign, () => Promise.resolve())).rejects.toThrow(
      'is not a PostgreSQL data directory',
    );
    expect(readdirSync(path.join(foreign, 'cluster'))).toEqual(['thesis']);
  });
});

describe('ephemeral embedded PostgreSQL', () => {
  afterEach(endNodes);

  it('leaves neither a server nor a directory when its Node process is killed', async () => {
    const directory = closedDirectory();
    const node = new NodeWithServer(directory, 'ephemeral');
    await node.url();
    const pid = serverPid(directory);
    await node.kill();
    await until(() => !isAlive(pid) && !existsSync(directory));
  });

  it('rejects a directory that is not empty, because it would delete the directory', async () => {
    const directory = closedDirectory();
    writeFileSync(path.join(directory, 'precious'), '');
    const node = new NodeWithServer(directory, 'ephemeral');
    expect((await node.outcome).error).toContain('is not empty');
    await node.stop();
    expect(readdirSync(directory)).toEqual(['precious']);
    rmSync(directory, { recursive: true });
  });
});
