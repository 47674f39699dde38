import { randomBytes } from 'node:crypto';
import { closeSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { pause } from '#platform/concurrency';
import { StartError } from '#platform/process';
import { createPipe, isHeldOpen } from './held-pipe';

/** The file name of a claim contains its process id and host name. Earlier versions of the service used another form. */
const CLAIM = /^claim-(\d+)-(?:[0-9a-f]{8}@(.+))?/;

const HOST = encodeURIComponent(os.hostname());

/** Milliseconds to wait for another process that is about to end. */
const TIMEOUT_MS = 3_000;

/**
 * Makes this process the only one on this machine that uses `directory`, across containers, until it releases the claim
 * or ends.
 *
 * A claim is a named pipe that its process holds open. Each contender first opens its own claim and then looks for others.
 * Of two contenders at least the later one sees the other, so they never both succeed. Only the owner removes the claims
 * of dead processes. A contender whose new claim was removed together with them tries again.
 *
 * @returns a function that releases the directory
 * @throws StartError that names the other process if it still holds the directory after `timeoutMs`
 */
export async function claimDirectory(directory: string, timeoutMs = TIMEOUT_MS): Promise<() => void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let other = claimsIn(directory).find(isHeldOpen);
    const own = other === undefined ? openClaim(directory) : undefined;
    if (own) {
      const claims = claimsIn(directory);
      const others = claims.filter((file) => file !== own.file);
      other = others.find(isHeldOpen);
      if (other === undefined && claims.includes(own.file)) {
        for (const abandoned of others) rmSync(abandoned, { force: true });
        return own.release;
      }
      own.release();
    }
    if (other !== undefined && performance.now() >= deadline) throw inUse(directory, other);
    // Contenders wait for random times, so that one of them finds the directory free.
    await pause(20 + Math.random() * 180);
  }
}

/** Returns `undefined` if the owner removed the claim before it was open. */
function openClaim(directory: string): { file: string; release: () => void } | undefined {
  const file = path.join(directory, `claim-${process.pid}-${randomBytes(4).toString('hex')}@${HOST}`);
  try {
    const pipe = createPipe(file);
    const release = () => {
      rmSync(file, { force: true });
      closeSync(pipe);
    };
    return { file, release };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function claimsIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => CLAIM.test(name))
    .map((name) => path.join(directory, name));
}

function inUse(directory: string, claim: string): StartError {
  const [, pid, host = HOST] = CLAIM.exec(path.basename(claim)) ?? [];
  const place = host === HOST ? '' : ` on host ${decodeURIComponent(host)}`;
  return new StartError(
    `The database directory ${directory} is in use by process ${pid}${place}. Stop that process first, or set DATA_DIR to another directory.`,
  );
}
