import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { until } from '#testing';
import {
  closedDirectory,
  describeWithContainers,
  endNodes,
  isAlive,
  NodeWithServer,
  orphanServer,
  query,
  withServer,
} from './embedded-postgres.harness';

const SAVED = [{ word: 'kept' }];
const READ = 'SELECT word FROM saved';

/** Containers that mount the same directory cannot see each other's processes, only their changes to it. */
describeWithContainers('embedded PostgreSQL', () => {
  let home: string;
  let saved: string;

  beforeAll(async () => {
    home = closedDirectory();
    saved = path.join(home, 'database');
    await withServer(saved, (url) => query(url, `CREATE TABLE saved AS SELECT 'kept' AS word`));
  });
  afterAll(async () => {
    await endNodes();
    rmSync(home, { recursive: true });
  });

  /** Returns a copy of the directory for one test. The tests run at once, because a start waits for signs of another process. */
  const ownCopy = (): string => {
    const copy = mkdtempSync(path.join(home, 'copy-'));
    execFileSync('cp', ['-a', `${saved}/.`, copy]);
    return copy;
  };

  const expectInUse = async (kind: 'durable' | 'in a container', dataDir: string, url: string) => {
    const second = new NodeWithServer(dataDir, kind);
    expect((await second.outcome).error).toContain(`The database directory ${dataDir} is in use by`);
    expect(await query(url, READ)).toEqual(SAVED);
    await second.stop();
  };

  it.concurrent('rejects a container on the directory of a process outside', async () => {
    const dataDir = ownCopy();
    const first = new NodeWithServer(dataDir);
    await expectInUse('in a container', dataDir, await first.url());
    await first.stop();
  });

  it.concurrent('rejects another container, and a process outside, on the directory of a container', async () => {
    const dataDir = ownCopy();
    const first = new NodeWithServer(dataDir, 'in a container');
    const url = await first.url();
    await Promise.all([expectInUse('durable', dataDir, url), expectInUse('in a container', dataDir, url)]);
    await first.stop();
  });

  it.concurrent('rejects a container while the other process is paused and looks dead', async () => {
    const dataDir = ownCopy();
    const first = new NodeWithServer(dataDir);
    const url = await first.url();
    process.kill(first.pid, 'SIGSTOP');
    await expectInUse('in a container', dataDir, url);
    process.kill(first.pid, 'SIGCONT');
    await first.stop();
  });

  it.concurrent('rejects a container while the server of a killed process is still running', async () => {
    const dataDir = ownCopy();
    const node = new NodeWithServer(dataDir);
    const url = await node.url();
    const orphan = await orphanServer(node, dataDir);
    await expectInUse('in a container', dataDir, url);
    process.kill(orphan, 'SIGINT');
    await until(() => !isAlive(orphan));
    const next = new NodeWithServer(dataDir, 'in a container');
    expect(await query(await next.url(), READ)).toEqual(SAVED);
    await next.stop();
  });

  it.concurrent('starts in a new container, and outside, immediately after the container was killed', async () => {
    const dataDir = ownCopy();
    const killed = new NodeWithServer(dataDir, 'in a container');
    await killed.url();
    await killed.kill();
    const next = new NodeWithServer(dataDir, 'in a container');
    expect(await query(await next.url(), READ)).toEqual(SAVED);
    await next.kill();
    expect(await withServer(dataDir, (url) => query(url, READ))).toEqual(SAVED);
  });

  it.concurrent('gives a directory to exactly one of two containers that start at the same time', async () => {
    const contested = path.join(home, 'contested');
    const nodes = [1, 2].map(() => new NodeWithServer(contested, 'in a container'));
    const outcomes = await Promise.all(nodes.map((node) => node.outcome));
    expect(outcomes.filter(({ url }) => url)).toHaveLength(1);
    expect(outcomes.filter(({ error }) => error?.includes('is in use by process'))).toHaveLength(1);
    await Promise.all(nodes.map((node) => node.stop()));
  });

  it.concurrent('starts as root without ptrace, and ends the orphaned server of such a start', async () => {
    const dataDir = ownCopy();
    const first = new NodeWithServer(dataDir, 'without ptrace');
    expect(await query(await first.url(), READ)).toEqual(SAVED);
    const orphan = await orphanServer(first, dataDir);
    const next = new NodeWithServer(dataDir, 'without ptrace');
    expect(await query(await next.url(), READ)).toEqual(SAVED);
    expect(isAlive(orphan)).toBe(false);
    await next.stop();
  });
});
