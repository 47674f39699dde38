import { Readable } from 'node:stream';
import { BlobStore } from '#platform/storage';
import { createTestApp, type TestApp } from '#testing';
import { type PackageFile, Packagers, textFile } from '../../../src/resources';
import { outcome, PUBLISHER, StoreOrg, unpacked } from './store.fixture';

const LIMIT = 64 * 1024;
const MIB = 1024 * 1024;

describe('publishing a package', () => {
  let app: TestApp;
  let org: StoreOrg;

  beforeAll(async () => {
    app = await createTestApp({ env: { FILE_LIMIT_BYTES: String(LIMIT) } });
    org = await StoreOrg.open(app);
  });
  afterAll(() => app.close());
  afterEach(() => jest.restoreAllMocks());

  const fileOf = (path: string, content: Buffer = Buffer.from('x')): PackageFile => ({
    path,
    size_bytes: content.length,
    sha256: 'a'.repeat(64),
    content: () => Readable.from([content]),
  });

  /** Publishes a skill whose packager returns these files. */
  async function publishFiles(files: PackageFile[]) {
    const { skill_id } = await org.skill();
    const close = jest.fn(() => Promise.resolve());
    jest.spyOn(app.get(Packagers).of('skill'), 'files').mockResolvedValueOnce({ files, close });
    const answer = await org.admin.post<{ detail: string }>(PUBLISHER, org.bodyOf('skill', skill_id));
    expect(close).toHaveBeenCalledTimes(1);
    return answer;
  }

  /** Runs `work` after the package is written and before it is made permanent. */
  function beforeCommit(work: () => Promise<unknown>): void {
    const blobs = app.get(BlobStore);
    const write = blobs.write.bind(blobs);
    jest.spyOn(blobs, 'write').mockImplementationOnce(async (...args) => {
      const written = await write(...args);
      await work();
      return written;
    });
  }

  const counts = async (): Promise<unknown> =>
    (
      await app.database.query(
        `SELECT (SELECT count(*) FROM store_items) AS items, (SELECT count(*) FROM store_releases) AS releases,
           (SELECT count(*) FROM blobs) AS blobs, (SELECT count(*) FROM blob_writes) AS writes`,
      )
    )[0];

  it.each([
    ['leaves the directory', '../a', 'must not contain . or ..'],
    ['is absolute', '/a', 'must be relative'],
    ['has a backslash', 'a\\b', 'must not contain a backslash'],
    ['names a Windows device', 'a/con.txt', 'must not have the name of a Windows device'],
    ['ends with a dot', 'a.', 'must not have a name that ends with a dot'],
    ['has a control character', 'a\u0007', 'must not contain NUL or other control characters'],
  ])('fails for a path that %s', async (_, path, detail) => {
    const answer = await publishFiles([fileOf(path)]);
    expect(outcome(answer)).toEqual([422, 'validation_failed']);
    expect(answer.body.detail).toContain(detail);
  });

  it.each([
    ['case', ['a/Readme', 'a/readme'], '"a/readme" and "a/Readme" are the same'],
    ['Unicode normalization', ['\u00e4', 'a\u0308'], 'are the same on file systems'],
    ['nothing', ['a', 'a'], '"a" appears twice'],
    ['being inside a file', ['a', 'a/b'], '"a/b" is inside "a", which is a file'],
  ])('fails for paths that differ only by %s', async (_, paths, detail) => {
    const answer = await publishFiles(paths.map((path) => fileOf(path)));
    expect(outcome(answer)).toEqual([422, 'validation_failed']);
    expect(answer.body.detail).toContain(detail);
  });

  it('fails for too many files', async () => {
    const answer = await publishFiles(Array.from({ length: 10_000 }, (_, n) => fileOf(`f${n}`)));
    expect(outcome(answer)).toEqual([422, 'validation_failed']);
    expect(answer.body.detail).toContain('at most 10000 files');
  });

  it('fails for too many bytes', async () => {
    const answer = await publishFiles([fileOf('a', Buffer.alloc(LIMIT))]);
    expect(outcome(answer)).toEqual([422, 'validation_failed']);
    expect(answer.body.detail).toBe('A package can have at most 64 KiB. This package has more.');
  });

  it.each<[string, () => PackageFile[], string]>([
    ['bytes', () => [fileOf('a', Buffer.alloc(LIMIT + 1))], 'A package can have at most 64 KiB.'],
    [
      'documents in memory',
      () => [textFile('a.json', ' '.repeat(16 * MIB)), textFile('b.json', ' '.repeat(16 * MIB + 1))],
      'The JSON documents of a package can have at most 32 MiB together.',
    ],
  ])('fails for too many %s, before the next component is loaded', async (_, files, detail) => {
    const { agent_id } = await org.agent();
    const packagers = app.get(Packagers);
    for (const kind of ['skill', 'mcp_server'] as const) {
      jest.spyOn(packagers.of(kind), 'files').mockResolvedValue({ files: files() });
    }
    const root = jest.spyOn(packagers.of('agent'), 'files');
    const answer = await org.admin.post<{ detail: string }>(PUBLISHER, org.bodyOf('agent', agent_id));
    expect(outcome(answer)).toEqual([422, 'validation_failed']);
    expect(answer.body.detail).toContain(detail);
    expect(root).not.toHaveBeenCalled();
  });

  it('fails if a component is archived during the build, and leaves nothing behind', async () => {
    const { agent_id, skill_id } = await org.agent();
    for (const path of [`/skill/v1/skills/${skill_id}`, `/agent/v1/agents/${agent_id}`]) {
      const before = await counts();
      beforeCommit(() => org.admin.post(`${path}/archive`));
      const answer = await org.admin.post(PUBLISHER, org.bodyOf('agent', agent_id));
      expect(outcome(answer)).toEqual([409, 'conflict']);
      expect(await counts()).toEqual(before);
      await org.admin.post(`${path}/restore`);
    }
  });

  it('fails for an archived component, and names it', async () => {
    const { agent_id, skill_id } = await org.agent();
    await org.admin.post(`/skill/v1/skills/${skill_id}/archive`);
    const answer = await org.admin.post<{ detail: string }>(PUBLISHER, org.bodyOf('agent', agent_id));
    expect(outcome(answer)).toEqual([409, 'conflict']);
    expect(answer.body.detail).toContain(skill_id);
  });

  it('fails if the item is withdrawn during the build', async () => {
    const { store_item_id } = await org.item();
    beforeCommit(() => org.admin.post(`${PUBLISHER}/${store_item_id}/withdraw`));
    const answer = await org.admin.post(`${PUBLISHER}/${store_item_id}/releases`, {});
    expect(outcome(answer)).toEqual([409, 'conflict']);
  });

  it('publishes the pinned version of a component that changes during the build', async () => {
    const { agent_id, skill_id } = await org.agent();
    const packager = app.get(Packagers).of('skill');
    const original = packager.files.bind(packager);
    jest.spyOn(packager, 'files').mockImplementationOnce(async (...args) => {
      await org.admin.patch(`/skill/v1/skills/${skill_id}`, { instructions: 'CHANGED' });
      return original(...args);
    });
    const item = await org.publish('agent', agent_id);
    const skill = item.manifest.components.find(({ source }) => source.kind === 'skill')!;
    expect(skill.source.version_ordinal).toBe(1);
    expect(JSON.stringify(await unpacked(await org.download(item.store_item_id)))).not.toContain('CHANGED');
  });

  it('publishes the pinned records of a dataset that gets a record during the build', async () => {
    const { dataset_id } = await org.make<{ dataset_id: string }>('/eval/v1/datasets', { name: 'growing' });
    const records = `/eval/v1/datasets/${dataset_id}/records`;
    const add = (external_id: string) => org.make(records, { external_id, input: { n: 1 } });
    await add('pinned');
    const packager = app.get(Packagers).of('dataset');
    const original = packager.files.bind(packager);
    jest.spyOn(packager, 'files').mockImplementationOnce(async (...args) => {
      await add('later');
      return original(...args);
    });
    const item = await org.publish('dataset', dataset_id);
    const text = JSON.stringify(await unpacked(await org.download(item.store_item_id)));
    expect([text.includes('pinned'), text.includes('later')]).toEqual([true, false]);
  });

  it('fails if a file does not match its declared size, and leaves nothing behind', async () => {
    const { skill_id } = await org.skill();
    const before = await counts();
    const files = [{ ...fileOf('a'), content: () => Readable.from([Buffer.from('too long')]) }];
    jest.spyOn(app.get(Packagers).of('skill'), 'files').mockResolvedValueOnce({ files });
    const answer = await org.admin.post(PUBLISHER, org.bodyOf('skill', skill_id));
    expect(outcome(answer)).toEqual([500, 'internal_error']);
    expect(await counts()).toEqual(before);
  });
});
