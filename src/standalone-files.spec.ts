import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { StartError } from '#platform/process';
import { ensureSecretsKeys } from './standalone-files';

describe('secrets.key', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'standalone-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('is the same for many concurrent first starts', async () => {
    const keys = (await Promise.all(Array.from({ length: 20 }, () => ensureSecretsKeys(directory)))).flat();
    const file = path.join(directory, 'secrets.key');
    expect(new Set(keys)).toEqual(new Set([readFileSync(file, 'utf8').trim()]));
    expect(Buffer.from(keys[0]!, 'base64')).toHaveLength(32);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory)).toEqual(['secrets.key']);
  });

  it('prevents the start if it is damaged, and the error says how to repair it', async () => {
    const file = path.join(directory, 'secrets.key');
    writeFileSync(file, 'damaged');
    await expect(ensureSecretsKeys(directory)).rejects.toEqual(
      new StartError(
        `${file} does not contain keys of 32 bytes in base64, one in each line; restore it from a backup, because the stored secrets cannot be decrypted without it.`,
      ),
    );
  });

  it('stays the same across starts', async () => {
    expect(await ensureSecretsKeys(directory)).toEqual(await ensureSecretsKeys(directory));
  });

  it('may have several keys, newest first', async () => {
    const keys = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
    writeFileSync(path.join(directory, 'secrets.key'), `${keys.join('\n')}\n`);
    expect(await ensureSecretsKeys(directory)).toEqual(keys);
  });
});
