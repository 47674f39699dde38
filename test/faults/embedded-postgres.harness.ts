import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '#platform/embedded-postgres';

/** Creates a temporary directory that is closed to all other users, like root's home. */
export function closedDirectory(): string {
  return mkdtempSync(path.join(os.tmpdir(), 'embedded-postgres-'));
}

/** Starts a server in this process, does the work, and stops it. */
export async function withServer<T>(dataDir: string, work: (url: string) => Promise<T>): Promise<T> {
  const server = await startEmbeddedPostgres({ dataDir });
  try {
    return await work(server.url);
  } finally {
    await server.stop();
  }
}

/** Runs a statement over a new connection. Returns the rows. */
export async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Runs a command as in a container that mounts the directory: with separate processes and shared memory. */
export const CONTAINER = ['unshare', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];

/** Runs a command as root in a container with Docker's defaults, which cannot inspect other users' processes. */
export const WITHOUT_PTRACE = ['setpriv', '--bounding-set=-sys_ptrace', '--inh-caps=-sys_ptrace'];

/** Runs a suite that needs containers. If this user cannot create any, warns that the suite has not run. */
export function describeWithContainers(name: string, suite: () => void): void {
  const [command, ...args] = [...CONTAINER, 'true'];
  const { status, error, stderr } = spawnSync(command!, args, { encoding: 'utf8' });
  if (status === 0) {
    describe(name, suite);
    return;
  }
  const reason = error?.message ?? stderr.trim();
  process.stderr.write(`\nWARNING: "${name}" was NOT tested with containers: ${reason}\n`);
  it(`${name} was NOT tested with containers: this user cannot create one (unshare, as root)`, () => {
    expect(status).not.toBe(0);
  });
}

const started = new Set<NodeWithServer>();

/** Ends processes that a failed test left running. For `afterEach`. */
export async function endNodes(): Promise<void> {
  await Promise.all([...started].map((node) => node.kill()));
}

type Kind = 'durable' | 'ephemeral' | 'in a container' | 'without ptrace';

const WRAPPERS: Partial<Record<Kind, readonly string[]>> = {
  'in a container': CONTAINER,
  'without ptrace': WITHOUT_PTRACE,
};

/** A Node process that runs an embedded PostgreSQL, see embedded-postgres.child.ts. */
export class NodeWithServer {
  /** The result of the start. */
  readonly outcome: Promise<{ url?: string; error?: string }>;
  readonly pid: number;
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;

  constructor(dataDir: string, kind: Kind = 'durable') {
    const script = path.join(__dirname, 'embedded-postgres.child.js');
    const [command, ...args] = [...(WRAPPERS[kind] ?? []), process.execPath, script, dataDir, kind];
    const child = spawn(command!, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.child = child;
    this.pid = child.pid ?? 0;
    started.add(this);
    this.exited = once(child, 'exit').then(() => started.delete(this));
    this.outcome = once(createInterface(child.stdout), 'line').then(
      ([line]) => JSON.parse(String(line)) as { url?: string; error?: string },
    );
    this.outcome.catch(() => undefined); // killed before it reported its start
  }

  /** Returns the URL of the server. Throws if it did not start. */
  async url(): Promise<string> {
    const { url, error } = await this.outcome;
    if (!url) throw new Error(error);
    return url;
  }

  /** Kills the process like `kill -9`. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  async stop(): Promise<void> {
    this.child.stdin?.end();
    await this.exited;
  }
}

/** Returns the pid of the server in `dataDir`, as recorded in its postmaster.pid. */
export function serverPid(dataDir: string): number {
  return Number.parseInt(readFileSync(path.join(dataDir, 'cluster/postmaster.pid'), 'utf8'), 10);
}

/** Kills a process and the processes that would end its server. @returns the pid of the orphaned server */
export async function orphanServer(node: NodeWithServer, dataDir: string): Promise<number> {
  const orphan = serverPid(dataDir);
  const holder = Number(psColumn(orphan, 'ppid'));
  // the readers first: when the holder ends, they would end the server
  const readers = childrenOf(holder).filter((pid) => pid !== orphan);
  for (const pid of [...readers, holder]) process.kill(pid, 'SIGKILL');
  await node.kill();
  return orphan;
}

/** Returns whether a process is alive. A zombie is not. */
export function isAlive(pid: number): boolean {
  const state = psColumn(pid, 'stat');
  return state !== '' && !state.startsWith('Z');
}

/** Returns the child processes of a process. */
export function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

/** Returns a column of `ps` for a process, such as its `uid` or `ppid`. */
export function psColumn(pid: number, column: string, ...options: string[]): string {
  const { stdout } = spawnSync('ps', [...options, '-o', `${column}=`, '-p', String(pid)], {
    encoding: 'utf8',
  });
  return stdout.trim();
}
