import { readEnvironment } from '#platform/config';
import { rootLogger, setLogLevel } from '#platform/logging';
import { start } from '#platform/process';
import { migrate } from './database/migrate';

// the first process of a container gets no signal's default action; what a migration has not committed is undone
process.once('SIGTERM', () => process.exit(143));

/** Brings the database to the present schema and ends: for a rollout that migrates before it replaces processes. */
start(async () => {
  const environment = readEnvironment();
  setLogLevel(environment.LOG_LEVEL);
  if (!environment.DATABASE_URL) throw new Error('DATABASE_URL is required.');
  await migrate(environment.DATABASE_URL);
  rootLogger.info('the database has the present schema');
});
