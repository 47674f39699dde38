import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { StartError } from '#platform/process';
import { ensureSecretsKey } from './standalone-files';

describe('secrets.key', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'standalone-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('is the same for many concurrent first starts', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => ensureSecretsKey(directory)));
    const file = path.join(directory, 'secrets.key');
    expect(new Set(keys)).toEqual(new Set([readFileSync(file, 'utf8').trim()]));
    expect(Buffer.from(keys[0]!, 'base64')).toHaveLength(32);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['secrets.key']);
  });

  it('prevents the start if it is damaged, and the error says how to repair it', async () => {
    const file = path.join(directory, 'secrets.key');
    writeFileSync(file, 'damaged');
    await expect(ensureSecretsKey(directory)).rejects.toEqual(
      new StartError(
        `${file} does not contain 32 bytes in base64; restore it from a backup, because the stored secrets cannot be decrypted without it.`,
      ),
    );
  });

  it('stays the same across starts', async () => {
    expect(await ensureSecretsKey(directory)).toBe(await ensureSecretsKey(directory));
  });
});
