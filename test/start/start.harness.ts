import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import ts from 'typescript';
import { until } from '#testing';

/** How a command ended. */
export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The variables of a terminal that npm and the service need. */
const TERMINAL = { PATH: process.env.PATH, HOME: process.env.HOME };

/** Runs a command until it ends. */
export const runToEnd = (
  [command, ...args]: readonly string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Promise<Ended> =>
  new Promise((resolve) => {
    const env = { ...TERMINAL, ...options.env };
    const child = execFile(command!, args, { ...options, env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });

/** Returns the files that a build of the shipped code writes, without source maps. */
export function builtFiles(): string[] {
  const config = ts.getParsedCommandLineOfConfigFile(
    'tsconfig.build.json',
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined },
  )!;
  return config.fileNames
    .filter((file) => !file.endsWith('.d.ts'))
    .map((file) => path.join('dist', path.relative('.', file).replace(/\.ts$/, '.js')));
}

/** Creates a temporary directory for a test. */
export const temporaryDirectory = (): string => mkdtempSync(path.join(os.tmpdir(), 'start-'));

/** A command that runs the service, with its own data and a free port. */
export class StartedService {
  stdout = '';
  stderr = '';
  /** Resolves when the command has ended, and nobody has its output open any more. */
  private readonly closed: Promise<unknown[]>;

  constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    private readonly isKept: boolean,
  ) {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.closed = once(child, 'close');
  }

  /**
   * Starts a command in `cwd`, and waits until the service is ready.
   *
   * @param dataDir the data of an earlier start, which are kept. Defaults to a new directory
   */
  static async start(
    [command, ...args]: readonly string[],
    { cwd = '.', dataDir }: { cwd?: string; dataDir?: string } = {},
  ): Promise<StartedService> {
    const directory = dataDir ?? temporaryDirectory();
    const env = { ...TERMINAL, DATA_DIR: directory, PORT: '0' };
    const service = new StartedService(spawn(command!, args, { cwd, env }), directory, dataDir !== undefined);
    await until(() => service.hasEnded || service.stdout.includes('Try it:'));
    if (!service.hasEnded) return service;
    service.kill();
    throw new Error(`It ended with ${service.child.exitCode}: ${service.stdout}${service.stderr}`);
  }

  /** The variables with which a client finds the service. */
  get env(): NodeJS.ProcessEnv {
    return { DATA_DIR: this.directory };
  }

  get bootstrapFile(): string {
    return path.join(this.directory, 'bootstrap.json');
  }

  /** Stops it with SIGTERM, and waits until every process of it has ended. Returns the exit code of the command. */
  async stop(): Promise<unknown> {
    this.child.kill('SIGTERM');
    const [code] = await this.closed;
    if (!this.isKept) rmSync(this.directory, { recursive: true });
    return code;
  }

  /** Kills the command if a failed test left it running, and removes its data. For `afterEach`. */
  kill(): void {
    this.child.kill('SIGKILL');
    if (!this.isKept) rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  private get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }
}

/**
 * Runs a suite that needs packages from the npm registry, which `install` installs into a temporary directory. If the
 * registry cannot be reached, a single test replaces the suite, and its title says that nothing was tested.
 */
export function describeWithPackages(
  name: string,
  packages: readonly string[],
  suite: (directory: string) => void,
): void {
  const directory = temporaryDirectory();
  const { status, stderr } = spawnSync(
    'npm',
    ['install', '--prefix', directory, '--ignore-scripts', '--no-audit', '--no-fund', ...packages],
    { encoding: 'utf8' },
  );
  describe(name, () => {
    afterAll(() => rmSync(directory, { recursive: true }));
    if (status === 0) {
      suite(path.join(directory, 'node_modules'));
      return;
    }
    process.stderr.write(`\nWARNING (npm): "${name}" was NOT tested: ${stderr}\n`);
    it('was NOT tested: npm cannot install its packages here', () => {
      expect(status).not.toBe(0);
    });
  });
}
