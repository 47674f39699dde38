import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '#platform/embedded-postgres';

/** A new directory in the temporary directory, closed to all other users, as root's home is. */
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

/** Rows of one statement, over a connection of its own. */
export async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

/** As a container that mounts the directory: processes and shared memory of its own, killed as a whole. */
export const CONTAINER = ['unshare', '--pid', '--ipc', '--fork', '--kill-child', '--mount-proc'];

/** As root in a container by Docker's defaults: it may not look into the processes of other users. */
export const WITHOUT_PTRACE = ['setpriv', '--bounding-set=-sys_ptrace', '--inh-caps=-sys_ptrace'];

/** Runs a suite that needs containers; where this user can make none, says loudly that it was not run. */
export function describeWithContainers(name: string, suite: () => void): void {
  const [command, ...args] = [...CONTAINER, 'true'];
  const { status, error, stderr } = spawnSync(command!, args, { encoding: 'utf8' });
  if (status === 0) {
    describe(name, suite);
    return;
  }
  const why = error?.message ?? stderr.trim();
  process.stderr.write(`\nWARNING: "${name}" was NOT tested with containers: ${why}\n`);
  it(`${name} was NOT tested with containers: this user cannot make one (unshare, as root)`, () => {
    expect(status).not.toBe(0);
  });
}

const started = new Set<NodeWithServer>();

/** Ends what a failed test left running; for `afterEach`. */
export async function endNodes(): Promise<void> {
  await Promise.all([...started].map((node) => node.kill()));
}

type Kind = 'durable' | 'ephemeral' | 'in a container' | 'without ptrace';

const SURROUNDINGS: Partial<Record<Kind, readonly string[]>> = {
  'in a container': CONTAINER,
  'without ptrace': WITHOUT_PTRACE,
};

/** A Node process that runs an embedded PostgreSQL, see embedded-postgres.child.ts. */
export class NodeWithServer {
  /** What it says about its start. */
  readonly outcome: Promise<{ url?: string; error?: string }>;
  readonly pid: number;
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;

  constructor(dataDir: string, kind: Kind = 'durable') {
    const script = path.join(__dirname, 'embedded-postgres.child.js');
    const [command, ...args] = [...(SURROUNDINGS[kind] ?? []), process.execPath, script, dataDir, kind];
    const child = spawn(command!, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.child = child;
    this.pid = child.pid ?? 0;
    started.add(this);
    this.exited = once(child, 'exit').then(() => started.delete(this));
    this.outcome = once(createInterface(child.stdout), 'line').then(
      ([line]) => JSON.parse(String(line)) as { url?: string; error?: string },
    );
    this.outcome.catch(() => undefined); // Killed before it reported anything.
  }

  /** The URL of its server. */
  async url(): Promise<string> {
    const { url, error } = await this.outcome;
    if (!url) throw new Error(error);
    return url;
  }

  /** As `kill -9`: it gets no chance to do anything. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.exited;
  }

  async stop(): Promise<void> {
    this.child.stdin?.end();
    await this.exited;
  }
}

/** Pid of the server that works in `dataDir`, by its own account. */
export function serverPid(dataDir: string): number {
  return Number.parseInt(readFileSync(path.join(dataDir, 'cluster/postmaster.pid'), 'utf8'), 10);
}

/** Kills a process and all that would end its server. @returns the pid of the server, which nothing holds any more */
export async function orphanServerOf(node: NodeWithServer, dataDir: string): Promise<number> {
  const orphan = serverPid(dataDir);
  const holder = Number(ask(orphan, 'ppid'));
  // Its reader first: once the holder is gone the process closes what it reads, which asks the server to end.
  const readers = childrenOf(holder).filter((pid) => pid !== orphan);
  for (const pid of [...readers, holder]) process.kill(pid, 'SIGKILL');
  await node.kill();
  return orphan;
}

/** Whether a process of that number lives. A zombie does not. */
export function lives(pid: number): boolean {
  const state = ask(pid, 'stat');
  return state !== '' && !state.startsWith('Z');
}

/** The processes that a process has started. */
export function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' });
  return stdout.split('\n').filter(Boolean).map(Number);
}

/** What `ps` says about a process, such as its `uid` or `ppid`. */
export function ask(pid: number, column: string, ...options: string[]): string {
  const { stdout } = spawnSync('ps', [...options, '-o', `${column}=`, '-p', String(pid)], {
    encoding: 'utf8',
  });
  return stdout.trim();
}
