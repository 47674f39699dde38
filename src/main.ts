import './starting';
import './traced-api';
import 'reflect-metadata';
import { readEnvironment } from '#platform/config';
import { rootLogger, setLogLevel } from '#platform/logging';
import { start, stopOnSignal } from '#platform/process';
import { KeyRing } from '#platform/secrets';
import { createApi, listen } from './create-api';
import { migrate } from './database/migrate';

/** The API process. Any number of them may share one database. */
start(async () => {
  const environment = readEnvironment();
  setLogLevel(environment.LOG_LEVEL);
  new KeyRing(environment); // checks the keys
  await migrate(environment.DATABASE_URL);
  const app = await createApi(environment);
  stopOnSignal(() => app.close(), environment.SHUTDOWN_SECONDS);
  await listen(app, environment);
  rootLogger.info({ url: await app.getUrl() }, 'the API is listening');
});
