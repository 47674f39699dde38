import './starting';
import { readEnvironment } from '#platform/config';
import { rootLogger, setLogLevel } from '#platform/logging';
import { start } from '#platform/process';
import { migrate } from './database/migrate';

/** Migrates the database to the current schema and exits, for a rollout that migrates before it replaces processes. */
start(async () => {
  const environment = readEnvironment();
  setLogLevel(environment.LOG_LEVEL);
  await migrate(environment.DATABASE_URL);
  rootLogger.info('the database has the current schema');
});
