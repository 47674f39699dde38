import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { readEnvironment } from '#platform/config';
import { PeriodicTasks } from '#platform/jobs';
import { JsonLogger } from '#platform/logging';
import { WorkerModule } from '../../src/worker.module';
import type { TestApp } from './test-app';

/** The real worker, within the test's process. */
export class TestWorker {
  constructor(private readonly context: INestApplicationContext) {}

  /** Returns a provider of the worker. */
  get<Type>(type: abstract new (...args: never[]) => Type): Type {
    return this.context.get<Type>(type as never, { strict: false });
  }

  /** Stops the periodic tasks, so that only the test starts their work. */
  async stopPeriodicTasks(): Promise<void> {
    await this.get(PeriodicTasks).beforeApplicationShutdown();
  }

  /** Stops the worker as SIGTERM would. */
  close(): Promise<void> {
    return this.context.close();
  }
}

/** Boots a worker on the database and the queue of an API. Close it before the API. */
export async function createTestWorker(app: TestApp, env: Record<string, string> = {}): Promise<TestWorker> {
  const environment = readEnvironment({ ...app.env, ...env });
  const context = await NestFactory.createApplicationContext(WorkerModule.forRoot(environment), {
    abortOnError: false,
    bufferLogs: true,
    logger: new JsonLogger(),
  });
  return new TestWorker(context);
}

/** A worker in a separate process, which can be killed. */
export class WorkerProcess {
  private constructor(private readonly child: ChildProcess) {}

  /** Starts a worker on the database and the queue of an API, and waits until it runs. */
  static async start(app: TestApp, env: Record<string, string> = {}): Promise<WorkerProcess> {
    const child = spawn(process.execPath, [path.resolve('dist/src/worker.js')], {
      env: { PATH: process.env.PATH, ...app.env, ...env, LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const worker = new WorkerProcess(child);
    await new Promise<void>((resolve, reject) => {
      let output = '';
      child.stdout!.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-10_000);
        if (output.includes('the worker is running')) resolve();
      });
      child.once('exit', (code) => reject(new Error(`The worker ended with ${code}: ${output}`)));
    });
    return worker;
  }

  /** Kills the process with SIGKILL. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Asks the process to stop, and returns its exit code. */
  stop(): Promise<number | null> {
    return this.end('SIGTERM');
  }

  private async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const ended = once(this.child, 'exit');
      this.child.kill(signal);
      await ended;
    }
    return this.child.exitCode;
  }
}
