import './starting';
import './traced-standalone';
import 'reflect-metadata';
import { mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type Environment, readEnvironment } from '#platform/config';
import { startEmbeddedPostgres } from '#platform/embedded-postgres';
import { setLogLevel } from '#platform/logging';
import { endWith, start, stopOnSignal } from '#platform/process';
import { createApi } from './create-api';
import { migrate } from './database/migrate';
import { keepBootstrap, keepSecretsKey } from './standalone-files';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/**
 * Everything in one process, as `npm start` runs it: API and worker, with an embedded PostgreSQL unless
 * `DATABASE_URL` names another. What it needs to be used is written to `DATA_DIR/bootstrap.json`.
 */
start(async () => {
  const environment = readEnvironment();
  setLogLevel(environment.LOG_LEVEL);
  const directory = path.resolve(environment.DATA_DIR);
  await mkdir(directory, { recursive: true, mode: 0o700 });

  let stopping = false;
  const postgres = environment.DATABASE_URL
    ? null
    : await startEmbeddedPostgres({
        dataDir: path.join(directory, 'postgres'),
        log: say,
        // whoever restarts the process restarts both; without a database it would never be ready again
        onLost: (error) => {
          if (!stopping) endWith(error);
        },
      });
  environment.DATABASE_URL ??= postgres!.url;
  let app: NestExpressApplication | null = null;
  stopOnSignal(async () => {
    stopping = true;
    await app?.close();
    await postgres?.stop();
  }, environment.SHUTDOWN_SECONDS);

  try {
    // not before the directory is known to be this process's own
    environment.SECRETS_KEY ??= await keepSecretsKey(directory);
    await migrate(
      environment.DATABASE_URL,
      postgres
        ? {
            remedy: `move the data directory ${directory} away, for example to ${directory}.old, and start again`,
          }
        : {},
    );
    app = await createApi(environment, { withWorker: true });
    await app.listen(environment.PORT, environment.HOST);
    const baseUrl = baseUrlOf(environment, app);
    const file = await keepBootstrap(app, directory, baseUrl);
    say(`Listening on ${baseUrl}, documented at ${baseUrl}/docs`);
    say('Try it:');
    say(`  ${curlLine(baseUrl, file)}`);
  } catch (error) {
    if (stopping) return; // it failed because it was told to stop
    await app?.close();
    await postgres?.stop();
    throw error;
  }
});

function baseUrlOf(environment: Environment, app: NestExpressApplication): string {
  const { port } = app.getHttpServer().address() as AddressInfo;
  return environment.PUBLIC_URL?.replace(/\/+$/, '') ?? `http://localhost:${port}`;
}

/** A line that works in a shell as it stands; it reads the key from its file, so that no log holds the key. */
function curlLine(baseUrl: string, file: string): string {
  const read = (member: string): string => `$(node -p 'require(${JSON.stringify(file)}).${member}')`;
  return (
    `curl -H "Authorization: Bearer ${read('api_key')}" ` +
    `-H "X-Service-Workspace-Id: ${read('workspace_id')}" ${baseUrl}/eval/v1/datasets`
  );
}
