import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { bootstrap } from './registry';

const SECRET_FILE_MODE = 0o600;

/** What a client needs to use a fresh installation. */
interface BootstrapFile {
  base_url: string;
  org_id: string;
  workspace_id: string;
  service_account_id: string;
  api_key: string;
}

/**
 * The installation's `SECRETS_KEY`, made on its first start and kept in `DATA_DIR/secrets.key`. Of processes that make
 * it at once, all go on with that of the first: what another one sealed nobody could open after the next start.
 */
export async function keepSecretsKey(directory: string): Promise<string> {
  const file = path.join(directory, 'secrets.key');
  const kept = await readOrNull(file);
  if (kept !== null) return kept.trim();
  const draft = await writeDraft(file, `${randomBytes(32).toString('base64')}\n`);
  try {
    await link(draft, file); // unlike a rename, it replaces nothing
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(file, 'utf8')).trim();
}

/**
 * Makes the first organization, workspace and key where there are none, and keeps `DATA_DIR/bootstrap.json` in step:
 * the same key from start to start, another one only where the file was lost or belongs to another database.
 * @returns the path of the file.
 */
export async function keepBootstrap(
  app: INestApplicationContext,
  directory: string,
  baseUrl: string,
): Promise<string> {
  const file = path.join(directory, 'bootstrap.json');
  const kept = parseBootstrap(await readOrNull(file));
  let made = await bootstrap(app);
  const sameAccount = kept?.service_account_id === made.service_account_id;
  if (made.api_key === null && !sameAccount) made = await bootstrap(app, { newKey: true });
  const content: BootstrapFile = {
    base_url: baseUrl,
    org_id: made.org_id,
    workspace_id: made.workspace_id,
    service_account_id: made.service_account_id,
    api_key: made.api_key ?? kept!.api_key,
  };
  await writeWhole(file, `${JSON.stringify(content, null, 2)}\n`);
  return file;
}

function parseBootstrap(text: string | null): BootstrapFile | null {
  if (text === null) return null;
  try {
    const content = JSON.parse(text) as Partial<BootstrapFile> | null;
    return content && typeof content.api_key === 'string' ? (content as BootstrapFile) : null;
  } catch {
    return null; // half written or edited: made anew
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

/** Written beside and renamed, so that a reader sees the old content or the new one, never half of it. */
async function writeWhole(file: string, content: string): Promise<void> {
  await rename(await writeDraft(file, content), file);
}

/** A file of this process's own: a pid would not tell it from those of other containers. */
async function writeDraft(file: string, content: string): Promise<string> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, content, { mode: SECRET_FILE_MODE, flag: 'wx', flush: true });
  return draft;
}
