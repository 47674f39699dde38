import { newId } from '#platform/ids';
import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';

const USERS = '/registry/v1/users';
const ORGS = '/registry/v1/orgs';

describe('in the registry,', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;
  let platform: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    owner = await org.member('owner');
    platform = app.api(await app.issuer.issueToken({ sub: 'operator', principal_type: 'platform' }));
  });

  describe('the caller’s organization', () => {
    it('is renamed by its owner with If-Match', async () => {
      const before = await owner.get<{ generation: number }>('/registry/v1/org');
      const etag = before.headers.get('etag')!;
      const changed = await owner.patch(
        '/registry/v1/org',
        { name: 'Ours', metadata: { a: 1 } },
        { 'if-match': etag },
      );
      expect(changed.body).toMatchObject({ org_id: org.orgId, name: 'Ours', metadata: { a: 1 } });
      expect((await owner.patch('/registry/v1/org', { name: 'x' }, { 'if-match': etag })).status).toBe(412);
      expect((await owner.patch('/registry/v1/org', { name: '' })).status).toBe(400);
    });

    it('cannot be suspended or reinstated by its owner', async () => {
      await owner.patch('/registry/v1/org', { status: 'suspended' });
      expect((await owner.get('/registry/v1/org')).body).toMatchObject({ status: 'active' });
    });
  });

  describe('the caller', () => {
    it('can read its identity and its workspaces', async () => {
      const own = await newOrganization(app);
      const other = await own.newWorkspace('another');
      await own.newWorkspace('out of reach');
      const api = await own.member('owner');
      await api.post(USERS, { user_id: 'someone', display_name: 'Some One' });
      await api.put(`/registry/v1/workspaces/${other}/members/someone`, { roles: ['editor'] });
      await api.put(`/registry/v1/workspaces/${own.workspaceId}/members/someone`, { roles: ['runtime'] });
      const me = await app.api(await own.tokenOf('someone', { jti: 'j1' })).get('/registry/v1/me');
      expect(me.body).toEqual({
        principal: { principal_id: 'someone', principal_type: 'user', name: 'Some One' },
        organization: { org_id: own.orgId, name: own.orgId, status: 'active' },
        roles: [],
        workspaces: [
          { workspace_id: other, name: 'another', roles: ['editor'] },
          { workspace_id: own.workspaceId, name: 'main', roles: ['runtime'] },
        ],
        allow: null,
        credential: {
          kind: 'token',
          issuer: 'https://idp.test',
          jti: 'j1',
          key_id: null,
          expires_at: expect.stringMatching(/Z$/) as string,
        },
      });
    });

    it('may be a platform principal, who has no workspaces', async () => {
      expect((await platform.get('/registry/v1/me')).body).toMatchObject({
        principal: { principal_id: 'operator', principal_type: 'platform', name: null },
        organization: null,
        roles: [],
        workspaces: [],
      });
    });
  });

  describe('people', () => {
    it('are added under the subject that their issuer uses', async () => {
      const answer = await owner.post<Record<string, unknown>>(USERS, {
        user_id: 'auth0|64/u',
        display_name: 'Ada',
        email: 'ada@example.com',
        roles: ['editor', 'viewer'],
      });
      expect(answer.status).toBe(201);
      expect(answer.headers.get('location')).toBe(`${USERS}/auth0%7C64%2Fu`);
      expect(answer.body).toMatchObject({
        user_id: 'auth0|64/u',
        display_name: 'Ada',
        email: 'ada@example.com',
        status: 'active',
        roles: ['editor'],
        metadata: {},
        generation: 1,
      });
      const read = await owner.get(answer.headers.get('location')!);
      expect(read.body).toEqual(answer.body);
      expect(read.headers.get('etag')).toBe('"1"');
      const ada = app.api(await org.tokenOf('auth0|64/u'));
      expect((await ada.get('/registry/v1/me')).body).toMatchObject({ roles: ['editor'] });
    });

    it('cannot be added twice to one organization', async () => {
      expect((await owner.post(USERS, { user_id: 'twice' })).status).toBe(201);
      expect((await owner.post(USERS, { user_id: 'twice' })).body).toMatchObject({
        code: 'conflict',
        detail: 'The organization already has a user with this user_id: twice.',
      });
      const stranger = await newOrganization(app);
      expect((await (await stranger.member('owner')).post(USERS, { user_id: 'twice' })).status).toBe(201);
    });

    it.each<[string, Record<string, unknown>, number]>([
      ['no id', {}, 400],
      ['an id like that of a service account', { user_id: newId('sva') }, 400],
      ['an id that is a step in a path', { user_id: '..' }, 400],
      ['an id with a space', { user_id: 'a b' }, 400],
      ['an id with a NUL', { user_id: 'a\0b' }, 400],
      ['an id that is too long', { user_id: 'x'.repeat(256) }, 400],
      ['an email without @', { user_id: 'a1', email: 'ada' }, 400],
      ['an unknown role', { user_id: 'a2', roles: ['boss'] }, 422],
      ['an unknown status', { user_id: 'a3', status: 'gone' }, 422],
      ['null as status', { user_id: 'a4', status: null }, 400],
    ])('are refused with %s', async (_, body, status) => {
      expect((await owner.post(USERS, body)).status).toBe(status);
    });

    it('are changed and suspended, but never renamed', async () => {
      await owner.post(USERS, { user_id: 'changing', display_name: 'A', email: 'a@example.com' });
      const path = `${USERS}/changing`;
      const changed = await owner.patch(
        path,
        { display_name: null, status: 'suspended' },
        { 'if-match': '"1"' },
      );
      expect(changed.body).toMatchObject({ display_name: null, email: 'a@example.com', status: 'suspended' });
      expect((await owner.patch(path, { email: null }, { 'if-match': '"1"' })).status).toBe(412);
      expect((await owner.patch(path, { user_id: 'other' })).body).toMatchObject({ code: 'immutable_field' });
      expect((await owner.patch(path, { user_id: 'changing', status: 'active' })).status).toBe(200);
      expect((await owner.patch(`${USERS}/nobody`, { status: 'gone' })).status).toBe(404);
      expect((await owner.patch(path, { status: 'gone' })).status).toBe(422);
    });

    it('are listed newest first, filtered by status and words', async () => {
      const own = await newOrganization(app);
      const api = await own.member('owner');
      await api.post(USERS, { user_id: 'u1', display_name: 'Ada Lovelace' });
      await api.post(USERS, { user_id: 'u2', email: 'grace@navy.mil', status: 'suspended' });
      const ids = async (query: string) => {
        const { body } = await api.get<{ items: { user_id: string }[] }>(`${USERS}?${query}`);
        return body.items.map((one) => one.user_id);
      };
      const [u2, u1, caller] = await ids('');
      expect([u2, u1]).toEqual(['u2', 'u1']);
      expect(await ids('sort=created_at')).toEqual([caller, 'u1', 'u2']);
      expect(await ids('q=love')).toEqual(['u1']);
      expect(await ids('q=grace')).toEqual(['u2']);
      expect(await ids('status=suspended')).toEqual(['u2']);
      const first = await api.get<{ page: { next_cursor: string } }>(`${USERS}?limit=1`);
      expect(await ids(`limit=1&cursor=${first.body.page.next_cursor}`)).toEqual(['u1']);
    });
  });

  describe('organizations, seen by platform principals,', () => {
    it('are created with a first owner', async () => {
      const made = await platform.post<{ org_id: string }>(ORGS, { name: 'New', owner_user_id: 'first' });
      expect(made.status).toBe(201);
      expect(made.headers.get('location')).toBe(`${ORGS}/${made.body.org_id}`);
      expect(made.body).toMatchObject({ name: 'New', status: 'active', created_by: 'operator' });
      const claims = { sub: 'first', user_id: 'first', org_id: made.body.org_id };
      const first = app.api(await app.issuer.issueToken(claims));
      expect((await first.patch('/registry/v1/org', { name: 'Mine' })).status).toBe(200);
      expect((await first.post('/registry/v1/workspaces', { name: 'w' })).status).toBe(201);
      expect((await platform.get(made.headers.get('location')!)).body).toMatchObject({ name: 'Mine' });
    });

    it('are suspended and reinstated with their accounts', async () => {
      const own = await newOrganization(app);
      const { key } = await own.serviceAccount('viewer');
      const person = await own.token('viewer');
      const codes = async () =>
        Promise.all(
          [key, person].map(
            async (one) => (await app.api(one).get<{ code?: string }>('/registry/v1/org')).body.code,
          ),
        );
      expect(await codes()).toEqual([undefined, undefined]);
      const suspended = await platform.patch(`${ORGS}/${own.orgId}`, { status: 'suspended' });
      expect(suspended.body).toMatchObject({ status: 'suspended', generation: 2 });
      expect(await codes()).toEqual(['account_suspended', 'account_suspended']);
      await platform.patch(`${ORGS}/${own.orgId}`, { status: 'active' }, { 'if-match': '"2"' });
      expect(await codes()).toEqual([undefined, undefined]);
    });

    it('are listed', async () => {
      const own = await newOrganization(app);
      await platform.patch(`${ORGS}/${own.orgId}`, { status: 'suspended' });
      const list = await platform.get<{ items: { org_id: string }[] }>(`${ORGS}?status=suspended`);
      expect(list.body.items.map((one) => one.org_id)).toEqual([own.orgId]);
      expect((await platform.get(`${ORGS}?status=gone`)).status).toBe(422);
    });

    it.each<[string, () => Promise<{ status: number }>, number]>([
      ['created without a name', () => platform.post(ORGS, {}), 400],
      [
        'created with an owner that cannot be a user',
        () => platform.post(ORGS, { name: 'x', owner_user_id: 'sva_x' }),
        400,
      ],
      ['read if unknown', () => platform.get(`${ORGS}/org_unknown`), 404],
      ['changed if unknown', () => platform.patch(`${ORGS}/org_unknown`, { status: 'active' }), 404],
      ['given an unknown status', () => platform.patch(`${ORGS}/${org.orgId}`, { status: 'gone' }), 422],
      [
        'changed with a stale If-Match',
        () => platform.patch(`${ORGS}/${org.orgId}`, { status: 'gone' }, { 'if-match': '"99"' }),
        412,
      ],
    ])('cannot be %s', async (_, call, status) => {
      expect((await call()).status).toBe(status);
    });
  });
});
