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
import type { Binaries } from './binaries';
import { SERVER_ENVIRONMENT, type ServerUser } from './server-user';

const run = promisify(execFile);

/** Lies inside the data directory, so that data and the password that opens them are moved and restored together. */
const PASSWORD_FILE = 'embedded-postgres.password';

/** The superuser that initdb creates. */
export const SUPERUSER = 'postgres';

/** Where in the service's database directory PostgreSQL's own data directory lies. */
export function clusterDirectory(dataDir: string): string {
  return path.join(dataDir, 'cluster');
}

/** The password of every role in the cluster: 256 random bits made by {@link ensureCluster}. */
export function readPassword(cluster: string): string {
  return readFileSync(path.join(cluster, PASSWORD_FILE), 'utf8').trim();
}

/**
 * How programs that run as `user`, with the cluster as their working directory, are told where it is. Under Linux
 * a user other than this process's own gets the working directory by its link in /proc: that works also where the
 * directories above it are closed to that user, as those of a checkout under /root are.
 */
export function clusterArgument(cluster: string, user: ServerUser): string {
  return user && process.platform === 'linux' ? '/proc/self/cwd' : cluster;
}

/**
 * Makes sure that the cluster is there and fits the binaries. A new one is made under another name and renamed when
 * it is whole: what a kill in the middle leaves behind is never taken for data, and is swept away here. The caller
 * holds the directory's claim.
 *
 * @throws Error when there is something else in its place, or a cluster of another major version.
 */
export async function ensureCluster(
  dataDir: string,
  binaries: Binaries,
  user: ServerUser,
  options: { ephemeral: boolean; log: (line: string) => void },
): Promise<void> {
  const cluster = clusterDirectory(dataDir);
  for (const name of readdirSync(dataDir)) {
    // An initdb whose parent was killed may still be writing there for a moment: hence the retries.
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
    // From the inside out: nobody else can enter the outer one before everything in it is settled.
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
  let found: string;
  try {
    found = readFileSync(path.join(cluster, 'PG_VERSION'), 'utf8').trim();
  } catch (error) {
    throw new Error(
      `${cluster} is no PostgreSQL data directory of this user: ${(error as Error).message}. Move it away, or choose another DATA_DIR.`,
      { cause: error },
    );
  }
  if (found !== String(major)) {
    throw new Error(
      `The database in ${cluster} is one of PostgreSQL ${found}, and this service carries PostgreSQL ${major}. Dump it with PostgreSQL ${found} (pg_dump) and restore it into a new DATA_DIR, or run PostgreSQL ${found} and set DATABASE_URL.`,
    );
  }
}

/**
 * Strings sort by code point (as under the C locale: the same on every system), while upper and lower case, and
 * what counts as a letter, follow Unicode. The latter needs the system's C.UTF-8, which a few old ones lack.
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
    const said = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    throw new Error(
      `PostgreSQL could not create its data directory: ${said}. If that cannot be mended, set DATABASE_URL to a PostgreSQL server.`,
      { cause: error },
    );
  }
}
