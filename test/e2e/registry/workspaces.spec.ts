import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';

const WORKSPACES = '/registry/v1/workspaces';

interface Workspace {
  workspace_id: string;
  name: string;
  archived_at: string | null;
}

describe('workspaces', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let admin: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    admin = await org.member('admin');
  });

  let made = 0;
  const make = async (body: Record<string, unknown> = {}): Promise<Workspace> => {
    const answer = await admin.post<Workspace>(WORKSPACES, { name: `workspace ${(made += 1)}`, ...body });
    expect(answer.status).toBe(201);
    return answer.body;
  };

  it('are created with a Location and an ETag', async () => {
    const answer = await admin.post<Workspace>(WORKSPACES, {
      name: 'first',
      description: 'd',
      metadata: { a: [1] },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`${WORKSPACES}/${answer.body.workspace_id}`);
    expect(answer.body).toMatchObject({
      workspace_id: expect.stringMatching(/^wsp_[0-9a-z]{26}$/) as string,
      org_id: org.orgId,
      name: 'first',
      description: 'd',
      metadata: { a: [1] },
      generation: 1,
      archived_at: null,
    });
    const read = await admin.get(answer.headers.get('location')!);
    expect(read.body).toEqual(answer.body);
    expect(read.headers.get('etag')).toBe('"1"');
  });

  it('have their creator as a member, with the creator’s stored roles', async () => {
    const { key, serviceAccountId } = await org.serviceAccount('admin', 'owner');
    const bound = app.api(key);
    const answer = await bound.post<Workspace>(WORKSPACES, { name: 'of a service account' });
    const path = `${WORKSPACES}/${answer.body.workspace_id}`;
    expect((await bound.get(path)).status).toBe(200);
    expect((await bound.patch(path, { description: 'mine' })).status).toBe(200);
    expect((await bound.in(answer.body.workspace_id).get('/eval/v1/datasets')).status).toBe(200);
    const members = await bound.get<{ items: unknown[] }>(`${path}/members`);
    expect(members.body.items).toEqual([
      expect.objectContaining({
        principal_id: serviceAccountId,
        principal_type: 'service_account',
        roles: ['owner'],
      }),
    ]);
  });

  it('do not store roles that only a token carried', async () => {
    const owner = await org.member('owner');
    await owner.post('/registry/v1/users', { user_id: 'stored', roles: ['editor'] });
    await owner.post('/registry/v1/users', { user_id: 'unstored' });
    for (const [userId, expected, mayWrite] of [
      ['stored', [{ principal_id: 'stored', roles: ['editor'] }], 201],
      ['unstored', [], 403],
    ] as [string, object[], number][]) {
      const asOwner = app.api(await org.tokenOf(userId, { roles: ['owner'] }));
      const { body } = await asOwner.post<Workspace>(WORKSPACES, { name: `made by ${userId}` });
      const path = `${WORKSPACES}/${body.workspace_id}`;
      expect((await asOwner.patch(path, { description: 'mine' })).status).toBe(200);
      const members = await asOwner.get<{ items: object[] }>(`${path}/members`);
      expect(members.body.items).toEqual(expected.map((one) => expect.objectContaining(one) as object));
      const asViewer = app.api(await org.tokenOf(userId, { roles: ['viewer'] }));
      expect((await asViewer.get(path)).status).toBe(200);
      expect((await asViewer.patch(path, { description: 'still mine' })).status).toBe(403);
      const dataset = { workspace_id: body.workspace_id, name: 'd' };
      const made = await asViewer.in(body.workspace_id).post('/eval/v1/datasets', dataset);
      expect(made.status).toBe(mayWrite);
    }
  });

  it('are created once for an Idempotency-Key', async () => {
    const once = { 'idempotency-key': 'one-workspace' };
    const [first, second] = [
      await admin.post<Workspace>(WORKSPACES, { name: 'once' }, once),
      await admin.post<Workspace>(WORKSPACES, { name: 'once' }, once),
    ];
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('location')).toBe(first.headers.get('location'));
  });

  it('are read-only once archived', async () => {
    const { workspace_id } = await make();
    const path = `${WORKSPACES}/${workspace_id}`;
    await admin.post('/registry/v1/users', { user_id: 'member' });
    await admin.post(`${path}/archive`);
    expect((await admin.get(path)).status).toBe(200);
    for (const answer of [
      await admin.patch(path, { name: 'x' }),
      await admin.put(`${path}/members/member`, { roles: ['viewer'] }),
      await admin.post('/registry/v1/service-accounts', { name: 'x', workspace_ids: [workspace_id] }),
    ]) {
      expect(answer.body).toMatchObject({ status: 409, code: 'conflict' });
    }
  });

  it('make their content read-only once archived', async () => {
    const { workspace_id } = await make();
    const inside = admin.in(workspace_id);
    const dataset = await inside.post<{ dataset_id: string }>('/eval/v1/datasets', {
      workspace_id,
      name: 'kept',
    });
    const path = `/eval/v1/datasets/${dataset.body.dataset_id}`;
    await admin.post(`${WORKSPACES}/${workspace_id}/archive`);
    expect((await inside.get(path)).status).toBe(200);
    expect((await inside.get('/eval/v1/datasets')).body).toMatchObject({ page: { total: 1 } });
    for (const answer of [
      await inside.post('/eval/v1/datasets', { workspace_id, name: 'late' }),
      await inside.patch(path, { name: 'late' }),
      await inside.post(`${path}/archive`),
      await inside.post(`${path}/records`, { workspace_id, input: 1 }),
      await inside.post('/telemetry/v1/traces', { resourceSpans: [] }),
    ]) {
      expect(answer.body).toMatchObject({ status: 409, code: 'conflict' });
    }
    expect((await inside.get<{ name: string }>(path)).body.name).toBe('kept');
  });

  it('are changed with If-Match', async () => {
    const { workspace_id } = await make();
    const path = `${WORKSPACES}/${workspace_id}`;
    const first = await admin.patch(path, { name: 'renamed', description: 'd' }, { 'if-match': '"1"' });
    expect(first.headers.get('etag')).toBe('"2"');
    const stale = await admin.patch(path, { name: 'again' }, { 'if-match': '"1"' });
    expect(stale.body).toMatchObject({ code: 'precondition_failed' });
    expect((await admin.patch(path, { description: null })).body).toMatchObject({
      name: 'renamed',
      description: null,
      generation: 3,
    });
    expect((await admin.patch(path, {})).headers.get('etag')).toBe('"3"');
  });

  it('are listed newest first, filtered by name and words, without archived ones', async () => {
    const own = await newOrganization(app);
    const api = await own.member('admin');
    for (const name of ['alpha team', 'beta team', 'gamma']) await api.post(WORKSPACES, { name });
    const names = async (query: string) => {
      const { body } = await api.get<{ items: Workspace[] }>(`${WORKSPACES}?${query}`);
      return body.items.map((one) => one.name);
    };
    expect(await names('')).toEqual(['gamma', 'beta team', 'alpha team', 'main']);
    expect(await names('q=tea')).toEqual(['beta team', 'alpha team']);
    expect(await names('name=gamma')).toEqual(['gamma']);
    expect(await names('sort=name&limit=2')).toEqual(['alpha team', 'beta team']);
    await api.post(`${WORKSPACES}/${own.workspaceId}/archive`);
    expect(await names('sort=created_at')).toEqual(['alpha team', 'beta team', 'gamma']);
    expect(await names('sort=created_at&include_archived=true&limit=1')).toEqual(['main']);
  });

  describe('with members', () => {
    let path: string;
    beforeAll(async () => {
      path = `${WORKSPACES}/${(await make()).workspace_id}/members`;
      await admin.post('/registry/v1/users', { user_id: 'auth0|5' });
    });

    it('add, replace and remove them', async () => {
      const place = `${path}/${encodeURIComponent('auth0|5')}`;
      const put = await admin.put<Record<string, unknown>>(place, { roles: ['editor', 'viewer', 'runtime'] });
      expect(put.status).toBe(201);
      expect(put.headers.get('location')).toBe(place);
      expect(put.body).toMatchObject({
        principal_id: 'auth0|5',
        principal_type: 'user',
        roles: ['editor', 'runtime'],
      });
      const again = await admin.put(place, { roles: ['publisher'] });
      expect(again.status).toBe(200);
      expect((await admin.get(place)).body).toEqual(again.body);
      expect(again.body).toMatchObject({ roles: ['publisher'], created_at: put.body['created_at'] });
      const removed = await admin.delete(place);
      expect(removed.status).toBe(204);
      expect(removed.body).toBeUndefined();
      expect((await admin.get(place)).status).toBe(404);
      expect((await admin.delete(place)).status).toBe(404);
    });

    it('give and take their roles at once', async () => {
      const person = app.api(await org.tokenOf('auth0|5'));
      const place = `${path}/${encodeURIComponent('auth0|5')}`;
      expect((await person.get(path)).status).toBe(403);
      await admin.put(place, { roles: ['viewer'] });
      expect((await person.get(path)).status).toBe(200);
      await admin.delete(place);
      expect((await person.get(path)).status).toBe(403);
    });

    it.each<[string, string, unknown, number]>([
      ['an unknown person', 'nobody', { roles: ['viewer'] }, 404],
      ['an unknown service account', 'sva_unknown', { roles: ['viewer'] }, 404],
      ['no roles', 'auth0%7C5', {}, 400],
      ['an empty list of roles', 'auth0%7C5', { roles: [] }, 400],
      ['an unknown role', 'auth0%7C5', { roles: ['boss'] }, 422],
      ['an unknown role of an unknown person', 'nobody', { roles: ['boss'] }, 404],
    ])('reject %s', async (_, principal, body, status) => {
      expect((await admin.put(`${path}/${principal}`, body)).status).toBe(status);
    });
  });
});
