import { messageOf, randomHex } from './json.js';
import type { Scores } from './scoring.js';
import {
  type AbandonedFile,
  builtin,
  type Files,
  findAbandoned,
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
  /** Whether an earlier process has left this run. */
  isContinued = false;
  /** Why finished calls are not kept in a file; null if they are. */
  problem: string | null = null;
  private readonly header: SpoolHeader;
  private readonly calls = new Map<string, FinishedCall>();
  /** The lines of the calls that are not uploaded yet. */
  private readonly lines = new Map<string, string>();
  /** The spool file, the file that replaces it, and those that were taken over. They are deleted once the run has ended. */
  private readonly files: string[];
  private fd: number | null = null;
  private size = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  private constructor(
    private readonly fs: Files | undefined,
    { dir, prefix, runKey }: SpoolSpec,
    abandoned: readonly AbandonedFile[],
  ) {
    const newest = abandoned.reduce<AbandonedFile | undefined>(
      (last, file) => (last && last.header.started_at >= file.header.started_at ? last : file),
      undefined,
    );
    this.runKey = runKey ?? newest?.header.run_key ?? `local-${randomHex(8)}`;
    this.isContinued = newest !== undefined;
    this.header = {
      run_key: this.runKey,
      experiment_id: newest?.header.experiment_id ?? null,
      host: '',
      pid: 0,
      process_started_at: 0,
      started_at: Date.now(),
    };
    const path = fs ? `${dir}/${prefix}-${process.pid}-${randomHex(4)}.jsonl` : '';
    this.files = [path, `${path}.new`];
  }

  /** Opens the spool of a run, and takes over what ended processes have left of the same run. */
  static open(spec: SpoolSpec): Spool {
    const fs = builtin('node:fs');
    if (!fs) return new Spool(undefined, spec, []);
    try {
      fs.mkdirSync(spec.dir, { recursive: true, mode: 0o700 });
      if (!fs.existsSync(`${spec.dir}/.gitignore`)) fs.writeFileSync(`${spec.dir}/.gitignore`, '*\n');
      const abandoned = findAbandoned(fs, spec.dir, spec.prefix);
      if (!spec.resume) abandoned.splice(0).forEach(({ path }) => fs.rmSync(path, { force: true }));
      const spool = new Spool(fs, spec, abandoned);
      spool.start(abandoned.filter(({ header }) => header.run_key === spool.runKey));
      return spool;
    } catch (error) {
      const spool = new Spool(undefined, spec, []);
      spool.problem = messageOf(error);
      return spool;
    }
  }

  /** Takes abandoned files over: renames each, so that no other process does, and keeps what is not uploaded. */
  private start(abandoned: readonly AbandonedFile[]): void {
    const fs = this.fs!;
    Object.assign(this.header, thisProcess());
    abandoned.forEach(({ path }, index) => {
      const own = this.files[0]!.replace(/\.jsonl$/, `-${index}.jsonl`);
      try {
        fs.renameSync(path, own);
      } catch {
        return; // another process was faster
      }
      this.files.push(own);
      this.read(fs.readFileSync(own, 'utf8'));
    });
    this.attempt(() => {
      this.rewrite();
      for (const path of this.files.slice(2)) fs.rmSync(path, { force: true });
    });
    this.timer = setInterval(() => this.touch(new Date()), TOUCH_MS);
    this.timer.unref?.();
  }

  /** Reads the lines of a file. Ignores a line that is cut off, because its process was killed or the disk was full. */
  private read(text: string): void {
    for (const written of text.split('\n').slice(0, -1)) {
      let line: Line;
      try {
        line = JSON.parse(written) as Line;
      } catch {
        continue;
      }
      if ('call' in line) {
        const { call: id, ...call } = line;
        this.calls.set(id, call);
        this.lines.set(id, `${written}\n`);
      } else if ('scored' in line && this.calls.has(line.scored)) {
        const { scored: id, ...scored } = line;
        this.calls.get(id)!.scored = scored;
        this.lines.set(id, `${this.lines.get(id)!}${written}\n`);
      } else if ('uploaded' in line) {
        this.forget(line.uploaded);
      }
    }
  }

  /** Names the experiment of the run. Returns the number of finished calls that belong to another one, and drops them. */
  bind(experimentId: string): number {
    const isOther = this.header.experiment_id !== null && this.header.experiment_id !== experimentId;
    const dropped = isOther ? this.calls.size : 0;
    if (isOther) this.forget([...this.calls.keys()]);
    this.header.experiment_id = experimentId;
    this.attempt(() => this.rewrite());
    return dropped;
  }

  /** Number of finished calls that an earlier process has left. */
  get left(): number {
    return this.calls.size;
  }

  /** Returns the finished call that an earlier process has left for a result, once. */
  take(id: string): FinishedCall | undefined {
    const call = this.calls.get(id);
    this.calls.delete(id);
    return call;
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
    if (!this.fs) return;
    this.touch(new Date(0));
    if (this.fd !== null) this.fs.closeSync(this.fd);
    this.fd = null;
    if (hasEnded) for (const path of this.files) this.fs.rmSync(path, { force: true });
  }

  private forget(ids: readonly string[]): void {
    for (const id of ids) {
      this.calls.delete(id);
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
    if (!this.fs || this.problem !== null) return;
    const [path, next] = this.files as [string, string];
    if (this.fd !== null) this.fs.closeSync(this.fd);
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
      if (this.fd !== null) this.fs!.closeSync(this.fd);
      this.fd = null;
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
