import { newId } from '#platform/ids';
import { type Role, ROLES } from '#platform/auth';
import { type Answer, type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';

const WORKSPACES = '/registry/v1/workspaces';
const ACCOUNTS = '/registry/v1/service-accounts';
const USERS = '/registry/v1/users';

describe('roles', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let target: { serviceAccountId: string; keyId: string };
  /** A member with each role, and one without any. */
  const members = new Map<Role, ApiClient>();
  let nobody: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    for (const role of ROLES) members.set(role, await org.member(role));
    nobody = await org.member();
    target = await org.serviceAccount('viewer');
    await (await org.member('owner')).post(USERS, { user_id: 'someone' });
  });

  let made = 0;
  const name = () => `made ${(made += 1)}`;

  const READERS: readonly Role[] = ROLES.filter((role) => role !== 'runtime');
  const ADMINS: readonly Role[] = ['admin', 'owner'];

  const OPERATIONS: [string, readonly Role[], (api: ApiClient) => Promise<{ status: number }>][] = [
    ['see the organization', READERS, (api) => api.get('/registry/v1/org')],
    ['change the organization', ['owner'], (api) => api.patch('/registry/v1/org', { name: name() })],
    ['list workspaces', READERS, (api) => api.get(WORKSPACES)],
    ['see a workspace', READERS, (api) => api.get(`${WORKSPACES}/${org.workspaceId}`)],
    ['create a workspace', ADMINS, (api) => api.post(WORKSPACES, { name: name() })],
    [
      'change a workspace',
      ADMINS,
      (api) => api.patch(`${WORKSPACES}/${org.workspaceId}`, { description: name() }),
    ],
    [
      'archive a workspace',
      ADMINS,
      async (api) => api.post(`${WORKSPACES}/${await org.newWorkspace()}/archive`),
    ],
    ['list members', READERS, (api) => api.get(`${WORKSPACES}/${org.workspaceId}/members`)],
    [
      'add a member',
      ADMINS,
      (api) => api.put(`${WORKSPACES}/${org.workspaceId}/members/someone`, { roles: ['viewer'] }),
    ],
    ['list people', READERS, (api) => api.get(USERS)],
    ['see a person', READERS, (api) => api.get(`${USERS}/someone`)],
    ['add a person', ADMINS, (api) => api.post(USERS, { user_id: `u${(made += 1)}` })],
    ['change a person', ADMINS, (api) => api.patch(`${USERS}/someone`, { display_name: name() })],
    ['list service accounts', READERS, (api) => api.get(ACCOUNTS)],
    ['see a service account', READERS, (api) => api.get(`${ACCOUNTS}/${target.serviceAccountId}`)],
    ['create a service account', ADMINS, (api) => api.post(ACCOUNTS, { name: name() })],
    [
      'change a service account',
      ADMINS,
      (api) => api.patch(`${ACCOUNTS}/${target.serviceAccountId}`, { description: name() }),
    ],
    [
      'archive a service account',
      ADMINS,
      async (api) => api.post(`${ACCOUNTS}/${(await org.serviceAccount('viewer')).serviceAccountId}/archive`),
    ],
    ['list keys', READERS, (api) => api.get(`${ACCOUNTS}/${target.serviceAccountId}/keys`)],
    [
      'create a key',
      ADMINS,
      (api) => api.post(`${ACCOUNTS}/${target.serviceAccountId}/keys`, { name: name() }),
    ],
    [
      'revoke a key',
      ADMINS,
      async (api) => {
        const { serviceAccountId, keyId } = await org.serviceAccount('viewer');
        return api.post(`${ACCOUNTS}/${serviceAccountId}/keys/${keyId}/revoke`);
      },
    ],
    ['list signing keys', READERS, (api) => api.get('/registry/v1/org/signing-keys')],
    [
      'create and revoke a signing key',
      ADMINS,
      async (api) => {
        const made = await api.post('/registry/v1/org/signing-keys', { name: name() });
        return made.status === 201 ? api.post(`${made.headers.get('location')}/revoke`) : made;
      },
    ],
    ['see themselves', ROLES, (api) => api.get('/registry/v1/me')],
    ['list all organizations', [], (api) => api.get('/registry/v1/orgs')],
    ['create an organization', [], (api) => api.post('/registry/v1/orgs', { name: name() })],
    [
      'change any organization',
      [],
      (api) => api.patch(`/registry/v1/orgs/${org.orgId}`, { status: 'active' }),
    ],
  ];

  it.each(OPERATIONS)('decide who may %s: %j', async (_, allowed, call) => {
    for (const [role, member] of members) {
      const { status } = await call(member);
      expect([role, status < 300 ? 'may' : status]).toEqual([role, allowed.includes(role) ? 'may' : 403]);
    }
    expect((await call(nobody)).status < 300).toBe(allowed.length === ROLES.length);
    expect((await call(app.api())).status).toBe(401);
  });

  it('let runtime read agents, skills and MCP servers with their versions, but not change them', async () => {
    const [editor, runtime] = [await org.member('editor'), await org.member('runtime')];
    const owner = await org.as('owner');
    const account = await owner.post(ACCOUNTS, {
      name: name(),
      roles: ['runtime'],
      workspace_ids: [await org.newWorkspace()],
    });
    const key = await owner.post(`${account.headers.get('location')}/keys`, { name: name() });
    const elsewhere = app.api(key.body.key);
    const described = { description: 'd', instructions: 'i' };
    for (const [list, body, more] of [
      ['/agent/v1/agents', { name: 'one' }, []],
      ['/skill/v1/skills', { name: 'one', ...described }, ['/versions/1/content']],
      ['/mcp/v1/servers', { name: 'one', url: 'https://mcp.example.com' }, ['/tools']],
    ] as const) {
      const made = await editor.post(list, { workspace_id: org.workspaceId, ...body });
      const path = made.headers.get('location')!;
      const { items } = (await runtime.get<{ items: { name: string }[] }>(list)).body;
      expect(items.map(({ name }) => name)).toEqual(['one']);
      expect((await elsewhere.get(list)).body).toMatchObject({ items: [] });
      for (const read of ['', '/versions', '/versions/1', ...more]) {
        expect([read, (await runtime.get(path + read)).status]).toEqual([read, 200]);
        expect([read, (await elsewhere.get(path + read)).status]).toEqual([read, 404]);
      }
      for (const refused of [
        await runtime.patch(path, { description: 'x' }),
        await runtime.post(`${path}/archive`),
        await runtime.post(list, { workspace_id: org.workspaceId, ...body, name: 'two' }),
      ]) {
        expect(refused.body).toMatchObject({ status: 403, code: 'access_denied' });
      }
    }
  });

  it.each<[Role, string, string]>([
    ['editor', WORKSPACES, 'admin in the organization. Your roles there: editor.'],
    ['viewer', '/registry/v1/apps', 'editor in the workspace.'],
    ['runtime', '/registry/v1/search', 'viewer in at least one workspace.'],
  ])('are named in the problem if a caller with the role %s posts to %s', async (role, path, missing) => {
    const { body } = await (await org.member(role)).post<{ detail: string }>(path, {});
    expect(body).toMatchObject({ code: 'access_denied', detail: `Requires the role ${missing}` });
  });

  describe('in a single workspace', () => {
    let api: ApiClient;
    let org: TestOrganization;
    let own: string;
    beforeAll(async () => {
      org = await newOrganization(app);
      own = await org.newWorkspace();
      await (await org.member('owner')).post(USERS, { user_id: 'someone' });
      await (await org.member('owner')).put(`${WORKSPACES}/${own}/members/someone`, { roles: ['admin'] });
      api = app.api(await org.tokenOf('someone'));
    });

    it('come from the membership', async () => {
      expect((await api.get(`${WORKSPACES}/${own}`)).status).toBe(200);
      expect((await api.patch(`${WORKSPACES}/${own}`, { description: 'mine' })).status).toBe(200);
      expect((await api.get(`${WORKSPACES}/${own}/members/someone`)).status).toBe(200);
      expect((await api.get('/registry/v1/org')).status).toBe(200);
      expect((await api.in(own).get('/eval/v1/datasets')).status).toBe(200);
    });

    it('do not apply elsewhere: other workspaces look unknown', async () => {
      for (const call of [
        api.get(`${WORKSPACES}/${org.workspaceId}/members`),
        api.patch(`${WORKSPACES}/${org.workspaceId}`, { description: 'not mine' }),
        api.post(`${WORKSPACES}/${org.workspaceId}/archive`),
        api.put(`${WORKSPACES}/${org.workspaceId}/members/someone`, { roles: ['admin'] }),
      ]) {
        expect((await call).status).toBe(404);
      }
      const { body } = await api.get<{ items: { workspace_id: string }[] }>(WORKSPACES);
      expect(body.items.map((one) => one.workspace_id)).toEqual([own]);
    });

    it('give no access to the organization', async () => {
      for (const caller of [api, api.in(own)]) {
        expect((await caller.post(WORKSPACES, { name: name() })).status).toBe(403);
        expect((await caller.post(ACCOUNTS, { name: name() })).status).toBe(403);
        expect((await caller.get(USERS)).status).toBe(403);
        expect((await caller.patch('/registry/v1/org', { name: name() })).status).toBe(403);
      }
    });
  });

  describe('with the workspace header', () => {
    it('require a reachable workspace in evaluation', async () => {
      const own = await org.newWorkspace();
      const owner = await org.member('owner');
      await owner.post(USERS, { user_id: 'reader' });
      await owner.put(`${WORKSPACES}/${own}/members/reader`, { roles: ['viewer'] });
      const api = app.api(await org.tokenOf('reader'));
      const stranger = await newOrganization(app);
      const statusIn = async (workspaceId?: string) => {
        const caller = workspaceId === undefined ? api : api.in(workspaceId);
        const { status, body } = await caller.get<{ code?: string }>('/eval/v1/datasets');
        return [status, body.code];
      };
      expect(await statusIn()).toEqual([400, 'invalid_request']);
      expect(await statusIn('')).toEqual([400, 'invalid_request']);
      expect(await statusIn('wsp_unknown')).toEqual([409, 'conflict']);
      expect(await statusIn(stranger.workspaceId)).toEqual([409, 'conflict']);
      expect(await statusIn(org.workspaceId)).toEqual([403, 'access_denied']);
      expect(await statusIn(own)).toEqual([200, undefined]);
      // the workspace is checked before the role
      expect((await api.in('wsp_unknown').post('/eval/v1/datasets', {})).status).toBe(409);
      expect((await api.in(own).post('/eval/v1/datasets', {})).status).toBe(403);
    });

    it('are named in problems, which reveal nothing about foreign workspaces', async () => {
      const [one, two] = [await org.newWorkspace(), await org.newWorkspace()];
      const owner = await org.member('owner');
      await owner.post(USERS, { user_id: 'mixed' });
      await owner.put(`${WORKSPACES}/${one}/members/mixed`, { roles: ['viewer', 'runtime'] });
      await owner.put(`${WORKSPACES}/${two}/members/mixed`, { roles: ['evaluator'] });
      const api = app.api(await org.tokenOf('mixed'));
      const stranger = await newOrganization(app);
      const detailOf = async (call: Promise<Answer<unknown>>) =>
        ((await call).body as { detail: string }).detail;
      const make = (workspaceId: string) => detailOf(api.in(workspaceId).post('/eval/v1/datasets', {}));
      expect(await make(one)).toBe(
        'Requires the role editor in the workspace of X-Service-Workspace-Id. Your roles there: viewer, runtime.',
      );
      expect(await make(org.workspaceId)).toBe(
        'You do not have access to the workspace in X-Service-Workspace-Id.',
      );
      // the same for a workspace of another organization and an unknown one, whether the header is required or not
      expect(await make(stranger.workspaceId)).toBe(await make('wsp_unknown'));
      const optional = (workspaceId: string) => detailOf(api.in(workspaceId).get(WORKSPACES));
      expect(await optional(stranger.workspaceId)).toBe(await optional('wsp_unknown'));
    });

    it('ignore an optional header, unless its workspace is inaccessible', async () => {
      const owner = await org.member('owner');
      const stranger = await newOrganization(app);
      const always = owner.in(await org.newWorkspace());
      const made = await always.post<{ workspace_id: string }>(WORKSPACES, { name: name() });
      expect(made.status).toBe(201);
      const path = `${WORKSPACES}/${made.body.workspace_id}`;
      expect((await always.get(path)).status).toBe(200);
      expect((await always.patch(path, { description: 'x' })).status).toBe(200);
      const repo = { workspace_id: made.body.workspace_id, url: 'https://git.example.com/a/b' };
      expect((await always.post('/registry/v1/repos', repo)).status).toBe(201);
      for (const list of [WORKSPACES, '/registry/v1/repos', '/registry/v1/audit-log']) {
        const [by, without] = [await always.get(list), await owner.get(list)];
        expect([list, by.body]).toEqual([list, without.body]);
      }
      const everywhere = { name: name(), roles: ['viewer'], workspace_ids: ['*'] };
      expect((await always.post(ACCOUNTS, everywhere)).status).toBe(201);
      for (const unreachable of ['wsp_unknown', stranger.workspaceId]) {
        for (const call of [
          owner.in(unreachable).get(WORKSPACES),
          owner.in(unreachable).post(WORKSPACES, {}),
        ])
          expect((await call).body).toMatchObject({ status: 403, code: 'access_denied' });
      }
    });

    it('are refused if the header names several workspaces', async () => {
      const twice = (await org.member('owner')).in(`${org.workspaceId}, ${org.workspaceId}`);
      const detail = 'X-Service-Workspace-Id: must name exactly one workspace';
      for (const path of [WORKSPACES, '/skill/v1/skills', '/eval/v1/datasets', '/api/v1/apis/api_x/y'])
        expect((await twice.get(path)).body).toMatchObject({ status: 400, code: 'invalid_request', detail });
      const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
      expect((await twice.post('/mcp', message)).body).toMatchObject({ status: 400, detail });
      const called = await twice.post('/model/v1/chat/completions', { model: 'm', messages: [] });
      expect([called.status, JSON.stringify(called.body)]).toEqual([400, expect.stringContaining(detail)]);
    });
  });

  describe('that the caller does not hold', () => {
    const denied = { status: 403, code: 'access_denied' };

    it('cannot be granted by creating a service account', async () => {
      const admin = await org.member('admin');
      const body = (roles: Role[]) => ({ name: name(), roles, workspace_ids: [org.workspaceId] });
      expect((await admin.post(ACCOUNTS, body(['owner']))).body).toMatchObject(denied);
      expect((await admin.post(ACCOUNTS, body(['admin', 'publisher']))).status).toBe(201);
      expect((await (await org.member('owner')).post(ACCOUNTS, body(['owner']))).status).toBe(201);
    });

    it('cannot be granted, not even the role annotator', async () => {
      const here = await org.member('admin');
      const account = (roles: Role[]) => ({ name: name(), roles, workspace_ids: [org.workspaceId] });
      const made = await here.post(ACCOUNTS, account(['annotator']));
      expect([made.status, made.body.roles]).toEqual([201, ['annotator']]);
      expect((await here.post(`${made.headers.get('location')}/keys`, { name: 'annotates' })).status).toBe(
        201,
      );
      const elsewhere = await org.newWorkspace();
      const member = `${WORKSPACES}/${elsewhere}/members/admin-there`;
      const owner = await org.member('owner');
      await owner.post(USERS, { user_id: 'admin-there' });
      expect((await owner.put(member, { roles: ['admin'] })).status).toBe(201);
      const there = app.api(await org.tokenOf('admin-there'));
      const granted = `${WORKSPACES}/${elsewhere}/members/someone`;
      expect((await there.put(granted, { roles: ['annotator'] })).status).toBe(201);
      expect((await there.post(ACCOUNTS, account(['annotator']))).body).toMatchObject(denied);
    });

    it('cannot be granted or revoked by changing the roles or workspaces of a service account', async () => {
      const admin = await org.member('admin');
      const weak = await org.serviceAccount('viewer');
      const strong = await org.serviceAccount('owner');
      const other = await org.newWorkspace();
      const patch = (id: string, body: unknown) => admin.patch(`${ACCOUNTS}/${id}`, body);
      expect((await patch(weak.serviceAccountId, { roles: ['owner'] })).body).toMatchObject(denied);
      expect((await patch(weak.serviceAccountId, { roles: ['editor'] })).status).toBe(200);
      expect(
        (await patch(strong.serviceAccountId, { workspace_ids: [org.workspaceId, other] })).body,
      ).toMatchObject(denied);
      expect((await patch(strong.serviceAccountId, { roles: [] })).body).toMatchObject(denied);
      expect((await patch(strong.serviceAccountId, { description: 'x' })).status).toBe(200);
      expect((await patch(weak.serviceAccountId, { workspace_ids: [org.workspaceId, other] })).status).toBe(
        200,
      );
    });

    it('cannot be obtained by creating a key of an account with more roles', async () => {
      const admin = await org.member('admin');
      const strong = await org.serviceAccount('owner');
      const keys = (id: string) => `${ACCOUNTS}/${id}/keys`;
      expect((await admin.post(keys(strong.serviceAccountId), { name: 'x' })).body).toMatchObject(denied);
      const weak = await org.serviceAccount('viewer');
      expect((await admin.post(keys(weak.serviceAccountId), { name: 'x' })).status).toBe(201);
      const owner = await org.member('owner');
      const member = `${WORKSPACES}/${org.workspaceId}/members/${weak.serviceAccountId}`;
      expect((await owner.put(member, { roles: ['owner'] })).status).toBe(201);
      expect((await admin.post(keys(weak.serviceAccountId), { name: 'x' })).body).toMatchObject(denied);
      expect((await owner.post(keys(weak.serviceAccountId), { name: 'x' })).status).toBe(201);
    });

    it('cannot be granted or revoked by adding or removing a member', async () => {
      const admin = await org.member('admin');
      const owner = await org.member('owner');
      const member = `${WORKSPACES}/${org.workspaceId}/members/someone`;
      expect((await admin.put(member, { roles: ['owner'] })).body).toMatchObject(denied);
      expect((await owner.put(member, { roles: ['owner'] })).status).toBe(200);
      expect((await admin.put(member, { roles: ['viewer'] })).body).toMatchObject(denied);
      expect((await admin.delete(member)).body).toMatchObject(denied);
      expect((await owner.put(member, { roles: ['viewer'] })).status).toBe(200);
      expect((await admin.delete(member)).status).toBe(204);
    });

    it('cannot be granted or revoked by adding or changing a person', async () => {
      const admin = await org.member('admin');
      expect((await admin.post(USERS, { user_id: 'boss', roles: ['owner'] })).body).toMatchObject(denied);
      expect((await admin.post(USERS, { user_id: 'boss', roles: ['admin'] })).status).toBe(201);
      expect((await admin.patch(`${USERS}/boss`, { roles: ['owner'] })).body).toMatchObject(denied);
      const owner = await org.member('owner');
      expect((await owner.patch(`${USERS}/boss`, { roles: ['owner'] })).status).toBe(200);
      expect((await admin.patch(`${USERS}/boss`, { roles: [] })).body).toMatchObject(denied);
      const boss = app.api(await org.tokenOf('boss'));
      expect((await boss.patch('/registry/v1/org', { name: name() })).status).toBe(200);
    });

    it('cannot be taken or given back by suspending, reinstating or archiving an account', async () => {
      const admin = await org.member('admin');
      const owner = await org.member('owner');
      const strong = await org.serviceAccount('owner');
      const member = await org.serviceAccount('viewer');
      const membership = `${WORKSPACES}/${org.workspaceId}/members`;
      await owner.put(`${membership}/${member.serviceAccountId}`, { roles: ['owner'] });
      for (const { serviceAccountId, keyId } of [strong, member]) {
        const path = `${ACCOUNTS}/${serviceAccountId}`;
        expect((await admin.patch(path, { status: 'suspended' })).body).toMatchObject(denied);
        expect((await admin.post(`${path}/archive`)).body).toMatchObject(denied);
        expect((await admin.patch(path, { status: 'active' })).status).toBe(200);
        expect((await owner.patch(path, { status: 'suspended' })).status).toBe(200);
        expect((await admin.patch(path, { status: 'active' })).body).toMatchObject(denied);
        expect((await admin.post(`${path}/keys/${keyId}/revoke`)).status).toBe(200);
        expect((await owner.post(`${path}/archive`)).status).toBe(200);
        expect((await admin.post(`${path}/archive`)).status).toBe(200);
      }

      await owner.post(USERS, { user_id: 'first', roles: ['owner'] });
      await owner.post(USERS, { user_id: 'second' });
      await owner.put(`${membership}/second`, { roles: ['owner'] });
      await owner.post(USERS, { user_id: 'third', roles: ['admin'] });
      for (const path of [`${USERS}/first`, `${USERS}/second`]) {
        expect((await admin.patch(path, { status: 'suspended' })).body).toMatchObject(denied);
        expect((await admin.patch(path, { status: 'active', display_name: 'D' })).status).toBe(200);
        const elsewhere = owner.in(await org.newWorkspace());
        expect((await elsewhere.patch(path, { status: 'suspended' })).status).toBe(200);
        expect((await admin.patch(path, { status: 'active' })).body).toMatchObject(denied);
      }
      expect((await admin.patch(`${USERS}/third`, { status: 'suspended' })).status).toBe(200);
      expect((await admin.patch(`${USERS}/third`, { status: 'active' })).status).toBe(200);
    });

    it('cannot be granted or revoked for the whole organization by a workspace account', async () => {
      const bound = app.api((await org.serviceAccount('owner')).key);
      const narrowed = app.api(
        await org.tokenOf(newId('usr'), { roles: ['owner'], workspace_ids: [org.workspaceId] }),
      );
      await (await org.member('owner')).post(USERS, { user_id: 'colleague' });
      for (const caller of [bound, narrowed]) {
        expect((await caller.post(USERS, { user_id: newId('usr'), roles: ['admin'] })).body).toMatchObject(
          denied,
        );
        expect((await caller.patch(`${USERS}/colleague`, { roles: ['viewer'] })).body).toMatchObject(denied);
        expect((await caller.patch(`${USERS}/colleague`, { status: 'suspended' })).status).toBe(403);
        expect((await caller.patch('/registry/v1/org', { name: name() })).body).toMatchObject(denied);
        const everywhere = { name: name(), roles: ['viewer'], workspace_ids: ['*'] };
        expect((await caller.post(ACCOUNTS, everywhere)).body).toMatchObject(denied);
        expect((await caller.post(USERS, { user_id: newId('usr') })).body).toMatchObject(denied);
      }
      const made = await bound.post<{ workspace_id: string }>(WORKSPACES, { name: name() });
      expect(made.status).toBe(201);
      expect((await bound.get(`${WORKSPACES}/${made.body.workspace_id}`)).status).toBe(200);
    });

    it('cannot be obtained or revoked through an account with wider access', async () => {
      const { key, serviceAccountId } = await org.serviceAccount('admin');
      const bound = app.api(key);
      const owner = await org.member('owner');
      const other = await org.newWorkspace();
      const make = async (workspace_ids: string[]) =>
        (await owner.post<{ service_account_id: string }>(ACCOUNTS, { name: name(), workspace_ids })).body
          .service_account_id;
      const outside = [
        await make([other]),
        await make([org.workspaceId, other]),
        await make(['*']),
        await make([]),
      ];
      const colleague = await make([org.workspaceId]);
      const guest = await make([org.workspaceId]);
      await owner.put(`${WORKSPACES}/${other}/members/${guest}`, { roles: ['viewer'] });
      for (const id of [...outside, guest]) {
        const made = await owner.post<{ key_id: string }>(`${ACCOUNTS}/${id}/keys`, { name: 'k' });
        const revoke = `${ACCOUNTS}/${id}/keys/${made.body.key_id}/revoke`;
        expect((await bound.patch(`${ACCOUNTS}/${id}`, { status: 'suspended' })).body).toMatchObject(denied);
        expect((await bound.post(`${ACCOUNTS}/${id}/archive`)).body).toMatchObject(denied);
        expect((await bound.post(revoke)).body).toMatchObject(denied);
        expect((await bound.post(`${ACCOUNTS}/${id}/keys`, { name: 'k' })).body).toMatchObject(denied);
        expect((await owner.get<{ status: string }>(`${ACCOUNTS}/${id}`)).body).toMatchObject({
          status: 'active',
          archived_at: null,
        });
        expect((await owner.post(revoke)).status).toBe(200);
      }
      expect((await bound.patch(`${ACCOUNTS}/${colleague}`, { status: 'suspended' })).status).toBe(200);
      expect((await bound.post(`${ACCOUNTS}/${colleague}/archive`)).status).toBe(200);
      expect((await bound.patch(`${ACCOUNTS}/${serviceAccountId}`, { description: 'me' })).status).toBe(200);
    });

    it('cannot be granted for all workspaces, unless the caller has access to all', async () => {
      const owner = await org.member('owner');
      const body = { name: name(), roles: ['admin'], workspace_ids: ['*'] };
      const { service_account_id } = (await owner.post<{ service_account_id: string }>(ACCOUNTS, body)).body;
      const { key } = (
        await owner.post<{ key: string }>(`${ACCOUNTS}/${service_account_id}/keys`, { name: 'k' })
      ).body;
      const everywhere = app.api(key);
      const later = await org.newWorkspace();
      expect((await everywhere.in(later).get('/eval/v1/datasets')).status).toBe(200);
      expect((await everywhere.post(USERS, { user_id: newId('usr'), roles: ['admin'] })).status).toBe(201);
      const listed = await owner.get<{ items: { service_account_id: string }[] }>(
        `${ACCOUNTS}?workspace_id=${later}`,
      );
      expect(listed.body.items.map((one) => one.service_account_id)).toContain(service_account_id);
      expect((await owner.post(ACCOUNTS, { name: name(), workspace_ids: ['*', later] })).status).toBe(400);
    });

    it('cannot be granted for a workspace that the caller cannot access', async () => {
      const { key, serviceAccountId } = await org.serviceAccount('admin');
      const bound = app.api(key);
      const other = await org.newWorkspace();
      const body = (ids: string[]) => ({ name: name(), roles: ['viewer'], workspace_ids: ids });
      expect((await bound.post(ACCOUNTS, body([org.workspaceId, other]))).body).toMatchObject(denied);
      expect((await bound.post(ACCOUNTS, { name: name(), workspace_ids: [other] })).body).toMatchObject(
        denied,
      );
      expect((await bound.post(ACCOUNTS, body([org.workspaceId]))).status).toBe(201);
      const itself = `${ACCOUNTS}/${serviceAccountId}`;
      expect((await bound.patch(itself, { workspace_ids: [org.workspaceId, other] })).body).toMatchObject(
        denied,
      );
      expect((await bound.put(`${WORKSPACES}/${other}/members/someone`, { roles: ['viewer'] })).status).toBe(
        404,
      );
    });
  });
});
