import './starting';
import './traced-standalone';
import 'reflect-metadata';
import { access, constants, mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type Environment, readEnvironment } from '#platform/config';
import { startEmbeddedPostgres } from '#platform/embedded-postgres';
import type { KeyRotation } from '#platform/key-rotation';
import { setLogLevel } from '#platform/logging';
import { endWith, printEnd, start, StartError, stopOnSignal } from '#platform/process';
import type { SealedColumn } from '#platform/secrets';

/** Loads the modules of the application, which takes about a second. */
const loadApplication = async () => ({
  ...(await import('./create-api.js')),
  ...(await import('./database/migrate.js')),
  ...(await import('./sealed-columns.js')),
  ...(await import('#platform/key-rotation')),
  ...(await import('./standalone-files.js')),
});

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/**
 * API and worker in one process, as `npm start` runs them, with an embedded PostgreSQL unless `DATABASE_URL` is set. Writes
 * the ids and the API key that a client needs to `DATA_DIR/bootstrap.json`.
 */
start(async () => {
  const environment = readEnvironment();
  setLogLevel(environment.LOG_LEVEL);
  const directory = path.resolve(environment.DATA_DIR);
  await createDataDirectory(directory);

  let stopping = false;
  const postgres = environment.DATABASE_URL
    ? null
    : await startEmbeddedPostgres({
        dataDir: path.join(directory, 'postgres'),
        log: print,
        // ends the process, because it cannot recover without its database, and a restart starts both
        onLost: (error) => {
          if (!stopping) endWith(error);
        },
        // the modules are loaded once: the call below waits for them, and reports a failure
        whileStarting: () => void loadApplication().catch(() => undefined),
      });
  const { createApi, ensureBootstrap, ensureSecretsKeys, KeyRotation, listen, migrate, SEALED_COLUMNS } =
    await loadApplication();
  environment.DATABASE_URL ??= postgres!.url;
  let app: NestExpressApplication | undefined;
  stopOnSignal(async () => {
    stopping = true;
    await app?.close();
    await postgres?.stop();
  }, environment.SHUTDOWN_SECONDS);

  try {
    // after the embedded PostgreSQL has claimed the directory for this process
    if (!environment.SECRETS_KEY) environment.SECRETS_KEYS ??= await ensureSecretsKeys(directory);
    await migrate(
      environment.DATABASE_URL,
      postgres
        ? {
            remedy: `move the data directory ${directory} away, for example to ${directory}.old, and start again`,
          }
        : {},
    );
    app = await createApi(environment, { withWorker: true, isOnlyProcess: postgres !== null });
    // before it serves, so that an operator of the embedded database need not find its URL for rotate-secrets
    if (postgres) await rotateIfDue(app.get(KeyRotation, { strict: false }), SEALED_COLUMNS);
    await listen(app, environment);
    const baseUrl = baseUrlOf(environment, app);
    const file = await ensureBootstrap(app, directory, baseUrl, print);
    print(`Listening on ${baseUrl}, documented at ${baseUrl}/docs`);
    print('Try it:');
    print(`  ${curlLine(baseUrl, file)}`);
  } catch (error) {
    if (stopping) return; // the error is a consequence of the shutdown
    // the sentence is sufficient: connections that are still open would log the end of the database
    if (error instanceof StartError) setLogLevel('silent');
    await app?.close();
    await postgres?.stop();
    throw error;
  }
}, reportEnd);

/** Re-encrypts all secrets if `secrets.key` has a new first line. */
async function rotateIfDue(rotation: KeyRotation, columns: readonly SealedColumn[]): Promise<void> {
  if (!(await rotation.isDue())) return;
  try {
    const key = await rotation.run({ columns, isOnlyProcess: true });
    print(
      `All secrets are encrypted with the key ${key} now. Remove the other keys from secrets.key in DATA_DIR.`,
    );
  } catch (error) {
    // a secret that cannot be decrypted is replaced while the service runs; all keys are still in use
    if (!(error instanceof StartError)) throw error;
    print(`${error.message} The next start tries again.`);
  }
}

/** Reports a file in DATA_DIR that this user may not open in one sentence, because it may belong to another user. */
function reportEnd(error: unknown): void {
  const { code, path: file, message } = error as NodeJS.ErrnoException;
  const isDenied = code === 'EACCES' && file !== undefined;
  printEnd(
    isDenied
      ? new StartError(
          `${message}; start as the user that owns this file, or set DATA_DIR to another directory.`,
        )
      : error,
  );
}

async function createDataDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await access(directory, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartError(
      `DATA_DIR ${directory} cannot be written (${(error as Error).message}); set DATA_DIR to a directory that this user can write to.`,
      { cause: error },
    );
  }
}

function baseUrlOf(environment: Environment, app: NestExpressApplication): string {
  const { port } = app.getHttpServer().address() as AddressInfo;
  return environment.PUBLIC_URL?.replace(/\/+$/, '') ?? `http://localhost:${port}`;
}

/** Returns a command line for any shell. It reads the key from its file, so that no log contains the key. */
function curlLine(baseUrl: string, file: string): string {
  const read = (member: string): string => `$(node -p 'require(${JSON.stringify(file)}).${member}')`;
  return (
    `curl -H "Authorization: Bearer ${read('api_key')}" ` +
    `-H "X-Service-Workspace-Id: ${read('workspace_id')}" ${baseUrl}/eval/v1/datasets`
  );
}
