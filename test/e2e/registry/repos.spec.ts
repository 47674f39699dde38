import { type Answer, type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';

const REPOS = '/registry/v1/repos';

interface Repo {
  repo_id: string;
  url: string;
  name: string;
  generation: number;
  archived_at: string | null;
}

describe('repositories', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;
  let admin: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await org.member('editor');
    admin = await org.member('admin');
  });

  let made = 0;
  const register = (
    body: Record<string, unknown> = {},
    by: ApiClient = editor,
    headers?: Record<string, string>,
  ): Promise<Answer<Repo>> =>
    by.post<Repo>(
      REPOS,
      { workspace_id: org.workspaceId, url: `https://git.example.com/acme/repo-${(made += 1)}`, ...body },
      headers,
    );

  it('return 201 if new and 200 if already registered, with any form of the URL', async () => {
    const first = await register({ url: 'git@GitHub.com:acme/agents.git', default_branch: 'main' });
    expect(first.status).toBe(201);
    expect(first.headers.get('location')).toBe(`${REPOS}/${first.body.repo_id}`);
    expect(first.body).toMatchObject({
      repo_id: expect.stringMatching(/^repo_[0-9a-z]{26}$/) as string,
      url: 'https://github.com/acme/agents',
      name: 'agents',
      default_branch: 'main',
      visibility: null,
      archived_at: null,
    });
    const again = await register({ url: 'https://github.com:443/acme/agents/', default_branch: 'other' });
    expect(again.status).toBe(200);
    expect(again.headers.get('location')).toBeNull();
    expect(again.body).toEqual(first.body);
    expect((await admin.get(first.headers.get('location')!)).body).toEqual(first.body);
  });

  it('are registered once by concurrent clients', async () => {
    const url = 'https://github.com/acme/at-once';
    const answers = await Promise.all(Array.from({ length: 12 }, () => register({ url })));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array<number>(11).fill(200), 201]);
    expect(new Set(answers.map(({ body }) => body.repo_id)).size).toBe(1);
  });

  it('are separate in each workspace', async () => {
    const url = 'https://github.com/acme/of-both';
    const elsewhere = await org.newWorkspace();
    const answers = [await register({ url }), await register({ url, workspace_id: elsewhere })];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    const listed = await editor.get(`${REPOS}?url=git@github.com:acme/of-both.git&workspace_id=${elsewhere}`);
    expect(listed.body.items).toEqual([answers[1]!.body]);
  });

  it('do not store a password that the URL contains', async () => {
    const { body } = await register({ url: 'https://ada:s3cr3t-of-ada@git.example.com/acme/secret' });
    expect(body.url).toBe('https://git.example.com/acme/secret');
    const [{ count }] = (await app.database.query<{ count: number }>(
      `SELECT (SELECT count(*) FROM repos r WHERE r::text LIKE '%s3cr3t%')
         + (SELECT count(*) FROM audit_log a WHERE a::text LIKE '%s3cr3t%')
         + (SELECT count(*) FROM search_documents d WHERE d::text LIKE '%s3cr3t%') AS count`,
    )) as [{ count: number }];
    expect(count).toBe(0);
  });

  it.each([
    '/srv/git/agents',
    'https://github.com',
    'file:///etc',
    'https://github.com/a/../b',
    'ada.l:s3cr3t@git.example.com/acme/secret',
    'ada@example.com:s3cr3t@git.example.com/acme/secret.git',
    'x'.repeat(2049),
  ])('cannot have the URL %s', async (url) => {
    const answer = await register({ url });
    expect([answer.status, (answer.body as any).errors[0].pointer]).toEqual([400, '/url']);
    expect((await editor.get(`${REPOS}?url=${encodeURIComponent(url)}`)).status).toBe(400);
  });

  it('have a URL of limited length, even when normalized', async () => {
    const long = Array.from({ length: 1900 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('');
    const answer = await register({ url: `https://git.example.com/${long}/b` });
    expect([answer.status, (answer.body as any).errors[0].pointer]).toEqual([400, '/url']);
    const { body: repo } = await register({ url: `https://git.example.com/acme/${'x'.repeat(1900)}` });
    expect((await editor.patch(`${REPOS}/${repo.repo_id}`, { name: repo.name })).status).toBe(200);
  });

  it('return 422 for an unknown visibility', async () => {
    const answer = await register({ visibility: 'secret' });
    expect([answer.status, (answer.body as any).code]).toEqual([422, 'validation_failed']);
  });

  it('are changed with If-Match', async () => {
    const { body: repo, headers } = await register();
    const path = `${REPOS}/${repo.repo_id}`;
    expect(headers.get('etag')).toBe('"1"');
    const patched = await editor.patch(
      path,
      {
        name: 'Agents',
        visibility: 'private',
        url: 'git@git.example.com:acme/moved.git',
        metadata: { a: 1 },
      },
      { 'if-match': '"1"' },
    );
    expect(patched.body).toMatchObject({
      name: 'Agents',
      visibility: 'private',
      url: 'https://git.example.com/acme/moved',
      generation: 2,
    });
    expect((await editor.patch(path, { name: 'x' }, { 'if-match': '"1"' })).body.code).toBe(
      'precondition_failed',
    );
    expect((await editor.get(path, { 'if-none-match': '"2"' })).status).toBe(304);
    const same = await editor.patch(path, { name: 'Agents' });
    expect(same.headers.get('etag')).toBe('"2"');
  });

  it('cannot take another’s URL, workspace or id', async () => {
    const { body: repo } = await register();
    const { body: other } = await register();
    const path = `${REPOS}/${repo.repo_id}`;
    const answers = [
      await editor.patch(path, { url: other.url }),
      await editor.patch(path, { workspace_id: await org.newWorkspace() }),
      await editor.patch(path, { repo_id: other.repo_id }),
      await editor.patch(path, { repo_id: repo.repo_id, workspace_id: org.workspaceId }),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [409, 'conflict'],
      [422, 'validation_failed'],
      [422, 'immutable_field'],
      [200, undefined],
    ]);
  });

  it('stay archived, and free their URL', async () => {
    const { body: repo } = await register();
    const path = `${REPOS}/${repo.repo_id}`;
    expect((await editor.post(`${path}/archive`)).status).toBe(403);
    const archived = await admin.post(`${path}/archive`);
    expect([archived.status, archived.body.archived_at === null]).toEqual([200, false]);
    expect((await admin.post(`${path}/archive`)).body).toEqual(archived.body);
    expect((await editor.patch(path, { name: 'x' })).status).toBe(409);
    expect((await editor.get(path)).status).toBe(200);
    expect((await register({ url: repo.url })).status).toBe(201);
    const ids = (answer: Answer) => (answer.body.items as Repo[]).map(({ repo_id }) => repo_id);
    expect(ids(await editor.get(`${REPOS}?url=${repo.url}`))).not.toContain(repo.repo_id);
    expect(ids(await editor.get(`${REPOS}?url=${repo.url}&include_archived=true`))).toContain(repo.repo_id);
  });

  it('are found by their exact name', async () => {
    const workspace_id = await org.newWorkspace();
    for (const name of ['planner', 'planner two']) await register({ name, workspace_id });
    const names = async (name: string) => {
      const listed = await editor.get(
        `${REPOS}?workspace_id=${workspace_id}&name=${encodeURIComponent(name)}`,
      );
      return (listed.body.items as Repo[]).map((one) => one.name);
    };
    expect(await names('planner')).toEqual(['planner']);
    expect(await names('planner two')).toEqual(['planner two']);
    expect(await names('Planner')).toEqual([]);
  });

  it('are searched, sorted and paged', async () => {
    const workspace_id = await org.newWorkspace();
    for (const name of ['zeta', 'alpha', 'mid'])
      await register({ name, workspace_id, description: 'planner' });
    const first = await editor.get(`${REPOS}?workspace_id=${workspace_id}&q=plan&sort=name&limit=2`);
    expect(first.body.page.total).toBe(3);
    const rest = await editor.get(
      `${REPOS}?workspace_id=${workspace_id}&q=plan&sort=name&limit=2&cursor=${first.body.page.next_cursor}`,
    );
    const names = [...first.body.items, ...rest.body.items].map((one: Repo) => one.name);
    expect(names).toEqual(['alpha', 'mid', 'zeta']);
  });

  describe('in workspaces', () => {
    it('are refused if the workspace is unknown, inaccessible or different from the header (400), or archived (409)', async () => {
      const stranger = await newOrganization(app);
      const bound = app.api((await org.serviceAccount('editor')).key);
      const elsewhere = await org.newWorkspace();
      const archived = await org.newWorkspace();
      await admin.post(`/registry/v1/workspaces/${archived}/archive`);
      const answers = [
        await register({ workspace_id: 'wsp_nope' }),
        await register({ workspace_id: stranger.workspaceId }),
        await register({ workspace_id: elsewhere }, bound),
        await register({ workspace_id: archived }),
        await register({ workspace_id: undefined }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 409, 400]);
      const reported = answers.slice(0, 3).map(({ body }) => (body as any).errors[0].detail as string);
      expect(new Set(reported).size).toBe(1);
    });

    it('remain readable when the workspace is archived', async () => {
      const workspace_id = await org.newWorkspace();
      const { body: repo } = await register({ workspace_id });
      await admin.post(`/registry/v1/workspaces/${workspace_id}/archive`);
      const path = `${REPOS}/${repo.repo_id}`;
      expect((await editor.get(path)).status).toBe(200);
      expect((await editor.patch(path, { name: 'x' })).status).toBe(409);
      expect((await admin.post(`${path}/archive`)).status).toBe(409);
    });

    it('are shown only to callers with access to the workspace', async () => {
      const elsewhere = await org.newWorkspace();
      const { body: repo } = await register({ workspace_id: elsewhere });
      const path = `${REPOS}/${repo.repo_id}`;
      const bound = app.api((await org.serviceAccount('admin')).key);
      const stranger = await (await newOrganization(app)).member('owner');
      for (const outsider of [bound, stranger]) {
        const answers = [
          await outsider.get(path),
          await outsider.patch(path, { name: 'x' }),
          await outsider.post(`${path}/archive`),
        ];
        expect(answers.map(({ status }) => status).filter((status) => status !== 403)).toEqual(
          outsider === bound || outsider === stranger ? [404, 404, 404] : [404, 404],
        );
        for (const query of ['', `?workspace_id=${elsewhere}`, `?url=${repo.url}`]) {
          const listed = await outsider.get(REPOS + query);
          expect((listed.body.items as Repo[]).map(({ repo_id }) => repo_id)).not.toContain(repo.repo_id);
        }
      }
    });
  });

  it('require the role editor', async () => {
    const viewer = await org.member('viewer');
    const { body: repo } = await register();
    expect((await register({}, viewer)).status).toBe(403);
    expect((await viewer.patch(`${REPOS}/${repo.repo_id}`, { name: 'x' })).status).toBe(403);
    expect((await viewer.get(`${REPOS}/${repo.repo_id}`)).status).toBe(200);
    expect((await (await org.member('runtime')).get(REPOS)).status).toBe(403);
  });

  it('replay the first response for an Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'one' };
    const body = { url: 'https://git.example.com/acme/repeated' };
    const first = await register(body, editor, key);
    const again = await register(body, editor, key);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(again.body).toEqual(first.body);
  });
});
