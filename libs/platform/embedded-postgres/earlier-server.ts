import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { pause } from '#platform/concurrency';
import { StartError } from '#platform/process';
import { clusterDirectory } from './cluster';
import { createPipe, isHeldOpen } from './held-pipe';

/** Milliseconds that an earlier server has to shut down. */
const SHUTDOWN_MS = 60_000;

/** Milliseconds to wait for a server that this process cannot end. */
const UNSEEN_MS = 5_000;

/** The pipe that a server and its children hold open. */
const pipeOf = (dataDir: string): string => path.join(dataDir, 'server.pipe');

/**
 * Creates the pipe that the next server inherits. The pipe shows {@link endEarlierServer} that the server is running. Call
 * that function first, and close the descriptor once the server has inherited it.
 */
export function openServerPipe(dataDir: string): number {
  rmSync(pipeOf(dataDir), { force: true });
  return createPipe(pipeOf(dataDir));
}

/**
 * Ends a server that an earlier process left running on this cluster. If that process was killed, the server is already
 * shutting down. Afterwards removes a stale `postmaster.pid`, because PostgreSQL only checks whether a process with that
 * id exists, and after a crash the id may belong to any process. The caller must hold the directory's claim, so that no
 * other process starts a server.
 *
 * @throws StartError when the server does not end.
 */
export async function endEarlierServer(dataDir: string, log: (line: string) => void): Promise<void> {
  const cluster = clusterDirectory(dataDir);
  const startedAt = performance.now();
  let ending: number | undefined;
  for (; isHeldOpen(pipeOf(dataDir)); await pause(20)) {
    const status = readServerStatus(cluster);
    if (ending === undefined && status && isServerOf(status.pid, cluster, status.port)) {
      ending = status.pid;
      log(`waiting for the PostgreSQL server of an earlier run to end (pid ${ending})`);
      process.kill(ending, 'SIGINT');
    }
    if (performance.now() - startedAt < (ending === undefined ? UNSEEN_MS : SHUTDOWN_MS)) continue;
    throw new StartError(
      ending === undefined
        ? `The database directory ${dataDir} is in use by an earlier PostgreSQL server that this process cannot end, for example because it runs in another container. End it, or choose another DATA_DIR.`
        : `A PostgreSQL server of an earlier run (pid ${ending}) does not shut down. End it, then start again.`,
    );
  }
  rmSync(path.join(cluster, 'postmaster.pid'), { force: true });
}

/** Reads `postmaster.pid`. PostgreSQL's `miscadmin.h` describes its lines. `pid` is NaN if the file is damaged. */
export function readServerStatus(cluster: string): { pid: number; port: number; ready: boolean } | undefined {
  const file = path.join(cluster, 'postmaster.pid');
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, 'utf8').split('\n');
  return {
    pid: Number.parseInt(lines[0] ?? '', 10),
    port: Number(lines[3]),
    ready: lines[7]?.trim() === 'ready',
  };
}

/**
 * Tells whether `pid` is the PostgreSQL server on `cluster`. In another container the id may belong to any process. A
 * server's working directory is its data directory. Linux shows the working directory of another user's process only with
 * the capability SYS_PTRACE, which root lacks in most containers. Then the port decides, which no two servers share.
 */
function isServerOf(pid: number, cluster: string, port: number): boolean {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
    return stdout.includes(`postgres -D ${cluster} `);
  }
  try {
    const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    if (path.basename(program) !== 'postgres') return false;
    return isSameDirectory(`/proc/${pid}/cwd`, cluster) ?? args.includes(`port=${port}`);
  } catch {
    return false; // There is no such process.
  }
}

/** Returns `undefined` if this process is not allowed to compare them. */
function isSameDirectory(one: string, other: string): boolean | undefined {
  try {
    const [a, b] = [statSync(one), statSync(other)];
    return a.dev === b.dev && a.ino === b.ino;
  } catch (error) {
    if (['EACCES', 'EPERM'].includes(String((error as NodeJS.ErrnoException).code))) return undefined;
    throw error;
  }
}
