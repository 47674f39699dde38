import { nodeModule } from '../core/node.js';
import { messageOf, randomHex } from './json.js';
import type { Scores } from './scoring.js';
import {
  type AbandonedFile,
  claim,
  type Files,
  findAbandoned,
  makeSpoolDir,
  type SpoolHeader,
  thisProcess,
} from './spool-files.js';

/** A call of the task that has ended. */
export interface FinishedCall {
  output?: unknown;
  error?: string;
  traceId: string | null;
  /** Whether the trace is made from the result, so that it can be sent again. */
  isTraceDerived: boolean;
  /** Milliseconds since 1970. */
  startedAt: number;
  durationMs: number;
  /** Absent until the scorers have run. */
  scored?: { scores: Scores; error?: string };
}

/** One line of a spool file. */
type Line =
  | { run: SpoolHeader }
  | ({ call: string } & FinishedCall)
  | { scored: string; scores: Scores; error?: string }
  | { uploaded: string[] };

/** How a spool is opened. */
export interface SpoolSpec {
  dir: string;
  /** Names the eval, its data and its settings, so that only a run that can be continued is found. */
  prefix: string;
  /** The key that the options or the CI name. */
  runKey: string | null;
  /** Whether to continue an earlier run. */
  resume: boolean;
}

const TOUCH_MS = 10_000;

/** A file above this size is written anew with only what it still needs. */
const COMPACT_BYTES = 32 * 1024 * 1024;

/**
 * Keeps finished calls of the task in a file until they are uploaded, so that a process that is killed loses none. Lines are
 * written synchronously: once `call` returns, the call survives `kill -9`. Where there is no file system, or the disk is full,
 * the run goes on without the file, and `problem` says so.
 */
export class Spool {
  /** The key of the run: given, that of the run to continue, or a new random one. */
  readonly runKey: string;
  /** Why finished calls are not kept in a file; null if they are. */
  problem: string | null = null;
  private readonly fs: Files | null;
  private header: SpoolHeader | undefined;
  /** Calls that earlier processes have left, with the experiments that they belong to. */
  private readonly recovered = new Map<string, { call: FinishedCall; experimentId: string | null }>();
  /** The lines of the calls that are not uploaded yet. */
  private readonly lines = new Map<string, string>();
  /** The spool file, the file that replaces it, and those that were taken over. They are deleted once the run has ended. */
  private readonly files: string[] = [];
  private fd: number | null = null;
  private size = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  /** Opens the spool of a run, and takes over what ended processes have left of the same run. */
  constructor(private readonly spec: SpoolSpec) {
    const { dir, prefix, runKey, resume } = spec;
    this.fs = nodeModule('fs');
    let found: string | null = null;
    this.attempt(() => {
      if (!this.fs) return;
      makeSpoolDir(this.fs, dir);
      const path = `${dir}/${prefix}-${process.pid}-${randomHex(4)}`;
      this.files.push(`${path}.jsonl`, `${path}.jsonl.new`);
      const abandoned = findAbandoned(this.fs, dir, prefix);
      if (resume) found = this.takeOver(this.fs, abandoned, path);
      else for (const file of abandoned) this.fs.rmSync(file.path, { force: true });
    });
    this.runKey = runKey ?? found ?? `local-${randomHex(8)}`;
    if (this.files.length === 2) this.begin(null); // else the files that were taken over keep the key
  }

  /** Takes over the files of the newest run that no other process takes. Returns its key, or null if there is none. */
  private takeOver(fs: Files, abandoned: readonly AbandonedFile[], path: string): string | null {
    let runKey: string | null = null;
    for (const [index, file] of abandoned.entries()) {
      const own = `${path}-${index}.jsonl`;
      if ((runKey !== null && file.header.run_key !== runKey) || !claim(fs, file.path, own)) continue;
      runKey = file.header.run_key;
      this.files.push(own);
      this.read(fs.readFileSync(own, 'utf8'), file.header.experiment_id);
    }
    return runKey;
  }

  /** Names the experiment of the run. Returns the number of finished calls that belong to another one, and drops them. */
  bind(experimentId: string): number {
    const others = [...this.recovered].flatMap(([id, one]) => (one.experimentId === experimentId ? [] : id));
    this.forget(others);
    this.begin(experimentId);
    return others.length;
  }

  /** Begins the file, with what is left of those that were taken over. */
  private begin(experiment_id: string | null): void {
    if (!this.fs) return;
    this.header = { run_key: this.runKey, experiment_id, ...thisProcess(), started_at: Date.now() };
    this.attempt(() => {
      this.rewrite();
      for (const path of this.files.splice(2)) this.fs!.rmSync(path, { force: true });
    });
    this.timer ??= setInterval(() => this.touch(new Date()), TOUCH_MS);
    this.timer.unref?.();
  }

  /** Reads the lines of a file. Ignores a line that is cut off, because its process was killed or the disk was full. */
  private read(text: string, experimentId: string | null): void {
    for (const written of text.split('\n').slice(0, -1)) {
      let line: Line;
      try {
        line = JSON.parse(written) as Line;
      } catch {
        continue;
      }
      if ('call' in line) {
        const { call: id, ...call } = line;
        this.recovered.set(id, { call, experimentId });
        this.lines.set(id, `${written}\n`);
      } else if ('scored' in line && this.recovered.has(line.scored)) {
        const { scored: id, ...scored } = line;
        this.recovered.get(id)!.call.scored = scored;
        this.lines.set(id, `${this.lines.get(id)!}${written}\n`);
      } else if ('uploaded' in line) {
        this.forget(line.uploaded);
      }
    }
  }

  /** Number of finished calls that an earlier process has left. */
  get left(): number {
    return this.recovered.size;
  }

  /** Returns the finished call that an earlier process has left for a result, once. */
  take(id: string): FinishedCall | undefined {
    const found = this.recovered.get(id);
    this.recovered.delete(id);
    return found?.call;
  }

  /** Keeps a call that has ended. */
  call(id: string, call: FinishedCall, outputJson: string | undefined): void {
    if (this.fd === null) return;
    const { output: _, ...rest } = call;
    const start = JSON.stringify({ call: id, ...rest } satisfies Line);
    const line = outputJson === undefined ? `${start}\n` : `${start.slice(0, -1)},"output":${outputJson}}\n`;
    this.lines.set(id, line);
    this.append(line);
  }

  /** Keeps the scores of a call. */
  scored(id: string, scored: { scores: Scores; error?: string }): void {
    const line = `${JSON.stringify({ scored: id, ...scored } satisfies Line)}\n`;
    const before = this.lines.get(id);
    if (this.fd === null || before === undefined) return;
    this.lines.set(id, before + line);
    this.append(line);
  }

  /** Drops calls whose results the service has. */
  uploaded(ids: readonly string[]): void {
    this.forget(ids);
    if (this.fd === null) return;
    this.append(`${JSON.stringify({ uploaded: [...ids] } satisfies Line)}\n`);
    if (this.size > COMPACT_BYTES) this.attempt(() => this.rewrite());
  }

  /** Closes the file, and deletes it if the run has ended. Otherwise the next process can take it over at once. */
  close(hasEnded: boolean): void {
    clearInterval(this.timer);
    const { fs } = this;
    if (!fs) return;
    this.touch(new Date(0));
    try {
      this.closeFile();
      if (!hasEnded) return;
      for (const path of this.files) fs.rmSync(path, { force: true });
      // a later run would continue them, although this one is newer
      const { dir, prefix, runKey } = this.spec;
      if (runKey === null)
        for (const { path } of findAbandoned(fs, dir, prefix)) fs.rmSync(path, { force: true });
    } catch {
      // the run has its result all the same
    }
  }

  private closeFile(): void {
    const { fd } = this;
    this.fd = null;
    if (fd !== null) this.fs!.closeSync(fd);
  }

  private forget(ids: readonly string[]): void {
    for (const id of ids) {
      this.recovered.delete(id);
      this.lines.delete(id);
    }
  }

  private append(text: string): void {
    this.attempt(() => this.write(text));
  }

  private write(text: string): void {
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length;) at += this.fs!.writeSync(this.fd!, bytes, at);
    this.size += bytes.length;
  }

  /** Replaces the file by one with only what is not uploaded yet. */
  private rewrite(): void {
    if (!this.fs || !this.header || this.problem !== null) return;
    const [path, next] = this.files as [string, string];
    this.closeFile();
    this.fd = this.fs.openSync(next, 'w', 0o600);
    this.size = 0;
    this.write(`${JSON.stringify({ run: this.header } satisfies Line)}\n`);
    for (const line of this.lines.values()) this.write(line);
    this.fs.renameSync(next, path);
  }

  /** Goes on without the file if it cannot be written. What it already has stays there for the next process. */
  private attempt(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.problem = messageOf(error);
      this.closeFile();
      this.lines.clear();
    }
  }

  private touch(at: Date): void {
    if (this.fd === null) return;
    try {
      this.fs!.futimesSync(this.fd, at, at);
    } catch {
      // only makes another process wait longer, or take the file over, which loses nothing
    }
  }
}

/** Returns the file name prefix of the spools of a run: the name of the eval, as far as file systems allow, and a digest. */
export const spoolPrefix = (name: string, digest: string): string =>
  `${name.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 40)}-${digest.slice(0, 12)}`;
