import './starting';
import { parseArgs } from 'node:util';
import { readEnvironment } from '#platform/config';
import { logToStandardError, rootLogger, setLogLevel } from '#platform/logging';
import { start } from '#platform/process';
import { migrate } from './database/migrate';
import { planMigration } from './database/plan';

/**
 * Migrates the database to the schema of this release and exits, for a rollout that migrates before it replaces processes. With
 * `--plan`, prints the steps instead, and changes nothing.
 */
start(async () => {
  const { values } = parseArgs({ options: { plan: { type: 'boolean', default: false } } });
  const environment = readEnvironment();
  setLogLevel(environment.LOG_LEVEL);
  if (values.plan) {
    logToStandardError();
    const lines = await planMigration(environment.DATABASE_URL);
    process.stdout.write(`${lines.join('\n')}\n`);
    return;
  }
  await migrate(environment.DATABASE_URL);
  rootLogger.info('the database has the current schema');
});
