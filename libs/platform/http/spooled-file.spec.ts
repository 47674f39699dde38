import { createHash, randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import os from 'node:os';
import { ByteBudget } from '#platform/concurrency';
import { SpooledFile } from './spooled-file';

const namesLeft = (): string[] => readdirSync(os.tmpdir()).filter((name) => name.startsWith('spool-'));

async function spooled(...chunks: Buffer[]): Promise<SpooledFile> {
  const file = await SpooledFile.create();
  for (const chunk of chunks) await file.append(chunk);
  file.finish();
  return file;
}

async function contentOf(file: SpooledFile): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.chunks()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('a spooled file', () => {
  it('returns its content any number of times, with its size and digest', async () => {
    const chunks = [1, 300_000, 0, 70_000].map((size) => randomBytes(size));
    const whole = Buffer.concat(chunks);
    const file = await spooled(...chunks);
    expect(file.size).toBe(whole.length);
    expect(file.sha256).toBe(createHash('sha256').update(whole).digest('hex'));
    expect(whole.equals(await file.read())).toBe(true);
    for (const content of await Promise.all([contentOf(file), contentOf(file)])) {
      expect(whole.equals(content)).toBe(true);
    }
    await file.close();
  });

  it('has no name that a killed process could leave behind', async () => {
    const before = namesLeft();
    const file = await spooled(Buffer.from('secret'));
    expect(namesLeft().filter((name) => !before.includes(name))).toEqual([]);
    await file.close();
  });

  it('fails its readers when it is closed', async () => {
    const file = await spooled(randomBytes(1_000_000));
    const reading = file.chunks();
    expect((await reading.next()).done).toBe(false);
    await file.close();
    await expect(contentOf(file)).rejects.toMatchObject({ code: 'storage_unavailable' });
    await expect(reading.next()).rejects.toMatchObject({ code: 'storage_unavailable' });
  });

  it('reserves bytes in its budget, and releases them once when it is closed', async () => {
    const budget = new ByteBudget({ total: 100, share: 50 });
    const create = (owner: string): Promise<SpooledFile> => SpooledFile.create(budget.acquire(owner));
    const file = await create('a');
    await file.append(randomBytes(50));
    const rejection = { code: 'storage_unavailable', status: 503 };
    const second = await create('a');
    for (const full of [file, second]) {
      await expect(full.append(randomBytes(1))).rejects.toMatchObject(rejection);
    }
    const other = await create('b');
    await other.append(randomBytes(50));
    await Promise.all([file.close(), file.close()]);
    expect(budget.used).toBe(50);
    await expect(file.append(randomBytes(1))).rejects.toMatchObject(rejection);
    await second.append(randomBytes(50));
    await Promise.all([second.close(), other.close()]);
    expect(budget.used).toBe(0);
  });
});
