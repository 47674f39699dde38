import { type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';

describe('deleted accounts', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    owner = await org.member('owner');
  });

  it('leave no membership, and users delete others only', async () => {
    const user = '/registry/v1/users/ada%40example.com';
    const member = `/registry/v1/workspaces/${org.workspaceId}/members/ada%40example.com`;
    const made = await owner.post('/registry/v1/users', { user_id: 'ada@example.com', roles: ['admin'] });
    expect(made.status).toBe(201);
    expect((await owner.put(member, { roles: ['editor'] })).status).toBe(201);
    const ada = app.api(await org.tokenOf('ada@example.com'));
    const own = await ada.delete(user);
    expect([own.status, own.body.detail]).toEqual([409, expect.stringContaining('your own account')]);
    const editor = await org.member('editor');
    expect((await editor.delete(user)).status).toBe(403);
    expect((await owner.delete(user, { 'if-match': '"7"' })).status).toBe(412);
    expect((await owner.delete(user)).status).toBe(204);
    expect([(await owner.get(user)).status, (await owner.delete(user)).status]).toEqual([404, 404]);
    const members = (await owner.get(`/registry/v1/workspaces/${org.workspaceId}/members`)).body.items;
    expect(members.map((one: any) => one.principal_id)).not.toContain('ada@example.com');
    const log = await owner.get('/registry/v1/audit-log?resource_type=user&action=delete');
    expect(log.body.items).toMatchObject([{ resource_id: 'ada@example.com' }]);
  });

  it('of services take their keys with them, and keys are deleted once they are revoked', async () => {
    const { serviceAccountId, keyId, key } = await org.serviceAccount('viewer');
    const account = `/registry/v1/service-accounts/${serviceAccountId}`;
    const path = `${account}/keys/${keyId}`;
    expect((await app.api(key).get('/registry/v1/me')).status).toBe(200);
    const live = await owner.delete(path);
    expect([live.status, live.body.detail]).toEqual([409, expect.stringContaining('Revoke it')]);
    await owner.post(`${path}/revoke`);
    expect((await owner.delete(path)).status).toBe(204);
    expect((await owner.get(path)).status).toBe(404);
    expect((await app.api(key).get('/registry/v1/me')).status).toBe(401);
    const other = await org.serviceAccount('viewer');
    const archived = `/registry/v1/service-accounts/${other.serviceAccountId}`;
    await owner.post(`${archived}/archive`);
    expect((await owner.delete(archived)).status).toBe(204);
    expect((await app.api(other.key).get('/registry/v1/me')).status).toBe(401);
    const rows = await app.database.query('SELECT 1 FROM api_keys WHERE key_id = ANY ($1)', [
      [keyId, other.keyId],
    ]);
    expect(rows).toEqual([]);
  });

  it('of gateway keys are deleted with a revoked key', async () => {
    const admin = await org.as('owner');
    const made = await admin.post('/model/v1/keys', { workspace_id: org.workspaceId, name: 'bot' });
    const { key_id, service_account_id } = made.body;
    const path = `/model/v1/keys/${key_id}`;
    expect((await admin.delete(path)).status).toBe(409);
    await admin.post(`${path}/revoke`);
    expect((await admin.delete(path)).status).toBe(204);
    const gone = [admin.get(path), admin.get(`/registry/v1/service-accounts/${service_account_id}`)];
    expect((await Promise.all(gone)).map(({ status }) => status)).toEqual([404, 404]);
    expect((await admin.post('/model/v1/keys', { workspace_id: org.workspaceId, name: 'bot' })).status).toBe(
      201,
    );
  });
});
