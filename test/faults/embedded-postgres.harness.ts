import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '#platform/embedded-postgres';
import { startTimeOf } from '../../libs/platform/embedded-postgres/process-identity';

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

const started = new Set<NodeWithServer>();

/** Ends what a failed test left running; for `afterEach`. */
export async function endNodes(): Promise<void> {
  await Promise.all([...started].map((node) => node.kill()));
}

/** A Node process that runs an embedded PostgreSQL, see embedded-postgres.child.ts. */
export class NodeWithServer {
  /** What it says about its start. */
  readonly outcome: Promise<{ url?: string; error?: string }>;
  readonly pid: number;
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;

  constructor(dataDir: string, kind: 'durable' | 'ephemeral' = 'durable') {
    const script = path.join(__dirname, 'embedded-postgres.child.js');
    const child = spawn(process.execPath, [script, dataDir, kind], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.child = child;
    this.pid = child.pid ?? 0;
    started.add(this);
    this.exited = once(child, 'exit').then(() => started.delete(this));
    this.outcome = once(createInterface(child.stdout), 'line').then(
      ([line]) => JSON.parse(String(line)) as { url?: string; error?: string },
    );
    this.outcome.catch(() => undefined); // It was killed before it said anything.
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

/** Whether a process of that number lives. A zombie, which nobody has asked after yet, does not. */
export function lives(pid: number): boolean {
  return startTimeOf(pid) !== undefined;
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

/** Waits for something that takes as long as it takes; the test's own time limit ends it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5);
}
