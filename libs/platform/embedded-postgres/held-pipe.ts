import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';

/**
 * Named pipes tell whether a process that uses a directory still lives. It holds one open for reading; opening the same
 * one for writing without waiting fails once nobody does. The kernel alone decides that, and alike in every container
 * that mounts the directory: for processes that were killed or paused, and for zombies.
 */

/**
 * Creates a named pipe and opens it for reading. The descriptor closes with this process; a child that inherits it holds
 * the pipe open as well.
 *
 * @throws Error when this user, or this file system, cannot have a named pipe there.
 */
export function createPipe(file: string): number {
  // Others must not hold it open. `mkfifo -m` would set the mode in a second step, for which the file may be gone.
  const { status, stderr, error } = spawnSync('sh', ['-c', 'umask 077; exec mkfifo "$0"', file], {
    encoding: 'utf8',
  });
  if (status !== 0) {
    throw new Error(
      `The database directory cannot be used: ${error?.message ?? stderr.trim()}. Start as its owner, or choose another DATA_DIR on a local file system.`,
    );
  }
  return openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
}

/** Whether a process of this machine holds the pipe open for reading. */
export function isHeldOpen(file: string): boolean {
  try {
    closeSync(openSync(file, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENXIO' || code === 'ENOENT') return false;
    throw error;
  }
}
