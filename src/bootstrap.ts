import './starting';
import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { type DynamicModule, Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ConfigModule, type Environment, readEnvironment } from '#platform/config';
import { DatabaseModule } from '#platform/db';
import { JobQueue } from '#platform/jobs';
import { logToStandardError, setLogLevel } from '#platform/logging';
import { start } from '#platform/process';
import { KeyRing } from '#platform/secrets';
import { migrate } from './database/migrate';
import { bootstrap, RegistryModule } from './registry';

/** Bootstrapping enqueues no jobs, so it connects to no queue. */
@Global()
@Module({
  providers: [
    { provide: JobQueue, useValue: { enqueue: () => Promise.reject(new Error('There is no queue.')) } },
  ],
  exports: [JobQueue],
})
class NoQueueModule {}

@Module({})
class BootstrapModule {
  static forRoot(environment: Environment): DynamicModule {
    return {
      module: BootstrapModule,
      imports: [ConfigModule.forRoot(environment), DatabaseModule.forRoot(), NoQueueModule, RegistryModule],
    };
  }
}

/** Writes to standard error, because standard output is for the result. */
const reportWait = (seconds: number): void =>
  void process.stderr.write(`waiting for another process that migrates the database (${seconds} s)\n`);

/**
 * Creates the first organization of an installation, and prints its ids and API key as one line of JSON to standard output.
 * If the organization already exists, `api_key` is null; with `--new-key`, another key is created.
 */
start(async () => {
  logToStandardError();
  const { values } = parseArgs({ options: { 'new-key': { type: 'boolean', default: false } } });
  const environment = readEnvironment();
  setLogLevel(environment.LOG_LEVEL);
  new KeyRing(environment); // checks the keys
  await migrate(environment.DATABASE_URL, { onWait: reportWait });
  const app = await NestFactory.createApplicationContext(BootstrapModule.forRoot(environment), {
    logger: false,
    abortOnError: false,
  });
  try {
    const result = await bootstrap(app, { newKey: values['new-key'] });
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    await app.close();
  }
});
