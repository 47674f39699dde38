import { sharedApp } from '#testing';
import { FileCallers, FILES, ONE_FILE, sha256Of } from './files.fixture';

describe('a version of a file', () => {
  const app = sharedApp();
  let callers: FileCallers;

  beforeEach(async () => {
    callers = await FileCallers.of(app);
  });

  const add = (path: string, content: string, headers: Record<string, string> = {}) =>
    callers.editor.post(`${path}/versions`, Buffer.from(content), {
      'content-type': 'text/plain',
      ...headers,
    });

  it('is created from a raw body or a form, and becomes the newest', async () => {
    const { path, view } = await callers.created('one', { name: 'a.txt' }, 'text/plain');
    const second = await add(path, 'two');
    expect(second).toMatchObject({
      status: 201,
      body: {
        file_id: view.file_id,
        name: 'a.txt',
        version_ordinal: 2,
        media_type: 'text/plain',
        size_bytes: 3,
        sha256: sha256Of('two'),
        archived_at: null,
      },
    });
    expect([second.headers.get('location'), second.headers.get('etag')]).toEqual([
      `${path}/versions/2`,
      '"2"',
    ]);
    const [, file] = callers.form('three', [], 'other.md', 'text/markdown');
    const third = await callers.uploadForm([file!], `${path}/versions`);
    expect(third.body).toMatchObject({ version_ordinal: 3, media_type: 'text/markdown', name: 'a.txt' });
    expect((await callers.editor.get(path)).body).toMatchObject({
      version_ordinal: 3,
      version_id: third.body.version_id,
      media_type: 'text/markdown',
      sha256: sha256Of('three'),
      name: 'a.txt',
    });
    const { body: list } = await callers.editor.get(`${path}/versions`);
    expect(list.items.map((one: any) => one.version_ordinal)).toEqual([3, 2, 1]);
    expect(list.items[1]).toEqual(second.body);
    expect(await callers.editor.get(`${path}/versions/2`)).toMatchObject({ status: 200, body: second.body });
    for (const [ordinal, content] of [
      [1, 'one'],
      [2, 'two'],
      [3, 'three'],
    ] as const) {
      const { bytes, headers } = await callers.download(`${path}/versions/${ordinal}/content`);
      expect([bytes.toString(), headers.etag]).toEqual([content, `"${sha256Of(content)}"`]);
    }
    expect((await callers.download(`${path}/content`)).bytes.toString()).toBe('three');
    expect(await callers.counts()).toEqual({ ...ONE_FILE, versions: 3, blobs: 3, complete: 3 });
  });

  it('is not created for the same content and media type', async () => {
    const { path, etag } = await callers.created('same', {}, 'text/plain');
    const again = await add(path, 'same');
    expect(again).toMatchObject({ status: 200, body: { version_ordinal: 1 } });
    expect([again.headers.get('location'), again.headers.get('etag')]).toEqual([null, '"1"']);
    expect((await callers.editor.get(path)).headers.get('etag')).toBe(etag);
    const other = await add(path, 'same', { 'content-type': 'text/csv' });
    expect(other).toMatchObject({ status: 201, body: { version_ordinal: 2 } });
    expect(await callers.counts()).toEqual({ ...ONE_FILE, versions: 2 });
    // an earlier content again is a new version
    expect(await add(path, 'same')).toMatchObject({ status: 201, body: { version_ordinal: 3 } });
  });

  it('is rejected if If-Match is not the current ETag of the file', async () => {
    const { path, etag } = await callers.created('one');
    await callers.editor.patch(path, { metadata: { a: 1 } });
    expect(await add(path, 'two', { 'if-match': etag })).toMatchObject({
      status: 412,
      body: { code: 'precondition_failed' },
    });
    expect(await callers.counts()).toEqual(ONE_FILE);
    const current = (await callers.editor.get(path)).headers.get('etag')!;
    expect((await add(path, 'two', { 'if-match': current })).status).toBe(201);
  });

  it('is never lost when several writers add one at the same time', async () => {
    const { path } = await callers.created('0');
    const etag = (await callers.editor.get(path)).headers.get('etag')!;
    const free = await Promise.all(Array.from({ length: 8 }, (_, n) => add(path, `free ${n}`)));
    expect(free.map(({ body }) => body.version_ordinal as number).sort()).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    const bound = await Promise.all([1, 2, 3].map((n) => add(path, `bound ${n}`, { 'if-match': etag })));
    expect(bound.map(({ status }) => status)).toEqual([412, 412, 412]);
    expect(await callers.counts()).toEqual({ ...ONE_FILE, versions: 9, blobs: 9, complete: 9 });
  });

  it('cannot have its own name, metadata or workspace', async () => {
    const { path } = await callers.created('one');
    const [workspace, file] = callers.form('two');
    const others = [workspace!, { name: 'name', content: 'x' }, { name: 'metadata', content: '{}' }];
    for (const part of others) {
      for (const parts of [
        [part, file!],
        [file!, part],
      ]) {
        expect(await callers.uploadForm(parts, `${path}/versions`)).toMatchObject({
          status: 400,
          body: { code: 'invalid_request', errors: [{ pointer: `/${part.name}` }] },
        });
      }
      const raw = await callers.editor.post(`${path}/versions?${part.name}=x`, Buffer.from('two'));
      expect(raw).toMatchObject({ status: 400, body: { code: 'invalid_query' } });
    }
    expect(await callers.counts()).toEqual(ONE_FILE);
  });

  it('is rejected without the role, and for an archived file', async () => {
    const { path } = await callers.created('one');
    const viewer = await callers.org.member('viewer');
    const refused = await viewer.post(`${path}/versions`, Buffer.from('two'), {
      'content-type': 'text/plain',
    });
    expect(refused).toMatchObject({ status: 403, body: { code: 'access_denied' } });
    await callers.admin.post(`${path}/archive`);
    expect(await add(path, 'two')).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect((await callers.download(`${path}/content`)).bytes.toString()).toBe('one');
    expect((await callers.download(`${path}/versions/1/content`)).bytes.toString()).toBe('one');
    expect(await callers.counts()).toEqual(ONE_FILE);
  });

  it('returns 404 if it does not exist', async () => {
    const { path } = await callers.created('one');
    const other = await callers.created('other', { name: 'other' });
    await add(other.path, 'its second');
    for (const ordinal of ['0', '2', '01', 'x', '-1', '99999999999']) {
      for (const rest of ['', '/content']) {
        const answer = await callers.editor.get(`${path}/versions/${ordinal}${rest}`);
        expect([ordinal, rest, answer.status, answer.body.code]).toEqual([ordinal, rest, 404, 'not_found']);
      }
    }
    for (const rest of ['', '/content', '/versions', '/versions/1', '/versions/1/content']) {
      expect((await callers.editor.get(`${FILES}/file_unknown${rest}`)).status).toBe(404);
    }
  });
});
