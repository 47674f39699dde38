import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { ApiClient } from './api-client';
import type { TestApp } from './test-app';

/** An API process in addition to the test's own, on the same database. */
export class ApiProcess {
  private constructor(
    private readonly child: ChildProcess,
    /** Its base URL. */
    readonly url: string,
  ) {}

  /** Starts a process with the environment of an app, and waits until it listens. */
  static async start(app: TestApp, env: Record<string, string> = {}): Promise<ApiProcess> {
    const child = spawn(process.execPath, [path.resolve('dist/src/main.js')], {
      env: { PATH: process.env.PATH, ...app.env, ...env, LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const url = await new Promise<string>((resolve, reject) => {
      const last: string[] = [];
      createInterface({ input: child.stdout }).on('line', (line) => {
        last.splice(0, last.length - 50, line);
        if (line.includes('"msg":"the API is listening"')) resolve((JSON.parse(line) as { url: string }).url);
      });
      child.once('exit', (code) => reject(new Error(`The API ended with ${code}: ${last.join('\n')}`)));
    });
    return new ApiProcess(child, url);
  }

  private get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Returns a client of this process. */
  client(token: string, workspaceId?: string): ApiClient {
    return new ApiClient(this.url, token, workspaceId);
  }

  /** Kills the process with SIGKILL, and waits for its end. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }

  /** Stops the process with SIGTERM, and waits for its end. */
  async stop(): Promise<void> {
    if (!this.isRunning) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
  }
}
