import { newId } from '#platform/ids';
import { type ApiClient, sharedApp } from '#testing';
import { bootstrap } from '../../../src/registry';

describe('the first start', () => {
  const app = sharedApp();

  /** Another owner of the organization, because callers cannot weaken their own account. */
  const anotherOwner = async (api: ApiClient): Promise<ApiClient> => {
    const owner = { name: newId('sva'), roles: ['owner'], workspace_ids: ['*'] };
    const made = await api.post<{ service_account_id: string }>('/registry/v1/service-accounts', owner);
    const keys = `/registry/v1/service-accounts/${made.body.service_account_id}/keys`;
    return app.api((await api.post<{ key: string }>(keys, { name: 'k' })).body.key);
  };

  it('creates an organization, a workspace and an owner with a key', async () => {
    const starts = await Promise.all([bootstrap(app.app), bootstrap(app.app), bootstrap(app.app)]);
    const keys = starts.map((one) => one.api_key).filter((key) => key !== null);
    expect(keys).toHaveLength(1);
    expect(new Set(starts.map((one) => one.org_id)).size).toBe(1);
    const [{ org_id, workspace_id, service_account_id }] = starts;
    const api = app.api(keys[0]);
    expect((await api.get('/registry/v1/me')).body).toMatchObject({
      principal: { principal_id: service_account_id, principal_type: 'service_account' },
      organization: { org_id, name: 'default' },
      roles: ['owner'],
      workspaces: [{ workspace_id, name: 'default', roles: ['owner'] }],
    });
    expect((await api.patch('/registry/v1/org', { name: 'Renamed' })).status).toBe(200);
    expect((await api.in(workspace_id).post('/eval/v1/datasets', { workspace_id, name: 'd' })).status).toBe(
      201,
    );
    const made = await api.post<{ workspace_id: string }>('/registry/v1/workspaces', { name: 'second' });
    expect((await api.in(made.body.workspace_id).get('/eval/v1/datasets')).status).toBe(200);
  });

  it('is not repeated, even after renames', async () => {
    const first = await bootstrap(app.app);
    expect(first.api_key).toBeNull();
    expect(await bootstrap(app.app)).toEqual(first);
  });

  it('creates another key on request', async () => {
    const first = await bootstrap(app.app, { newKey: true });
    const second = await bootstrap(app.app, { newKey: true });
    expect(second).toEqual({ ...first, api_key: expect.stringMatching(/^rsk_/) as string });
    for (const { api_key } of [first, second]) {
      expect((await app.api(api_key!).get('/registry/v1/org')).status).toBe(200);
    }
  });

  it('restores the owner role only if a new key is requested', async () => {
    const { api_key, service_account_id, workspace_id } = await bootstrap(app.app, { newKey: true });
    const itself = `/registry/v1/service-accounts/${service_account_id}`;
    const api = app.api(api_key!);
    const weak = { roles: ['viewer'], workspace_ids: [workspace_id] };
    const other = await anotherOwner(api);
    expect((await other.patch(itself, { ...weak, description: 'changed' })).status).toBe(200);
    await bootstrap(app.app);
    expect((await api.get(itself)).body).toMatchObject(weak);
    expect((await api.patch('/registry/v1/org', { name: 'Again' })).status).toBe(403);
    const restored = app.api((await bootstrap(app.app, { newKey: true })).api_key!);
    const owner = { roles: ['owner'], workspace_ids: ['*'], description: 'changed', generation: 3 };
    expect((await restored.get(itself)).body).toMatchObject(owner);
    expect((await restored.patch('/registry/v1/org', { name: 'Again' })).status).toBe(200);
  });

  it('does not reinstate a suspended account', async () => {
    const { api_key, service_account_id } = await bootstrap(app.app, { newKey: true });
    const itself = `/registry/v1/service-accounts/${service_account_id}`;
    const other = await anotherOwner(app.api(api_key!));
    expect((await other.patch(itself, { status: 'suspended' })).status).toBe(200);
    const { api_key: another } = await bootstrap(app.app, { newKey: true });
    expect((await app.api(another!).get('/registry/v1/org')).body).toMatchObject({
      code: 'account_suspended',
    });
    expect((await other.patch(itself, { status: 'active' })).status).toBe(200);
  });

  it('does not restore an archived account or workspace', async () => {
    const { api_key, service_account_id } = await bootstrap(app.app, { newKey: true });
    const other = await anotherOwner(app.api(api_key!));
    await other.post(`/registry/v1/service-accounts/${service_account_id}/archive`);
    expect(await bootstrap(app.app)).toMatchObject({ service_account_id, api_key: null });
    await expect(bootstrap(app.app, { newKey: true })).rejects.toThrow('archived');
  });
});
