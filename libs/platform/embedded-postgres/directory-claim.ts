import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTimeOf } from './process-identity';

const CLAIM = /^claim-(\d+)-(.+)$/;

/**
 * Makes this process the only one that uses `directory`, until the returned function is called or the process
 * ends in any way. Waits up to `patienceMs` for another that is just finishing.
 *
 * Every contender first puts down a file that names itself and only then looks for others: of two, at least the
 * later one sees the other, so never do both go on. A file whose process is gone (pid and start time together
 * say so) is swept away; because each name is used by one process only, that can never remove a living claim,
 * which no scheme with a single lock file and a stale check can promise.
 *
 * @throws Error naming the other process, when it still holds the directory after `patienceMs`.
 */
export async function claimDirectory(directory: string, patienceMs = 3_000): Promise<() => void> {
  const own = `claim-${process.pid}-${startTimeOf(process.pid) ?? 'unknown'}`;
  const file = path.join(directory, own);
  const deadline = Date.now() + patienceMs;
  for (;;) {
    putDown(file, directory);
    const holder = livingHolder(directory, own);
    if (holder === undefined) return () => rmSync(file, { force: true });
    rmSync(file, { force: true });
    if (Date.now() >= deadline) {
      throw new Error(
        `The database directory ${directory} is in use by process ${holder}. Stop that process first, or give this one a directory of its own (DATA_DIR).`,
      );
    }
    // Contenders that met withdraw for different times, so that one of them finds the place empty.
    await sleep(20 + Math.random() * 180);
  }
}

function putDown(file: string, directory: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    const why =
      (error as NodeJS.ErrnoException).code === 'EEXIST'
        ? `This process already uses the database directory ${directory}.`
        : `This user may not write to the database directory ${directory}: ${(error as Error).message}. Start as its owner, or choose another DATA_DIR.`;
    throw new Error(why, { cause: error });
  }
}

function livingHolder(directory: string, own: string): number | undefined {
  for (const name of readdirSync(directory)) {
    const [, pid, startTime] = CLAIM.exec(name) ?? [];
    if (pid === undefined || name === own) continue;
    if (startTimeOf(Number(pid)) === startTime) return Number(pid);
    rmSync(path.join(directory, name), { force: true });
  }
  return undefined;
}
