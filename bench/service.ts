import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#platform/embedded-postgres';

const START_TIMEOUT_MS = 120_000;

export interface Bootstrap {
  base_url: string;
  org_id: string;
  workspace_id: string;
  api_key: string;
}

/** The service in a separate process, like `npm start`, on a temporary database. */
export class BenchedService {
  private constructor(
    private readonly directory: string,
    private readonly postgres: EmbeddedPostgres,
    private readonly child: ChildProcess,
    private readonly env: NodeJS.ProcessEnv,
    readonly bootstrap: Bootstrap,
  ) {}

  get databaseUrl(): string {
    return this.postgres.url;
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** Durable as in production: the server syncs its commits. */
  static async start(variables: Record<string, string> = {}): Promise<BenchedService> {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'bench-'));
    const postgres = await startEmbeddedPostgres({ dataDir: path.join(directory, 'postgres') });
    const env = {
      ...process.env,
      ...variables,
      DATABASE_URL: postgres.url,
      DATA_DIR: directory,
      SECRETS_KEY: randomBytes(32).toString('base64'),
      PORT: '0',
      HOST: '127.0.0.1',
      LOG_LEVEL: 'error',
    };
    const child = spawn(process.execPath, ['dist/src/standalone.js'], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const bootstrap = await ready(child, path.join(directory, 'bootstrap.json'));
    return new BenchedService(directory, postgres, child, env, bootstrap);
  }

  /** Starts another worker in a separate process. */
  async addWorker(): Promise<{ stop(): Promise<void> }> {
    const env = { ...this.env, LOG_LEVEL: 'info' };
    const worker = spawn(process.execPath, ['dist/src/worker.js'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise<void>((resolve, reject) => {
      worker.stdout.on('data', (text: Buffer) => text.includes('the worker runs') && resolve());
      worker.once('exit', (code) => reject(new Error(`The worker ended with code ${code}.`)));
    });
    return {
      stop: async () => {
        worker.kill('SIGTERM');
        if (worker.exitCode === null) await once(worker, 'exit');
      },
    };
  }

  /** Resident memory of the process, in bytes (Linux). */
  async memory(): Promise<number> {
    const status = await readFile(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    if (this.child.exitCode === null) await once(this.child, 'exit');
    await this.postgres.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}

async function ready(child: ChildProcess, file: string): Promise<Bootstrap> {
  const until = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < until) {
    if (child.exitCode !== null) throw new Error(`The service ended with code ${child.exitCode}.`);
    const bootstrap = await readFile(file, 'utf8').then(
      (text) => JSON.parse(text) as Bootstrap,
      () => null,
    );
    const live =
      bootstrap &&
      (await fetch(`${bootstrap.base_url}/health/ready`).then(
        (answer) => answer.ok,
        () => false,
      ));
    if (live) return bootstrap;
    await delay(100);
  }
  throw new Error('The service did not start in time.');
}
