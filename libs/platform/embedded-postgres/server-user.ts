import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';

/** The user the server runs as; `undefined`: the user of this process. */
export type ServerUser = { readonly uid: number; readonly gid: number } | undefined;

/** Accounts that exist on the usual systems and own nothing of value, in order of preference. */
const UNPRIVILEGED = ['postgres', 'nobody'];

/**
 * PostgreSQL refuses to run as root. When this process is root, the server runs as the owner of the first of
 * `directories` that exists and is not root's (so a directory stays with the user who made it), or else as an
 * unprivileged account of the system.
 *
 * @throws Error when this process is root and there is no such account.
 */
export function serverUser(...directories: readonly string[]): ServerUser {
  if (process.getuid?.() !== 0) return undefined;
  for (const directory of directories) {
    const owner = statSync(directory, { throwIfNoEntry: false });
    if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  for (const name of UNPRIVILEGED) {
    const [uid, gid] = ['-u', '-g'].map((option) => spawnSync('id', [option, name], { encoding: 'utf8' }));
    if (uid?.status === 0 && gid?.status === 0) {
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    }
  }
  throw new Error(
    `PostgreSQL does not run as root, and there is no user ${UNPRIVILEGED.join(' or ')} to run it as. Create one (useradd --system postgres), start as another user, or set DATABASE_URL to a PostgreSQL server.`,
  );
}

/** The environment of everything run for the server: none of the service's own, and no PG* settings. */
export const SERVER_ENVIRONMENT: NodeJS.ProcessEnv = {
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};
