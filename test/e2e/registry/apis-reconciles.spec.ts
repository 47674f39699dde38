import { sharedApp } from '#testing';
import { ApiDirectory } from '../../../src/registry';
import { api, APIS, idIn, pointersIn } from './apis.fixture';
import { APPS, AppsFixture, server } from './apps.fixture';

describe('APIs that an app declares', () => {
  const app = sharedApp();
  let on: AppsFixture;

  beforeEach(async () => {
    on = await AppsFixture.create(app);
  });

  /** Declares an app as an admin, and reconciles it. @returns its slug */
  const reconciled = async (...resources: object[]): Promise<string> => {
    const declared = await on.declare({ resources }, on.admin);
    const answer = await on.reconcile(declared.body.app as string);
    expect([declared.status, answer.status]).toEqual([201, 200]);
    return declared.body.app as string;
  };
  const redeclare = async (slug: string, ...resources: object[]) => {
    expect((await on.admin.patch(`${APPS}/${slug}`, { resources })).status).toBe(200);
    expect((await on.reconcile(slug)).status).toBe(200);
  };
  const apisOf = async (slug: string): Promise<any[]> =>
    (await on.editor.get(`${APIS}?app=${slug}&sort=name`)).body.items;
  const actionsOf = async (id: string): Promise<string[]> => {
    const { body } = await on.admin.get(`/registry/v1/audit-log?resource_id=${id}`);
    return body.items.map((one: any) => one.action);
  };

  it('are created, changed only if they differ, and archived when no longer declared', async () => {
    const full = {
      description: 'Orders',
      base_url: 'https://orders.example.com/v2/',
      auth: { type: 'header', name: 'X-Api-Key' },
      allowed_methods: ['HEAD', 'GET'],
      timeout_ms: 1_000,
      headers: { 'X-Zone': 'eu', 'A-First': '1' },
      allow_encoded_slash: true,
      requests_per_minute: 60,
      max_in_flight: 4,
      metadata: { zeta: 1, alpha: 2 },
    };
    const slug = await reconciled(api('orders', full), api('plain'));
    const [orders, plain] = await apisOf(slug);
    expect(orders).toMatchObject({
      ...full,
      base_url: 'https://orders.example.com/v2',
      allowed_methods: ['GET', 'HEAD'],
      auth: { type: 'header', name: 'X-Api-Key', has_value: false },
      app: slug,
      sync_state: 'synced',
    });
    await on.reconcile(slug);
    expect(await apisOf(slug)).toEqual([orders, plain]);
    await redeclare(slug, api('orders', { ...full, timeout_ms: 2_000 }));
    const [changed] = await apisOf(slug);
    expect(changed).toMatchObject({ api_id: orders.api_id, timeout_ms: 2_000, version_ordinal: 2 });
    expect(await actionsOf(orders.api_id)).toEqual(['update', 'create']);
    expect(await actionsOf(plain.api_id)).toEqual(['archive', 'create']);
    const archived = await on.admin.get(`${APIS}/${plain.api_id}`);
    expect(archived.body).toMatchObject({ sync_state: 'synced', archived_at: expect.any(String) as string });
    await redeclare(slug, api('plain'));
    expect((await apisOf(slug))[0]).toMatchObject({ api_id: plain.api_id, archived_at: null });
  });

  it('drift with every change except that of the secret, and are reset by a reconcile', async () => {
    const slug = await reconciled(api('orders', { auth: { type: 'bearer' } }));
    const [one] = await apisOf(slug);
    const path = `${APIS}/${one.api_id}`;
    const patch = async (body: object) => (await on.admin.patch(path, body)).body.sync_state as string;
    expect(await patch({ auth: { value: 'tok' } })).toBe('synced');
    expect(await patch({ headers: { 'X-Zone': 'eu' } })).toBe('drifted');
    await on.reconcile(slug);
    expect((await on.admin.get(path)).body).toMatchObject({
      headers: {},
      sync_state: 'synced',
      auth: { has_value: true },
    });
    expect(await patch({ name: 'renamed', allowed_methods: ['GET'] })).toBe('drifted');
    await on.reconcile(slug);
    const [reset] = await apisOf(slug);
    expect(reset).toMatchObject({ name: 'orders', api_id: one.api_id });
    expect(reset.allowed_methods).toHaveLength(7);
  });

  it('keep their secret while its target stays the same', async () => {
    const slug = await reconciled(api('orders', { auth: { type: 'query', name: 'key' } }));
    const [{ api_id }] = await apisOf(slug);
    const path = `${APIS}/${api_id}`;
    const directory = app.get(ApiDirectory);
    const storedSecret = async () => directory.secretOf((await directory.find(on.org.orgId, idIn(path)))!);
    for (const [spec, secret] of [
      [{ auth: { type: 'query', name: 'key' }, base_url: 'https://orders.example.com/v3' }, 'tok'],
      [{ auth: { type: 'query', name: 'key2' } }, null],
      [{ auth: { type: 'query', name: 'key2' }, base_url: 'https://evil.example' }, null],
      [{}, null],
    ] as const) {
      await on.admin.patch(path, { auth: { value: 'tok' } });
      expect(await storedSecret()).toBe('tok');
      await redeclare(slug, api('orders', spec));
      expect(await storedSecret()).toBe(secret);
    }
  });

  it.each([
    [{ base_url: undefined }, '/base_url'],
    [{ base_url: 'https://orders.example.com/../x' }, '/base_url'],
    [{ auth: { type: 'bearer', value: 'tok' } }, '/auth/value'],
    [{ auth: { type: 'header' } }, '/auth/name'],
    [{ headers: { 'X-Api-Key': 'a' } }, '/headers/X-Api-Key'],
    [{ auth: { type: 'header', name: 'X-Zone' }, headers: { 'X-Zone': 'a' } }, '/headers/X-Zone'],
    [{ timeout_ms: 1 }, '/timeout_ms'],
    [{ workspace_id: 'wsp_other' }, '/workspace_id'],
    [{ allowed_methods: ['TRACE'] }, '/allowed_methods/0'],
  ])('are refused with %j', async (spec, pointer) => {
    const answer = await on.declare({ resources: [api('orders', spec)] }, on.admin);
    expect([answer.status, pointersIn(answer)]).toEqual([400, [`/resources/0/spec${pointer}`]]);
    expect(JSON.stringify(answer.body)).not.toContain('"tok"');
  });

  it('do not take over an API that is already registered', async () => {
    await on.admin.post(APIS, {
      workspace_id: on.org.workspaceId,
      name: 'orders',
      base_url: 'https://orders.example.com',
    });
    const { body } = await on.declare({ resources: [api('orders')] }, on.admin);
    const answer = await on.reconcile(body.app as string);
    expect([answer.status, pointersIn(answer)]).toEqual([422, ['/resources/0/name']]);
  });

  it('can only be declared, changed and removed by admins, because a schedule applies declarations', async () => {
    const refused = await on.declare({ resources: [api('orders')] });
    expect([refused.status, refused.body.code]).toEqual([403, 'access_denied']);
    const slug = await reconciled(api('orders'), server('desk'));
    const path = `${APPS}/${slug}`;
    for (const resources of [
      [],
      [server('desk')],
      [api('orders', { timeout_ms: 500 }), server('desk')],
      [api('orders'), api('another'), server('desk')],
    ]) {
      const answer = await on.editor.patch(path, { resources });
      expect([answer.status, answer.body.code]).toEqual([403, 'access_denied']);
    }
    for (const body of [
      { resources: [server('other'), api('orders')] },
      { description: 'changed' },
      { resources: [api('orders')] },
    ]) {
      expect((await on.editor.patch(path, body)).status).toBe(200);
    }
    expect((await on.admin.patch(path, { resources: [] })).status).toBe(200);
    expect((await on.editor.patch(path, { resources: [server('desk')] })).status).toBe(200);
  });
});
