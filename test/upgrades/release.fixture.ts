import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** A process of a release. */
export class ReleaseProcess {
  /** Lines that it logged at the levels error and fatal, and its output that is no log. */
  readonly errors: string[] = [];
  /** Base URL of an API. */
  url = '';
  private readonly ended: Promise<number | null>;

  constructor(private readonly child: ChildProcess) {
    this.ended = once(child, 'close').then(([code]) => code as number | null);
  }

  /** Waits until it logs this message. Rejects if it ends before. */
  async ready(message: string): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: this.child.stdout! }).on('line', (line) => {
        const { level, msg, url } = parse(line);
        if (level === 'error' || level === 'fatal') this.errors.push(line);
        if (msg !== message) return;
        this.url = url ?? '';
        resolve();
      });
      void this.ended.then((code) => reject(new Error(`It ended with ${code}: ${this.errors.join('\n')}`)));
    });
    return this;
  }

  /** Stops it with SIGTERM, and returns its exit code. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.ended;
  }

  /** Kills it if it still runs. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}

const parse = (line: string): { level: string; msg: string; url?: string } => {
  try {
    return JSON.parse(line) as { level: string; msg: string };
  } catch {
    return { level: 'error', msg: line };
  }
};

/** A built release in a directory of its own. */
export class Release {
  readonly processes: ReleaseProcess[] = [];

  private constructor(
    private readonly directory: string,
    private readonly env: Record<string, string>,
    private readonly onRemove: () => void = () => undefined,
  ) {}

  /** Checks out a commit, and builds it without checking types. */
  static previous(commit: string, directory: string, env: Record<string, string>): Release {
    execFileSync('git', ['worktree', 'add', '--detach', '--quiet', directory, commit]);
    const isInstalled = readFileSync('package-lock.json').equals(
      readFileSync(path.join(directory, 'package-lock.json')),
    );
    if (isInstalled) symlinkSync(path.resolve('node_modules'), path.join(directory, 'node_modules'));
    else execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: directory });
    const build = ['scripts/build.mjs', 'tsconfig.build.json', '--no-check'];
    execFileSync(process.execPath, build, { cwd: directory, stdio: 'inherit' });
    return new Release(directory, env, () =>
      execFileSync('git', ['worktree', 'remove', '--force', directory]),
    );
  }

  /**
   * Copies the present build, and adds the migrations of `next-release.fixture.ts`, so that it becomes the next release.
   *
   * @param release the version in its `package.json`
   */
  static next(release: string, directory: string, env: Record<string, string>): Release {
    mkdirSync(directory);
    symlinkSync(path.resolve('node_modules'), path.join(directory, 'node_modules'));
    const { imports, engines } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, unknown>;
    writeFileSync(
      path.join(directory, 'package.json'),
      JSON.stringify({ version: release, imports, engines }),
    );
    for (const part of ['dist/src', 'dist/libs', 'dist/test/upgrades', 'openapi.json']) {
      cpSync(part, path.join(directory, part), { recursive: true });
    }
    const migrations = path.join(directory, 'dist/src/database/migrations/index.js');
    writeFileSync(
      migrations,
      `${readFileSync(migrations, 'utf8')}
exports.MIGRATIONS = [...exports.MIGRATIONS, ...require('../../../test/upgrades/next-release.fixture.js').NEXT_MIGRATIONS];
`,
    );
    return new Release(directory, env);
  }

  /** Runs a process to its end, and returns its standard output. Throws if it fails. */
  async run(entry: string, ...args: string[]): Promise<string> {
    const { code, output, errors } = await this.end(entry, ...args);
    if (code !== 0) throw new Error(`${entry} ended with ${code}: ${output}${errors}`);
    return output;
  }

  /** Runs a process until it ends. Returns its standard output and its standard error. */
  async end(entry: string, ...args: string[]) {
    const child = this.spawn(entry, args, 'pipe');
    let [output, errors] = ['', ''];
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output, errors };
  }

  api(): Promise<ReleaseProcess> {
    return this.start('main', 'the API is listening');
  }

  worker(): Promise<ReleaseProcess> {
    return this.start('worker', 'the worker is running');
  }

  /** Ends its processes, and removes its directory. */
  async remove(): Promise<void> {
    await Promise.all(this.processes.map((process) => process.kill()));
    this.onRemove();
    if (existsSync(this.directory)) rmSync(this.directory, { recursive: true });
  }

  private start(entry: string, message: string): Promise<ReleaseProcess> {
    const started = new ReleaseProcess(this.spawn(entry, []));
    this.processes.push(started);
    return started.ready(message);
  }

  private spawn(
    entry: string,
    args: readonly string[],
    stderr: 'inherit' | 'pipe' = 'inherit',
  ): ChildProcess {
    return spawn(process.execPath, [`dist/src/${entry}.js`, ...args], {
      cwd: this.directory,
      env: { PATH: process.env.PATH, ...this.env },
      stdio: ['ignore', 'pipe', stderr],
    });
  }
}
