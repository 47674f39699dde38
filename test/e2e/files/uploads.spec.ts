import { sharedApp, newOrganization } from '#testing';
import { FileCallers, FILES, NO_FILES, ONE_FILE, sha256Of } from './files.fixture';

describe('an uploaded file', () => {
  const app = sharedApp();
  let callers: FileCallers;

  beforeEach(async () => {
    callers = await FileCallers.of(app);
  });

  it('is created from a raw body', async () => {
    const metadata = '{"team": "search", "count": 1.0, "id": 9007199254740991}';
    const answer = await callers.upload(
      'id\n1\n',
      { name: 'cases.csv', metadata },
      { 'content-type': 'Text/CSV; charset=utf-8' },
    );
    expect(answer).toMatchObject({
      status: 201,
      body: {
        file_id: expect.stringMatching(/^file_/),
        workspace_id: callers.org.workspaceId,
        name: 'cases.csv',
        media_type: 'text/csv',
        size_bytes: 5,
        sha256: sha256Of('id\n1\n'),
        version_ordinal: 1,
        version_id: expect.stringMatching(/^ver_/),
        sync_state: 'unmanaged',
        app: null,
        archived_at: null,
      },
    });
    const { file_id } = answer.body;
    expect(answer.body.metadata).toEqual(JSON.parse(metadata));
    expect(answer.headers.get('location')).toBe(`${FILES}/${file_id}`);
    expect((await callers.editor.get(`${FILES}/${file_id}`)).body).toEqual(answer.body);
    expect(await callers.counts()).toEqual(ONE_FILE);
  });

  it('is created from a form, with fields before and after the file', async () => {
    const [workspace, file] = callers.form('hello', [], 'report.txt', 'text/plain; charset=utf-8');
    const answer = await callers.uploadForm([
      workspace!,
      { name: 'ignored', content: 'x' },
      file!,
      { name: 'name', content: 'greeting' },
      { name: 'metadata', content: '{"a": 1.0}' },
    ]);
    expect(answer).toMatchObject({
      status: 201,
      body: { name: 'greeting', media_type: 'text/plain', size_bytes: 5, sha256: sha256Of('hello') },
    });
    expect(await callers.counts()).toEqual(ONE_FILE);
  });

  it('takes name and type from the file if a browser sends it', async () => {
    const form = new FormData();
    form.append('workspace_id', callers.org.workspaceId);
    form.append('file', new Blob(['<p>'], { type: 'text/html' }), 'Grüße 🎉 — "1".html');
    const answer = await callers.editor.post(FILES, form);
    expect(answer.body).toMatchObject({
      name: 'Grüße 🎉 — "1".html'.replaceAll('"', '%22'),
      media_type: 'text/html',
    });
  });

  it.each([
    ['a plain name', 'filename="notes.md"', 'notes.md'],
    ['UTF-8', 'filename="日本語.txt"', '日本語.txt'],
    ['an encoded name', 'filename="x"; filename*=UTF-8\'\'na%C3%AFve%20%22.txt', 'naïve ".txt'],
    ['a path of Unix', 'filename="../../etc/passwd"', 'passwd'],
    ['a path of Windows', 'filename="C:\\\\temp\\\\notes.md"', 'notes.md'],
    ['semicolons', 'filename="a;b.txt"', 'a;b.txt'],
  ])('is named after its file: %s', async (_, parameter, name) => {
    const [workspace] = callers.form('');
    const headers = `Content-Disposition: form-data; name="file"; ${parameter}`;
    const answer = await callers.uploadForm([workspace!, { name: 'file', content: 'x', headers }]);
    expect([answer.status, answer.body.name]).toEqual([201, name]);
  });

  it('is named after its id if it has no name', async () => {
    const raw = await callers.upload('1');
    expect(raw.body.name).toBe(raw.body.file_id);
    const [workspace] = callers.form('');
    const unnamed = { name: 'file', content: '2', type: 'application/octet-stream' };
    const form = await callers.uploadForm([workspace!, unnamed]);
    expect([form.status, form.body.name]).toEqual([201, form.body.file_id]);
  });

  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['no subtype', 'text'],
    ['blanks', 'text / csv'],
    ['two slashes', 'a/b/c'],
    ['a wildcard', '*/*'],
    ['too long', `text/${'x'.repeat(200)}`],
    ['not ASCII', 'text/\u00fc'],
  ])('is application/octet-stream if its media type is invalid: %s', async (_, type) => {
    const raw = await callers.upload('x', {}, { 'content-type': Buffer.from(type ?? '').toString('latin1') });
    expect([raw.status, raw.body.media_type]).toEqual([201, 'application/octet-stream']);
    const form = await callers.uploadForm(callers.form('x', [], 'a', type));
    expect([form.status, form.body.media_type]).toEqual([
      201,
      // the default of a part with a file name (RFC 7578, section 4.4, leaves it to the receiver)
      expect.stringMatching(/^(application\/octet-stream|text\/plain)$/),
    ]);
  });

  it('may be empty', async () => {
    const raw = await callers.created('', { name: 'raw' });
    const form = await callers.uploadForm(callers.form('', [], 'form'));
    for (const view of [raw.view, form.body]) {
      expect(view).toMatchObject({ size_bytes: 0, sha256: sha256Of('') });
    }
    expect(await callers.download(`${raw.path}/content`)).toMatchObject({
      status: 200,
      bytes: Buffer.alloc(0),
    });
    expect(await callers.counts()).toEqual({ ...ONE_FILE, files: 2, versions: 2 });
  });

  it('shares its bytes only within the organization', async () => {
    for (const name of ['a', 'b', 'c']) await callers.created('same', { name });
    expect(await callers.counts()).toEqual({ ...ONE_FILE, files: 3, versions: 3 });
    const others = await FileCallers.of(app);
    const { path } = await others.created('same');
    expect(await others.counts()).toEqual(ONE_FILE);
    expect((await others.download(`${path}/content`)).bytes.toString()).toBe('same');
  });

  it('is stored once if its bytes are the same, even for concurrent uploads', async () => {
    const content = Buffer.alloc(300_000, 'x');
    const names = Array.from({ length: 12 }, (_, n) => `copy ${n}`);
    const answers = await Promise.all(names.map((name) => callers.upload(content, { name })));
    expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
    expect(await callers.counts()).toEqual({ ...ONE_FILE, files: 12, versions: 12 });
  });

  it('has a unique name in its workspace, and a conflict names the existing file', async () => {
    const { view } = await callers.created('first', { name: 'taken' });
    for (const refused of [
      await callers.upload('second', { name: 'taken' }),
      await callers.uploadForm(callers.form('third', [], 'taken')),
    ]) {
      expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
      expect(refused.body.detail).toContain(view.file_id);
    }
    expect(await callers.counts()).toEqual(ONE_FILE);
  });

  it('is rejected in a workspace that is unknown, unreachable or archived', async () => {
    const other = await newOrganization(app);
    const archived = await callers.org.newWorkspace();
    await callers.admin.post(`/registry/v1/workspaces/${archived}/archive`);
    const otherWorkspace = await callers.org.newWorkspace();
    await callers.admin.post('/registry/v1/users', { user_id: 'ada' });
    await callers.admin.put(`/registry/v1/workspaces/${otherWorkspace}/members/ada`, { roles: ['editor'] });
    await callers.admin.put(`/registry/v1/workspaces/${callers.org.workspaceId}/members/ada`, {
      roles: ['viewer'],
    });
    const ada = app.api(await callers.org.tokenOf('ada', { roles: [] }));
    const refused = async (workspace_id: string, by = callers.editor) => {
      const answers = [
        await callers.upload('x', { workspace_id }, {}, by),
        await callers.uploadForm(
          [{ name: 'workspace_id', content: workspace_id }, ...callers.form('x').slice(1)],
          FILES,
          {},
          by,
        ),
      ];
      return answers.map(({ status, body }) => [status, body.code]);
    };
    for (const unknown of ['wsp_unknown', '', other.workspaceId]) {
      expect(await refused(unknown)).toEqual([
        [400, 'invalid_query'],
        [400, 'invalid_request'],
      ]);
    }
    expect(await refused(archived)).toEqual(Array(2).fill([409, 'conflict']));
    expect(await refused(callers.org.workspaceId, ada)).toEqual(Array(2).fill([403, 'access_denied']));
    const viewer = await callers.org.member('viewer');
    expect(await refused(callers.org.workspaceId, viewer)).toEqual(Array(2).fill([403, 'access_denied']));
    expect(await callers.counts()).toEqual(NO_FILES);
  });

  it('can be found by name, and its changes are audited', async () => {
    const { view, path } = await callers.created('x', { name: 'quarterly numbers.csv' }, 'text/csv');
    await callers.editor.post(`${path}/versions`, Buffer.from('y'), { 'content-type': 'text/csv' });
    await callers.editor.patch(path, { name: 'yearly numbers.csv' });
    const search = { query: 'yearly', mode: 'keyword', types: ['file'] };
    const { body } = await callers.editor.post('/registry/v1/search', search);
    expect(body.items).toMatchObject([
      { type: 'file', id: view.file_id, name: 'yearly numbers.csv', workspace_id: view.workspace_id },
    ]);
    await callers.admin.post(`${path}/archive`);
    const afterArchive = await callers.editor.post('/registry/v1/search', search);
    expect(afterArchive.body.items).toEqual([]);
    const log = await callers.admin.get(
      `/registry/v1/audit-log?resource_type=file&resource_id=${view.file_id}&sort=created_at`,
    );
    const entries = log.body.items as { action: string; changes: { member: string; to: unknown }[] }[];
    expect(entries.map(({ action, changes }) => [action, changes.map(({ member }) => member)])).toEqual([
      ['create', ['name', 'media_type', 'size_bytes', 'sha256']],
      ['update', ['sha256']],
      ['update', ['name']],
      ['archive', expect.anything()],
    ]);
  });
});
