import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#platform/embedded-postgres';

const START_TIMEOUT_MS = 120_000;

/** What `npm start` writes to `DATA_DIR/bootstrap.json`. */
export interface Bootstrap {
  base_url: string;
  org_id: string;
  workspace_id: string;
  api_key: string;
}

export interface StandaloneOptions {
  /** Variables that override the defaults. */
  env?: Record<string, string>;
  /** An existing, empty or migrated database. Default: a separate embedded PostgreSQL. */
  databaseUrl?: string;
  /** Directory of the build to run. */
  dist?: string;
  /** A module that the process loads first. It can send messages to `onMessage`. */
  preload?: string;
  onMessage?: (message: unknown) => void;
}

/**
 * The service in a separate process, as `npm start` runs it: API and worker, with its own data directory and a free port.
 * Its embedded database is as durable as in production: the server syncs its commits.
 */
export class StandaloneService {
  /** Resolves when the process has ended, with its exit code or signal. */
  readonly ended: Promise<string>;

  private constructor(
    /** Its `DATA_DIR`. */
    readonly directory: string,
    private readonly postgres: EmbeddedPostgres | null,
    private readonly child: ChildProcess,
    private readonly dist: string,
    private readonly env: NodeJS.ProcessEnv,
  ) {
    this.ended = once(child, 'exit').then(([code, signal]) => String(signal ?? code));
  }

  private readBootstrap?: Bootstrap;

  get bootstrap(): Bootstrap {
    return this.readBootstrap!;
  }

  get databaseUrl(): string {
    return this.env.DATABASE_URL!;
  }

  get pid(): number {
    return this.child.pid!;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Starts it, and waits until it is ready. */
  static async start(options: StandaloneOptions = {}): Promise<StandaloneService> {
    const dist = path.resolve(options.dist ?? 'dist');
    const directory = await mkdtemp(path.join(os.tmpdir(), 'standalone-'));
    const postgres = options.databaseUrl
      ? null
      : await startEmbeddedPostgres({ dataDir: path.join(directory, 'postgres') });
    const env = {
      ...process.env,
      LOG_LEVEL: 'error',
      MALLOC_ARENA_MAX: '2',
      ...options.env,
      DATABASE_URL: options.databaseUrl ?? postgres!.url,
      DATA_DIR: directory,
      SECRETS_KEY: Buffer.alloc(32, 1).toString('base64'), // the same for all services on one database
      PORT: '0',
      HOST: '127.0.0.1',
    };
    const preload = options.preload ? ['--require', path.resolve(options.preload)] : [];
    const flags = ['--max-semi-space-size=4', ...preload];
    const child = spawn(process.execPath, [...flags, path.join(dist, 'src/standalone.js')], {
      cwd: path.dirname(dist),
      env,
      stdio: ['ignore', 'ignore', 'inherit', ...(options.onMessage ? (['ipc'] as const) : [])],
    });
    if (options.onMessage) child.on('message', options.onMessage);
    const service = new StandaloneService(directory, postgres, child, dist, env);
    try {
      service.readBootstrap = await service.ready();
      return service;
    } catch (error) {
      await service.stop();
      throw error;
    }
  }

  /** Starts another worker in a separate process. */
  async addWorker(): Promise<{ stop(): Promise<void> }> {
    const env = { ...this.env, LOG_LEVEL: 'info' };
    const worker = spawn(process.execPath, [path.join(this.dist, 'src/worker.js')], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise<void>((resolve, reject) => {
      worker.stdout.on('data', (text: Buffer) => text.includes('the worker is running') && resolve());
      worker.once('exit', (code) => reject(new Error(`The worker ended with code ${code}.`)));
    });
    return {
      stop: async () => {
        worker.kill('SIGTERM');
        if (worker.exitCode === null) await once(worker, 'exit');
      },
    };
  }

  /** Resident memory of the process, in bytes; 0 after its end. Linux only. */
  async memory(): Promise<number> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8').catch(() => '');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  }

  /** Kills the process. Call `stop` afterwards. */
  kill(): void {
    this.child.kill('SIGKILL');
  }

  /** Stops the process with SIGTERM, and removes its data. Kills a process that hangs after `graceMs`. */
  async stop(graceMs = 60_000): Promise<void> {
    if (this.isRunning) {
      this.child.kill('SIGTERM');
      const hangs = setTimeout(() => this.kill(), graceMs);
      await this.ended;
      clearTimeout(hangs);
    }
    await this.postgres?.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  private async ready(): Promise<Bootstrap> {
    const until = Date.now() + START_TIMEOUT_MS;
    while (Date.now() < until) {
      if (!this.isRunning) throw new Error(`The service ended with ${await this.ended}.`);
      const bootstrap = await readFile(path.join(this.directory, 'bootstrap.json'), 'utf8').then(
        (text) => JSON.parse(text) as Bootstrap,
        () => null,
      );
      const isReady =
        bootstrap &&
        (await fetch(`${bootstrap.base_url}/health/ready`).then(
          (answer) => answer.ok,
          () => false,
        ));
      if (isReady) return bootstrap;
      await delay(100);
    }
    throw new Error('The service did not start in time.');
  }
}
