import { rmSync } from 'node:fs';
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
  let dataDir: string;

  beforeAll(async () => {
    home = closedDirectory();
    dataDir = path.join(home, 'database');
    await withServer(dataDir, (url) => query(url, `CREATE TABLE saved AS SELECT 'kept' AS word`));
  });
  afterEach(endNodes);
  afterAll(() => rmSync(home, { recursive: true }));

  const expectInUse = async (kind: 'durable' | 'in a container', url: string) => {
    const second = new NodeWithServer(dataDir, kind);
    expect((await second.outcome).error).toContain(`The database directory ${dataDir} is in use by`);
    expect(await query(url, READ)).toEqual(SAVED);
    await second.stop();
  };

  it('rejects a container on the directory of a process outside', async () => {
    const first = new NodeWithServer(dataDir);
    await expectInUse('in a container', await first.url());
    await first.stop();
  });

  it('rejects another container, and a process outside, on the directory of a container', async () => {
    const first = new NodeWithServer(dataDir, 'in a container');
    const url = await first.url();
    await expectInUse('durable', url);
    await expectInUse('in a container', url);
    await first.stop();
  });

  it('rejects a container while the other process is paused and looks dead', async () => {
    const first = new NodeWithServer(dataDir);
    const url = await first.url();
    process.kill(first.pid, 'SIGSTOP');
    await expectInUse('in a container', url);
    process.kill(first.pid, 'SIGCONT');
    await first.stop();
  });

  it('rejects a container while the server of a killed process is still running', async () => {
    const node = new NodeWithServer(dataDir);
    const url = await node.url();
    const orphan = await orphanServer(node, dataDir);
    await expectInUse('in a container', url);
    process.kill(orphan, 'SIGINT');
    await until(() => !isAlive(orphan));
    const next = new NodeWithServer(dataDir, 'in a container');
    expect(await query(await next.url(), READ)).toEqual(SAVED);
    await next.stop();
  });

  it('starts in a new container, and outside, immediately after the container was killed', async () => {
    const killed = new NodeWithServer(dataDir, 'in a container');
    await killed.url();
    await killed.kill();
    const next = new NodeWithServer(dataDir, 'in a container');
    expect(await query(await next.url(), READ)).toEqual(SAVED);
    await next.kill();
    expect(await withServer(dataDir, (url) => query(url, READ))).toEqual(SAVED);
  });

  it('gives a directory to exactly one of two containers that start at the same time', async () => {
    const contested = path.join(home, 'contested');
    const nodes = [1, 2].map(() => new NodeWithServer(contested, 'in a container'));
    const outcomes = await Promise.all(nodes.map((node) => node.outcome));
    expect(outcomes.filter(({ url }) => url)).toHaveLength(1);
    expect(outcomes.filter(({ error }) => error?.includes('is in use by process'))).toHaveLength(1);
    await Promise.all(nodes.map((node) => node.stop()));
  });

  it('starts as root without ptrace, and ends the orphaned server of such a start', async () => {
    const first = new NodeWithServer(dataDir, 'without ptrace');
    expect(await query(await first.url(), READ)).toEqual(SAVED);
    const orphan = await orphanServer(first, dataDir);
    const next = new NodeWithServer(dataDir, 'without ptrace');
    expect(await query(await next.url(), READ)).toEqual(SAVED);
    expect(isAlive(orphan)).toBe(false);
    await next.stop();
  });
});
