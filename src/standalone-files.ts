import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { StartError } from '#platform/process';
import { bootstrap } from './registry';

const KEY_BYTES = 32;
const SECRET_FILE_MODE = 0o600;

/** The ids and the API key that a client needs to use a new installation. */
interface BootstrapFile {
  base_url: string;
  org_id: string;
  workspace_id: string;
  service_account_id: string;
  api_key: string;
}

/**
 * Returns the installation's `SECRETS_KEYS` from `DATA_DIR/secrets.key`, which has one key in each line, newest first. Creates it
 * with one key on the first start. Processes that start at the same time all use the key that was written first.
 *
 * @throws StartError if the file contains something else
 */
export async function ensureSecretsKeys(directory: string): Promise<string[]> {
  const file = path.join(directory, 'secrets.key');
  const stored = await readOrNull(file);
  if (stored !== null) return validKeys(stored, file);
  const draft = await writeDraft(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
  try {
    await link(draft, file); // unlike rename, never replaces a file
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return validKeys(await readFile(file, 'utf8'), file);
}

function validKeys(content: string, file: string): string[] {
  const keys = content.trim().split(/\s+/);
  if (keys.every((key) => Buffer.from(key, 'base64').length === KEY_BYTES)) return keys;
  throw new StartError(
    `${file} does not contain keys of ${KEY_BYTES} bytes in base64, one in each line; restore it from a backup, because the stored secrets cannot be decrypted without it.`,
  );
}

/**
 * Creates the first organization, workspace and API key unless they exist, and writes `DATA_DIR/bootstrap.json`. The key
 * stays the same across starts; a new one is created only if the file is missing or belongs to another database. The file of
 * another database is kept under the name of its organization.
 *
 * @returns the path of the file
 */
export async function ensureBootstrap(
  app: INestApplicationContext,
  directory: string,
  baseUrl: string,
  print: (line: string) => void,
): Promise<string> {
  const file = path.join(directory, 'bootstrap.json');
  const stored = parseBootstrap(await readOrNull(file));
  let result = await bootstrap(app);
  const isSameAccount = stored?.service_account_id === result.service_account_id;
  if (result.api_key === null && !isSameAccount) result = await bootstrap(app, { newKey: true });
  if (stored && stored.org_id !== result.org_id) {
    const copy = path.join(directory, `bootstrap-${stored.org_id}.json`);
    await rename(file, copy);
    print(`${file} was of another database, and is kept as ${copy}`);
  }
  const content: BootstrapFile = {
    base_url: baseUrl,
    org_id: result.org_id,
    workspace_id: result.workspace_id,
    service_account_id: result.service_account_id,
    api_key: result.api_key ?? stored!.api_key,
  };
  await writeAtomically(file, `${JSON.stringify(content, null, 2)}\n`);
  return file;
}

function parseBootstrap(text: string | null): BootstrapFile | null {
  if (text === null) return null;
  try {
    const content = JSON.parse(text) as Partial<BootstrapFile> | null;
    return content && typeof content.api_key === 'string' ? (content as BootstrapFile) : null;
  } catch {
    return null; // not valid JSON: it is written again
  }
}

async function readOrNull(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Writes a draft and renames it, so that a reader sees either the old or the new content. */
async function writeAtomically(file: string, content: string): Promise<void> {
  await rename(await writeDraft(file, content), file);
}

/** Writes a file with a random name. A process id would not be unique across containers that share the directory. */
async function writeDraft(file: string, content: string): Promise<string> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, content, { mode: SECRET_FILE_MODE, flag: 'wx', flush: true });
  return draft;
}
