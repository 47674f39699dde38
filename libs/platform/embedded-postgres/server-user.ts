import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { StartError } from '#platform/process';

/** The user that runs the server; `undefined` for the user of this process. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

/** Accounts that exist on the usual systems and own nothing of value, in order of preference. */
const UNPRIVILEGED = ['postgres', 'nobody'];

/**
 * Returns the user to run the server as, because PostgreSQL refuses to run as root. For a process of root, that is the
 * owner of `cluster` if it exists, else an unprivileged account of the system.
 *
 * @throws StartError when there is no such account, or when root is not allowed to run programs as another user, as in some
 *   containers.
 */
export function serverUser(cluster: string): ServerUser {
  if (process.getuid?.() !== 0) return undefined;
  const user = ownerOf(cluster) ?? unprivilegedAccount();
  if (!user) {
    throw new StartError(
      `PostgreSQL does not run as root, and there is no user ${UNPRIVILEGED.join(' or ')} to run it as. Create one (useradd --system postgres), start as another user, or set DATABASE_URL to a PostgreSQL server.`,
    );
  }
  const { error } = spawnSync('sh', ['-c', ':'], { ...user, cwd: '/' });
  if (error) {
    throw new StartError(
      `PostgreSQL does not run as root, and this process is not allowed to run it as user ${user.uid} (${error.message}). Start as another user, or set DATABASE_URL to a PostgreSQL server.`,
    );
  }
  return user;
}

function ownerOf(directory: string): ServerUser {
  const owner = statSync(directory, { throwIfNoEntry: false });
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : undefined;
}

function unprivilegedAccount(): ServerUser {
  for (const name of UNPRIVILEGED) {
    const [uid, gid] = ['-u', '-g'].map((option) => spawnSync('id', [option, name], { encoding: 'utf8' }));
    if (uid?.status === 0 && gid?.status === 0) return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  return undefined;
}

/** The environment of the server and its tools. Contains nothing of the service's environment, and no PG* settings. */
export const SERVER_ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};
