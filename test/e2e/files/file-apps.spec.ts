import { BlobStore } from '#platform/storage';
import { sharedApp } from '#testing';
import { AppsFixture } from '../registry/apps.fixture';
import { FileCallers, FILES, sha256Of } from './files.fixture';

const declared = (name: string, spec: object) => ({ kind: 'file', name, spec });

describe('declared files', () => {
  const app = sharedApp();
  let apps: AppsFixture;

  beforeEach(async () => {
    apps = await AppsFixture.create(app);
  });

  const list = async (slug: string, query = ''): Promise<any[]> =>
    (await apps.editor.get(`${FILES}?app=${slug}&sort=name${query}`)).body.items;
  const change = async (slug: string, ...resources: object[]) => {
    await apps.patch(slug, { resources });
    return apps.reconcile(slug);
  };
  const blobCounts = async () => {
    const [row] = await app.database.query<{ blobs: number; writes: number }>(
      `SELECT (SELECT count(*)::int FROM blobs WHERE org_id = $1) AS blobs,
              (SELECT count(*)::int FROM blob_writes WHERE org_id = $1) AS writes`,
      [apps.org.orgId],
    );
    return row;
  };

  it('are created, changed, archived and restored as declared', async () => {
    const text = { content: 'id\n1\n', media_type: 'text/csv', metadata: { team: 'search' } };
    const bytes = Buffer.from([0, 255, 10, 13]);
    const slug = await apps.reconciled(
      declared('cases.csv', text),
      declared('logo', { content: bytes.toString('base64'), encoding: 'base64' }),
    );
    const [cases, logo] = await list(slug);
    expect([cases, logo]).toMatchObject([
      {
        name: 'cases.csv',
        media_type: 'text/csv',
        sha256: sha256Of('id\n1\n'),
        metadata: { team: 'search' },
        sync_state: 'synced',
        version_ordinal: 1,
      },
      { name: 'logo', media_type: 'application/octet-stream', sha256: sha256Of(bytes), size_bytes: 4 },
    ]);
    expect((await apps.editor.get(`${FILES}/${cases.file_id}/content`)).body).toBe('id\n1\n');

    const before = await list(slug);
    expect((await apps.reconcile(slug)).body).toMatchObject({ live_count: 2 });
    expect(await list(slug)).toEqual(before);

    await change(slug, declared('cases.csv', { ...text, content: 'id\n2\n' }));
    expect(await list(slug, '&include_archived=true')).toMatchObject([
      { file_id: cases.file_id, version_ordinal: 2, sha256: sha256Of('id\n2\n'), archived_at: null },
      { file_id: logo.file_id, version_ordinal: 1, archived_at: expect.any(String) },
    ]);
    const versions = await apps.editor.get(`${FILES}/${cases.file_id}/versions`);
    expect(versions.body.page.total).toBe(2);

    await apps.admin.post(`/registry/v1/apps/${slug}/archive`);
    await apps.admin.post(`/registry/v1/apps/${slug}/restore`);
    await apps.reconcile(slug);
    expect(await list(slug)).toMatchObject([{ file_id: cases.file_id, sync_state: 'synced' }]);
  });

  it('drift when someone adds a version, until the next reconcile', async () => {
    const slug = await apps.reconciled(declared('a', { content: 'declared', media_type: 'text/plain' }));
    const [{ file_id }] = await list(slug);
    const path = `${FILES}/${file_id}`;
    await apps.editor.post(`${path}/versions`, Buffer.from('by hand'), { 'content-type': 'text/plain' });
    expect(await list(slug)).toMatchObject([{ sync_state: 'drifted', version_ordinal: 2 }]);
    await apps.reconcile(slug);
    expect(await list(slug)).toMatchObject([
      { sync_state: 'synced', version_ordinal: 3, sha256: sha256Of('declared') },
    ]);
    expect((await apps.editor.get(`${path}/content`)).body).toBe('declared');
    // the first content is stored once
    expect(await blobCounts()).toEqual({ blobs: 2, writes: 0 });
  });

  it('cannot be renamed, because their name is declared', async () => {
    const slug = await apps.reconciled(declared('a', { content: 'x' }));
    const [{ file_id }] = await list(slug);
    const renamed = await apps.editor.patch(`${FILES}/${file_id}`, { name: 'b' });
    expect(renamed).toMatchObject({ status: 422, body: { code: 'immutable_field' } });
    expect((await apps.editor.patch(`${FILES}/${file_id}`, { name: 'a' })).status).toBe(200);
  });

  it.each([
    ['no content', {}, '/content'],
    ['content that is not a string', { content: 1 }, '/content'],
    ['invalid base64', { content: '%', encoding: 'base64' }, '/content'],
    ['base64 without padding', { content: 'QQ', encoding: 'base64' }, '/content'],
    ['an unknown encoding', { content: '', encoding: 'hex' }, '/encoding'],
    ['an invalid media type', { content: '', media_type: 'Text' }, '/media_type'],
    ['an unknown member', { content: '', path: 'x' }, '/path'],
  ])('are rejected with %s', async (_, spec, pointer) => {
    const answer = await apps.declare({ resources: [declared('a', spec)] });
    expect(answer.status === 400 || answer.status === 422).toBe(true);
    expect(answer.body.errors).toContainEqual(
      expect.objectContaining({ pointer: `/resources/0/spec${pointer}` }) as unknown,
    );
  });

  it('are limited to 100 per app', async () => {
    const files = Array.from({ length: 101 }, (_, n) => declared(`file ${n}`, { content: `${n}` }));
    const answer = await apps.declare({ resources: files });
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, '/resources/100']);
    expect((await apps.declare({ resources: files.slice(1) })).status).toBe(201);
  });

  it('leave neither rows nor bytes when the reconcile fails', async () => {
    const callers = await FileCallers.of(app);
    const { body } = await apps.declare({
      resources: [declared('fine', { content: 'new' }), declared('taken', { content: 'also new' })],
    });
    const query = new URLSearchParams({ workspace_id: apps.org.workspaceId, name: 'taken' }).toString();
    expect((await apps.editor.post(`${FILES}?${query}`, Buffer.from('there'))).status).toBe(201);
    const failed = await apps.reconcile(body.app as string);
    expect(failed.status).toBe(422);
    await app.database.query(`UPDATE blob_writes SET heartbeat_at = now() - interval '2 hours'`);
    await app.get(BlobStore).deleteOrphans();
    expect(await blobCounts()).toEqual({ blobs: 1, writes: 0 });
    expect((await callers.objects()).complete).toBe(0);
    expect(await list(body.app as string)).toEqual([]);
  });
});
