// npm run openapi: writes openapi.json from the compiled code, with a temporary database.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../dist/src/standalone.js', import.meta.url));
require('reflect-metadata');
const { readEnvironment } = require('#platform/config');
const { startEmbeddedPostgres } = require('#platform/embedded-postgres');
const { setLogLevel } = require('#platform/logging');
const { createApi } = require('./create-api.js');
const { migrate } = require('./database/migrate.js');
const { OpenApiSource } = require('./openapi/index.js');

setLogLevel('error');
const storage = mkdtempSync(path.join(os.tmpdir(), 'openapi-storage-'));
const postgres = await startEmbeddedPostgres({
  dataDir: mkdtempSync(path.join(os.tmpdir(), 'openapi-')),
  ephemeral: true,
});
try {
  await migrate(postgres.url);
  const environment = readEnvironment({
    DATABASE_URL: postgres.url,
    STORAGE_URL: pathToFileURL(storage).href,
    SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  });
  const app = await createApi(environment);
  await app.init();
  const document = app.get(OpenApiSource).servedDocument();
  writeFileSync(new URL('../openapi.json', import.meta.url), `${JSON.stringify(document, null, 2)}\n`);
  await app.close();
} finally {
  await postgres.stop();
  rmSync(storage, { recursive: true });
}
