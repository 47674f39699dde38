import type * as FileSystem from 'node:fs';
import { nodeModule } from '../core/node.js';

export type Files = typeof FileSystem;

/** What a spool file says about its run, in its first line. */
export interface SpoolHeader {
  run_key: string;
  experiment_id: string | null;
  host: string;
  pid: number;
  /** When the process started, in milliseconds since 1970. Tells apart two processes with the same id. */
  process_started_at: number;
  /** When the run started, in milliseconds since 1970. */
  started_at: number;
}

/** A spool file that no running process uses. */
export interface AbandonedFile {
  path: string;
  header: SpoolHeader;
}

/** A running process touches its file more often. */
const ABANDONED_AFTER_MS = 60_000;

/** The same for a process on another host, which cannot be asked. It has missed three touches then. */
const REMOTE_ABANDONED_AFTER_MS = 30_000;

/** Returns what this process writes into the header of its spool. */
export const thisProcess = () => ({
  host: nodeModule('os')?.hostname() ?? '',
  pid: process.pid,
  process_started_at: Math.round(Date.now() - process.uptime() * 1000),
});

/** Creates the directory of spools. Git ignores it. */
export function makeSpoolDir(fs: Files, dir: string): void {
  fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (!fs.existsSync(`${dir}/.gitignore`)) fs.writeFileSync(`${dir}/.gitignore`, '*\n');
}

/**
 * Returns the spool files in a directory that begin with a prefix and were left by processes that have ended, the newest run
 * first. Another process may find the same ones.
 */
export function findAbandoned(fs: Files, dir: string, prefix: string): AbandonedFile[] {
  const found: AbandonedFile[] = [];
  for (const name of fs.readdirSync(dir)) {
    if (!name.startsWith(`${prefix}-`)) continue;
    const path = `${dir}/${name}`;
    try {
      const idleMs = Date.now() - fs.statSync(path).mtimeMs;
      const isOld = idleMs > ABANDONED_AFTER_MS;
      if (name.endsWith('.jsonl')) {
        const header = readHeader(fs, path);
        if (header && (isOld || hasEnded(fs, header, idleMs))) found.push({ path, header });
      } else if (isOld) fs.rmSync(path); // a process was killed while it wrote a new file
    } catch {
      // another process has just taken or deleted it
    }
  }
  return found.sort((a, b) => b.header.started_at - a.header.started_at);
}

/** Takes a file for this process. Returns false if another one was faster. */
export function claim(fs: Files, from: string, to: string): boolean {
  try {
    fs.renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

function readHeader(fs: Files, path: string): SpoolHeader | null {
  const fd = fs.openSync(path, 'r');
  try {
    const start = new Uint8Array(16_384);
    const [line] = new TextDecoder().decode(start.subarray(0, fs.readSync(fd, start))).split('\n', 1);
    const { run } = JSON.parse(line!) as { run?: SpoolHeader };
    return run ?? null;
  } finally {
    fs.closeSync(fd);
  }
}

/** Whether the process of a spool is gone. If it only seems so, both upload the same results, and each is stored once. */
function hasEnded(fs: Files, header: SpoolHeader, idleMs: number): boolean {
  const self = thisProcess();
  if (header.host !== self.host) return idleMs > REMOTE_ABANDONED_AFTER_MS;
  if (header.pid === self.pid) return Math.abs(header.process_started_at - self.process_started_at) > 2000;
  try {
    process.kill(header.pid, 0);
    return isZombie(fs, header.pid);
  } catch (error) {
    return (error as { code?: string }).code === 'ESRCH';
  }
}

/** Whether a process was killed, and only waits for its parent to notice, as in a container without an init process. */
function isZombie(fs: Files, pid: number): boolean {
  try {
    return /\) [ZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false; // only Linux has this file
  }
}
