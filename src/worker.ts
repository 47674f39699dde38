import './starting';
import './traced-worker';
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { readEnvironment } from '#platform/config';
import { JsonLogger, rootLogger, setLogLevel } from '#platform/logging';
import { start, stopOnSignal } from '#platform/process';
import { KeyRing } from '#platform/secrets';
import { migrate } from './database/migrate';
import { WorkerModule } from './worker.module';

/** The worker process. Any number of them may run next to the API processes, on the same database. */
start(async () => {
  const environment = readEnvironment();
  setLogLevel(environment.LOG_LEVEL);
  new KeyRing(environment); // checks the keys
  await migrate(environment.DATABASE_URL);
  const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(environment), {
    abortOnError: false,
    bufferLogs: true,
    logger: new JsonLogger(),
  });
  stopOnSignal(() => app.close(), environment.SHUTDOWN_SECONDS);
  rootLogger.info('the worker is running');
});
