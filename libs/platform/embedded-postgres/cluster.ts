import { execFile } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '#platform/process';
import type { Binaries } from './binaries';
import { SERVER_ENVIRONMENT, type ServerUser } from './server-user';

const run = promisify(execFile);

/** The file is inside the data directory, so that data and password are moved and restored together. */
const PASSWORD_FILE = 'embedded-postgres.password';

/** The superuser that initdb creates. */
export const SUPERUSER = 'postgres';

/** Returns PostgreSQL's own data directory, within the service's database directory. */
export function clusterDirectory(dataDir: string): string {
  return path.join(dataDir, 'cluster');
}

/** Reads the password of every role in the cluster: 256 random bits from {@link ensureCluster}. */
export function readPassword(cluster: string): string {
  return readFileSync(path.join(cluster, PASSWORD_FILE), 'utf8').trim();
}

/**
 * Returns the `-D` argument for programs that run as `user` with the cluster as their working directory. On Linux, another
 * user than this process's gets the working directory through its link in /proc, because that user may not have access to
 * the directories above it, such as /root.
 */
export function clusterArgument(cluster: string, user: ServerUser): string {
  return user && process.platform === 'linux' ? '/proc/self/cwd' : cluster;
}

/**
 * Makes sure that the cluster exists and fits the binaries. Creates a new cluster under another name and renames it when
 * it is complete, so that leftovers of a killed process are never mistaken for data. Removes such leftovers. The caller
 * must hold the directory's claim.
 *
 * @throws StartError if the directory contains something else or a cluster of another major version
 */
export async function ensureCluster(
  dataDir: string,
  binaries: Binaries,
  user: ServerUser,
  options: { ephemeral: boolean; log: (line: string) => void },
): Promise<void> {
  const cluster = clusterDirectory(dataDir);
  for (const name of readdirSync(dataDir)) {
    // Retries, because an initdb whose parent was killed may still write there briefly.
    if (name.startsWith('init-'))
      rmSync(path.join(dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
  if (existsSync(cluster) && readdirSync(cluster).length === 0) rmdirSync(cluster);
  if (existsSync(cluster)) {
    requireVersion(cluster, binaries.major);
    return;
  }
  options.log(`creating a PostgreSQL ${binaries.major} database in ${dataDir}`);
  const workspace = mkdtempSync(path.join(dataDir, 'init-'));
  const fresh = path.join(workspace, 'cluster');
  const passwordFile = path.join(workspace, 'password');
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(passwordFile, `${randomBytes(32).toString('base64url')}\n`, {
    mode: 0o600,
    flush: !options.ephemeral,
  });
  if (user) {
    // The outer directory comes last, so that nobody can enter it before everything in it has its owner.
    for (const file of [fresh, passwordFile, workspace]) chownSync(file, user.uid, user.gid);
  }
  try {
    await initialize(fresh, binaries, user, options.ephemeral);
    renameSync(passwordFile, path.join(fresh, PASSWORD_FILE));
    renameSync(fresh, cluster);
  } finally {
    rmSync(workspace, { recursive: true, force: true });
  }
}

function requireVersion(cluster: string, major: number): void {
  let version: string;
  try {
    version = readFileSync(path.join(cluster, 'PG_VERSION'), 'utf8').trim();
  } catch (error) {
    throw new StartError(
      `${cluster} is not a PostgreSQL data directory of this user: ${(error as Error).message}. Move it away, or choose another DATA_DIR.`,
      { cause: error },
    );
  }
  if (version !== String(major)) {
    throw new StartError(
      `The database in ${cluster} was created by PostgreSQL ${version}, but this service comes with PostgreSQL ${major}. Dump it with PostgreSQL ${version} (pg_dump) and restore it into a new DATA_DIR, or run PostgreSQL ${version} and set DATABASE_URL.`,
    );
  }
}

/**
 * Runs initdb. Strings sort by code point, as in the C locale, which is the same on every system. Case and character
 * classes follow Unicode, which needs the system's C.UTF-8; a few old systems lack it.
 */
async function initialize(
  fresh: string,
  binaries: Binaries,
  user: ServerUser,
  ephemeral: boolean,
): Promise<void> {
  const initdb = (ctype: string) =>
    run(
      path.join(binaries.directory, 'bin', 'initdb'),
      [
        ...['-D', clusterArgument(fresh, user), '--username', SUPERUSER],
        ...['--auth', 'scram-sha-256', '--pwfile', '../password'],
        ...['--encoding', 'UTF8', '--locale', 'C', '--lc-ctype', ctype],
        ...['--locale-provider', 'builtin', '--builtin-locale', 'C.UTF-8'],
        ...(ephemeral ? ['--no-sync'] : []),
      ],
      { ...user, cwd: fresh, env: SERVER_ENVIRONMENT },
    );
  try {
    await initdb('C.UTF-8').catch((error: unknown) => {
      if (!String(error).includes('invalid locale name')) throw error;
      return initdb('C');
    });
  } catch (error) {
    const reason = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    throw new StartError(
      `PostgreSQL could not create its data directory: ${reason}. If you cannot fix that, set DATABASE_URL to a PostgreSQL server.`,
      { cause: error },
    );
  }
}
