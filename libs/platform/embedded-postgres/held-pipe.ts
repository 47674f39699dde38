import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { StartError } from '#platform/process';

/**
 * Named pipes show whether a process that uses a directory is alive. The process holds a pipe open for reading. Opening
 * the pipe for writing without blocking fails once no process has it open for reading. The kernel decides that, so it works
 * in every container that mounts the directory, and for killed, paused and zombie processes.
 */

/**
 * Creates a named pipe and opens it for reading. The descriptor closes with this process; a child that inherits it holds
 * the pipe open as well.
 *
 * @throws StartError if the user or the file system cannot create a named pipe there
 */
export function createPipe(file: string): number {
  // Other users must not be able to open it. `mkfifo -m` would set the mode in a second step, when the file may be gone.
  const { status, stderr, error } = spawnSync('sh', ['-c', 'umask 077; exec mkfifo "$0"', file], {
    encoding: 'utf8',
  });
  if (status !== 0) {
    throw new StartError(
      `The database directory cannot be used: ${error?.message ?? stderr.trim()}. Start as its owner, or choose another DATA_DIR on a local file system.`,
    );
  }
  return openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
}

/** Tells whether a process on this machine holds the pipe open for reading. */
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
