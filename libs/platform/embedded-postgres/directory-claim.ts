import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { bootId, pidNamespace, startTimeOf } from './process-identity';

const CLAIM = /^claim-(\d+)-([^_]+)_([^_]+)_([^_]+)_(.+)$/;

/** How often a claim is renewed, in milliseconds: for those who cannot see its process, see {@link judge}. */
const BEAT_MS = 5_000;

/** What a claim's name says of its process. */
interface Claim {
  readonly name: string;
  readonly pid: number;
  readonly startTime: string;
  readonly boot: string;
  readonly namespace: string;
  readonly host: string;
}

/** A directory that is this process's alone. */
export interface DirectoryClaim {
  /**
   * Open file descriptor by which other containers see that the directory is in use: whatever works on it, also
   * beyond this process's end, is to inherit it. `undefined` where the file system has no named pipes.
   */
  readonly lock: number | undefined;
  /** Gives the directory back. */
  release(): void;
}

/** How {@link claimDirectory} meets other claims. */
export interface ClaimOptions {
  /** How long to wait for another process that is just finishing, in milliseconds. */
  readonly patienceMs?: number;
  /** How long a claim of which nothing else is known must go without being renewed to count as dead. */
  readonly silenceMs?: number;
  readonly log?: (line: string) => void;
}

/**
 * Makes this process the only one that uses `directory`, until the claim is released or the process ends in any way.
 *
 * Every contender first puts down a file that names itself and only then looks for others: of two, at least the
 * later one sees the other, so never do both go on. A file whose process is gone is swept away; because each name
 * is used by one process only, that can never remove a living claim, which no scheme with a single lock file and a
 * stale check can promise.
 *
 * @throws Error naming the other process, when it still holds the directory after `patienceMs`.
 */
export async function claimDirectory(
  directory: string,
  { patienceMs = 3_000, silenceMs = 30_000, log = () => undefined }: ClaimOptions = {},
): Promise<DirectoryClaim> {
  const own = ownClaim();
  const file = path.join(directory, own.name);
  const draft = path.join(directory, `draft-of-${own.name}`);
  // Made under another name: what is seen as a claim has its pipe open already.
  const lock = makeDraft(draft, file, directory);
  const watched: Watched = new Map();
  const deadline = performance.now() + patienceMs;
  const withdraw = () => {
    for (const name of [file, draft]) rmSync(name, { force: true });
  };
  process.once('exit', withdraw); // Somebody who does not want to wait so long.
  try {
    for (;;) {
      renameSync(draft, file);
      const other = strongestOther(directory, own, { watched, silenceMs });
      if (!other) return keep(file, lock);
      renameSync(file, draft);
      if (other.verdict === 'lives' && performance.now() >= deadline)
        throw inUse(directory, other.claim, own);
      if (other.isNew) {
        const seconds = Math.ceil(silenceMs / 1_000);
        log(`waiting up to ${seconds} s to see whether ${nameOf(other.claim, own)} still uses ${directory}`);
      }
      // Contenders that met withdraw for different times, so that one of them finds the place empty.
      await sleep(20 + Math.random() * 180);
    }
  } catch (error) {
    withdraw();
    if (lock !== undefined) closeSync(lock);
    throw error;
  } finally {
    process.off('exit', withdraw);
  }
}

function ownClaim(): Claim {
  const startTime = startTimeOf(process.pid) ?? 'unknown';
  const [boot, namespace, host] = [bootId() ?? 'unknown', pidNamespace() ?? 'unknown', os.hostname()];
  const name = `claim-${process.pid}-${startTime}_${boot}_${namespace}_${encodeURIComponent(host)}`;
  return { name, pid: process.pid, startTime, boot, namespace, host };
}

function parseClaim(name: string): Claim | undefined {
  const [, pid, startTime, boot, namespace, host] = CLAIM.exec(name) ?? [];
  if (!pid || !startTime || !boot || !namespace || !host) return undefined;
  return { name, pid: Number(pid), startTime, boot, namespace, host };
}

/**
 * The file of the claim: a named pipe that is open for reading. Opening such a pipe for writing tells, in every
 * container of the machine, whether a process still has it open, which the kernel alone decides, when it is killed
 * or paused too. (Node can lock no file.) Where a file system has no pipes, a plain file.
 */
function makeDraft(draft: string, file: string, directory: string): number | undefined {
  const taken = () => new Error(`This process already uses the database directory ${directory}.`);
  if (existsSync(file)) throw taken();
  const { status } = spawnSync('mkfifo', ['-m', '600', draft], { stdio: 'ignore' });
  if (status === 0) return openSync(draft, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    closeSync(openSync(draft, 'wx', 0o600));
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw taken();
    throw new Error(
      `This user may not write to the database directory ${directory}: ${(error as Error).message}. Start as its owner, or choose another DATA_DIR.`,
      { cause: error },
    );
  }
}

function keep(file: string, lock: number | undefined): DirectoryClaim {
  const beat = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(file, now, now);
    } catch {
      // The directory was removed, or cannot be reached for a moment: the server has worse to say about that.
    }
  }, BEAT_MS).unref();
  return {
    lock,
    release: () => {
      clearInterval(beat);
      rmSync(file, { force: true });
      if (lock !== undefined) closeSync(lock);
    },
  };
}

type Verdict = 'lives' | 'gone' | 'unknown';

/** By the name of a claim: when it was last renewed, and since when (monotonic) nothing was seen to change. */
type Watched = Map<string, { renewed: number; since: number }>;

interface Watch {
  readonly watched: Watched;
  readonly silenceMs: number;
}

interface Other {
  readonly claim: Claim;
  readonly verdict: Verdict;
  /** Nothing was known of it, and it was not met before. */
  readonly isNew: boolean;
}

/** Another claim that stands in the way: one that lives before one that may. Those that are dead are swept away. */
function strongestOther(directory: string, own: Claim, watch: Watch): Other | undefined {
  let found: Other | undefined;
  for (const name of readdirSync(directory)) {
    const claim = parseClaim(name);
    if (!claim || name === own.name) continue;
    const file = path.join(directory, name);
    const isNew = !watch.watched.has(name);
    const verdict = judge(file, claim, own, watch);
    // What the killed process left running still has it open; here that is known and dealt with by its pid, and in
    // other containers by this file.
    if (verdict === 'gone' && !isHeldOpen(file)) rmSync(file, { force: true });
    if (verdict === 'lives') return { claim, verdict, isNew: false };
    if (verdict === 'unknown') found ??= { claim, verdict, isNew };
  }
  return found;
}

/**
 * Whether the process of a claim lives.
 *
 * - Of a process in the same PID namespace, pid and start time together say so, and the kernel knows both.
 * - From another namespace (a container with this directory mounted) a pid says nothing, but the pipe does.
 * - On another machine sharing the file system, or before a reboot, both say nothing: there the claim must have gone
 *   without renewal while this process watched. Clocks of two machines are never compared.
 */
function judge(file: string, claim: Claim, own: Claim, { watched, silenceMs }: Watch): Verdict {
  const sameKernel = claim.boot === own.boot && own.boot !== 'unknown';
  if (sameKernel && claim.namespace === own.namespace && own.namespace !== 'unknown') {
    return startTimeOf(claim.pid) === claim.startTime ? 'lives' : 'gone';
  }
  const held = isHeldOpen(file);
  if (held) return 'lives'; // Containers of some systems have boot ids of their own.
  if (held === false && sameKernel) return 'gone';

  const renewed = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (renewed === undefined) return 'gone';
  const now = performance.now();
  const seen = watched.get(claim.name);
  if (seen?.renewed === renewed) return now - seen.since >= silenceMs ? 'gone' : 'unknown';
  watched.set(claim.name, { renewed, since: now });
  return seen ? 'lives' : 'unknown';
}

/** Whether a process of this machine has the pipe open; `undefined` where that cannot be told. */
function isHeldOpen(file: string): boolean | undefined {
  if (!lstatSync(file, { throwIfNoEntry: false })?.isFIFO()) return undefined;
  try {
    closeSync(openSync(file, constants.O_WRONLY | constants.O_NONBLOCK));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENXIO' ? false : undefined;
  }
}

function inUse(directory: string, other: Claim, own: Claim): Error {
  return new Error(
    `The database directory ${directory} is in use by ${nameOf(other, own)}. Stop that process first, or give this one a directory of its own (DATA_DIR).`,
  );
}

function nameOf({ pid, boot, namespace, host }: Claim, own: Claim): string {
  const here = boot === own.boot && namespace === own.namespace;
  return `process ${pid}${here ? '' : ` of another container or machine (host name ${host})`}`;
}
