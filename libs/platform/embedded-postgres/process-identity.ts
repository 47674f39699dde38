import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';

const PROCFS = process.platform === 'linux';

/**
 * When a living process started, as an opaque text without a path separator. A pid is given to another process
 * sooner or later; a pid and its start time name one process for good. `undefined` when no process has that pid,
 * and for a zombie, which has already let go of everything it held.
 */
export function startTimeOf(pid: number): string | undefined {
  if (PROCFS) {
    const text = readIfThere(`/proc/${pid}/stat`);
    // The second field is the command in brackets and may itself hold spaces and brackets.
    const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ');
    const state = fields?.[0];
    return state === undefined || state === 'Z' || state === 'X' ? undefined : fields?.[19];
  }
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
  });
  const [state, ...started] = stdout.trim().split(/\s+/);
  return !state || state.startsWith('Z') ? undefined : started.join('-').replaceAll(':', '-');
}

/**
 * Whether `pid` is the PostgreSQL server (the postmaster, not one of its children) that works on `cluster`.
 * A server always runs with its data directory as working directory, whatever path it was given on the command
 * line, so that is what is compared where the system tells it. Linux tells it of another user's processes only with
 * the capability SYS_PTRACE, which root lacks in most containers; there the port decides, which two servers never share.
 *
 * @param port the one that `postmaster.pid` names
 */
export function isServerOf(pid: number, cluster: string, port: number): boolean {
  if (PROCFS) {
    const [program = '', ...args] = readIfThere(`/proc/${pid}/cmdline`)?.split('\0') ?? [];
    if (path.basename(program) !== 'postgres') return false;
    return isSameDirectory(`/proc/${pid}/cwd`, cluster) ?? args.includes(`port=${port}`);
  }
  const { stdout } = spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout.includes(`postgres -D ${cluster} `);
}

/** Names the run of the kernel, from its boot to the next: where it is the same, so is the machine. */
export function bootId(): string | undefined {
  if (PROCFS) return readIfThere('/proc/sys/kernel/random/boot_id')?.trim();
  const { stdout } = spawnSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' });
  return stdout?.trim() || undefined;
}

/** Names, within a run of the kernel, those processes that know each other by pid: a container has its own. */
export function pidNamespace(): string | undefined {
  if (!PROCFS) return 'all';
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
  } catch {
    return undefined;
  }
}

/** Whether a process of that pid is there at all, be it a zombie or another user's. */
export function isPidInUse(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** `undefined` where this process may not know. */
function isSameDirectory(one: string, other: string): boolean | undefined {
  try {
    const a = statSync(one);
    const b = statSync(other);
    return a.dev === b.dev && a.ino === b.ino;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EACCES' || code === 'EPERM' ? undefined : false; // The process has ended.
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
