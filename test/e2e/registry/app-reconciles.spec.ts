import { sharedApp } from '#testing';
import { SecretBox } from '#platform/secrets';
import { SERVER_SECRET } from '../../../src/mcp-servers/servers/server.entity';
import { agent, APPS, AppsFixture, server, SERVERS, skill } from './apps.fixture';

describe('a reconcile of an app', () => {
  const app = sharedApp();
  let on: AppsFixture;

  beforeEach(async () => {
    on = await AppsFixture.create(app);
  });

  const audited = async (query: string): Promise<any[]> =>
    (await on.admin.get(`/registry/v1/audit-log?limit=500&${query}`)).body.items;

  it('creates the declared resources, and counts them', async () => {
    const { body } = await on.declare({
      app: 'support',
      resources: [
        server('tickets', {
          description: 'Tickets',
          transport: 'sse',
          auth: { type: 'header', header: 'X-Key' },
          metadata: { zeta: 1, alpha: 2 },
          tools: [{ name: 'search', input_schema: { type: 'object' } }],
        }),
        server('orders'),
      ],
    });
    const answer = await on.reconcile('support');
    expect([answer.status, answer.body]).toEqual([200, { app: 'support', live_count: 2 }]);
    const [orders, tickets] = await on.serversOf('support');
    expect(tickets).toMatchObject({
      name: 'tickets',
      description: 'Tickets',
      transport: 'sse',
      auth: { type: 'header', header: 'X-Key', has_value: false },
      app_id: body.app_id,
      app: 'support',
      sync_state: 'synced',
      version_ordinal: 1,
    });
    expect(JSON.stringify(tickets.metadata)).toBe('{"zeta":1,"alpha":2}');
    expect(orders.auth).toMatchObject({ type: 'none', header: null, has_value: false });
    const path = `${SERVERS}/${tickets.server_id}`;
    expect((await on.editor.get(`${path}/tools`)).body.items).toMatchObject([{ name: 'search' }]);
    expect((await on.editor.get(`${path}/versions`)).body.page.total).toBe(1);
    expect(await on.read('support')).toMatchObject({
      sync_state: 'synced',
      sync_error: null,
      last_reconciled_at: expect.any(String) as string,
      generation: 2,
    });
    expect((await on.serversOf(body.app_id)).length).toBe(2);
    const documents = await app.database.query<{ name: string }>(
      `SELECT name FROM search_documents WHERE org_id = $1 AND resource_type <> 'app' ORDER BY name`,
      [on.org.orgId],
    );
    expect(documents.map(({ name }) => name)).toEqual(['orders', 'search', 'tickets']);
  });

  it('writes nothing if nothing differs', async () => {
    const slug = await on.reconciled(
      server('a', { metadata: { 1: 'x' }, tools: [{ name: 't', input_schema: {} }] }),
    );
    const before = await on.everything();
    const { generation } = await on.read(slug);
    for (let i = 0; i < 3; i++) expect((await on.reconcile(slug)).body.live_count).toBe(1);
    expect(await on.everything()).toEqual(before);
    expect((await on.read(slug)).generation).toBe(generation);
  });

  it('repairs drift, renames included', async () => {
    const declared = { description: 'Declared', metadata: { a: 1 } };
    const slug = await on.reconciled(server('a', declared), server('b'));
    const [before] = await on.serversOf(slug);
    const path = `${SERVERS}/${before.server_id}`;
    const patched = await on.editor.patch(path, {
      name: 'mine',
      description: 'By hand',
      url: 'https://other.example.com/',
      transport: 'sse',
      metadata: { a: 2 },
    });
    expect(patched.body.sync_state).toBe('drifted');
    expect((await on.serversOf(slug)).map(({ sync_state }) => sync_state)).toEqual(['synced', 'drifted']);
    expect((await on.reconcile(slug)).body.live_count).toBe(2);
    expect((await on.editor.get(path)).body).toMatchObject({
      server_id: before.server_id,
      name: 'a',
      ...declared,
      url: before.url,
      transport: 'streamable_http',
      sync_state: 'synced',
      version_ordinal: 3,
    });
    const [entry] = await audited(`resource_id=${before.server_id}`);
    expect([entry.action, entry.changes[0]]).toEqual([
      'update',
      { member: 'name', before: 'mine', after: 'a' },
    ]);
  });

  it('restores swapped server names', async () => {
    const slug = await on.reconciled(server('a'), server('b'));
    const [a, b] = await on.serversOf(slug);
    const rename = (one: any, name: string) => on.editor.patch(`${SERVERS}/${one.server_id}`, { name });
    await rename(a, 'c');
    await rename(b, 'a');
    await rename(a, 'b');
    expect((await on.reconcile(slug)).status).toBe(200);
    const ids = (await on.serversOf(slug)).map(({ server_id }) => server_id);
    expect(ids).toEqual([a.server_id, b.server_id]);
  });

  it('restores directly archived resources of each kind', async () => {
    const slug = await on.reconciled(server('alpha'), skill('beta'), agent('gamma'));
    const before = await on.ownedBy(slug);
    for (const one of before) await on.admin.post(`${one.path}/archive`);
    expect((await on.reconcile(slug)).body.live_count).toBe(3);
    const after = await on.ownedBy(slug);
    expect(after).toEqual(before.map((one) => ({ ...one, generation: one.generation + 2 })));
    for (const { id } of after) {
      expect((await audited(`resource_id=${id}`)).map(({ action }) => action as string)).toEqual([
        'restore',
        'archive',
        'create',
      ]);
    }
    const [{ changes }] = await audited('action=reconcile');
    expect(changes).toEqual([
      { member: 'created', after: 0 },
      { member: 'updated', after: 0 },
      { member: 'restored', after: 3 },
      { member: 'archived', after: 0 },
    ]);
    for (const { name, id } of after) {
      const search = await on.editor.post('/registry/v1/search', { query: name, mode: 'keyword' });
      expect(search.body.items.map((one: any) => one.id)).toContain(id);
    }
  });

  it('restores a resource that is declared again, in its new form and with its versions', async () => {
    const slug = await on.reconciled(server('alpha'), skill('beta'), agent('gamma'));
    const before = await on.ownedBy(slug);
    await on.patch(slug, { resources: [] });
    expect((await on.reconcile(slug)).body.live_count).toBe(0);
    const changed = { description: 'Changed' };
    const spec = { ...changed, instructions: 'Do it.' };
    await on.patch(slug, {
      resources: [server('alpha', changed), { ...skill('beta'), spec }, agent('gamma', changed)],
    });
    expect((await on.reconcile(slug)).body.live_count).toBe(3);
    const after = await on.ownedBy(slug);
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    for (const { path, id } of after) {
      expect((await on.editor.get(path)).body).toMatchObject({ ...changed, version_ordinal: 2 });
      expect((await on.editor.get(`${path}/versions`)).body.page.total).toBe(2);
      expect((await audited(`resource_id=${id}&action=update`))[0].changes).toEqual([
        { member: 'description' },
      ]);
    }
    const entries = await on.everything();
    expect((await on.reconcile(slug)).body.live_count).toBe(3);
    expect(await on.everything()).toEqual(entries);
  });

  it('restores a server with its declared name and its tools, even if its name was taken meanwhile', async () => {
    const tools = ['kept', 'gone'].map((name) => ({ name, input_schema: {} }));
    const slug = await on.reconciled(server('a', { tools }), server('listed', { tools }));
    const [one, listed] = await on.serversOf(slug);
    await app.database.query('UPDATE mcp_servers SET tools_listed_at = now() WHERE server_id = $1', [
      listed.server_id,
    ]);
    await on.editor.patch(`${SERVERS}/${one.server_id}`, { name: 'mine' });
    for (const { server_id } of [one, listed]) await on.admin.post(`${SERVERS}/${server_id}/archive`);
    const own = { workspace_id: on.org.workspaceId, name: 'mine', url: 'https://x.example/' };
    expect((await on.editor.post(SERVERS, own)).status).toBe(201);
    await on.patch(slug, { resources: [server('a', { tools: tools.slice(0, 1) }), server('listed')] });
    expect((await on.reconcile(slug)).body.live_count).toBe(2);
    expect((await on.serversOf(slug)).map(({ name, server_id }) => [name, server_id])).toEqual([
      ['a', one.server_id],
      ['listed', listed.server_id],
    ]);
    const toolsOf = async ({ server_id }: any) =>
      (await on.editor.get(`${SERVERS}/${server_id}/tools`)).body.items.map(
        ({ name }: any) => name as string,
      );
    expect([await toolsOf(one), await toolsOf(listed)]).toEqual([['kept'], ['gone', 'kept']]);
  });

  it('restores and indexes more tools than fit on a page', async () => {
    const names = Array.from({ length: 501 }, (_, n) => `paged_${String(n).padStart(3, '0')}`);
    const tools = names.map((name) => ({ name, input_schema: {} }));
    const slug = await on.reconciled(server('paged', { tools }));
    const [{ server_id }] = await on.serversOf(slug);
    await on.admin.post(`${SERVERS}/${server_id}/archive`);
    expect((await on.reconcile(slug)).body.live_count).toBe(1);
    expect((await on.editor.get(`${SERVERS}/${server_id}/tools?limit=0`)).body.page.total).toBe(501);
    const indexed = await app.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM search_documents d JOIN mcp_tools t ON t.tool_id = d.resource_id
       WHERE t.server_id = $1`,
      [server_id],
    );
    expect(indexed[0]!.count).toBe(501);
  });

  it('restores the resource that was archived last, and never one that the app released', async () => {
    const slug = await on.reconciled(skill('b'));
    const [first] = await on.ownedBy(slug);
    await on.admin.post(`${APPS}/${slug}/archive`);
    await on.admin.post(`${first!.path}/archive`);
    await on.admin.post(`${APPS}/${slug}/restore`);
    await on.reconcile(slug);
    const [second] = await on.ownedBy(slug);
    expect(second!.id).not.toBe(first!.id);
    await on.admin.post(`${second!.path}/archive`);
    await on.reconcile(slug);
    expect((await on.ownedBy(slug)).map(({ id }) => id)).toEqual([second!.id]);
  });

  it('archives only the app’s own undeclared resources', async () => {
    const tools = [{ name: 't', input_schema: {} }];
    const slug = await on.reconciled(server('a', { tools }), server('b'));
    const own = { workspace_id: on.org.workspaceId, name: 'own', url: 'https://x.example/' };
    await on.editor.post(SERVERS, own);
    const other = await on.reconciled(server('of another'));
    await on.patch(slug, { resources: [server('b')] });
    expect((await on.reconcile(slug)).body.live_count).toBe(1);
    const { body } = await on.editor.get(`${SERVERS}?sort=name`);
    expect(body.items.map((one: any) => one.name)).toEqual(['b', 'of another', 'own']);
    const archived = (await on.editor.get(`${SERVERS}?name=a&include_archived=true`)).body.items[0];
    expect((await on.editor.get(`${SERVERS}/${archived.server_id}/tools`)).body.items).toEqual([]);
    expect(await on.serversOf(other)).toMatchObject([{ sync_state: 'synced' }]);
  });

  it('keeps a server’s secret unless its origin, header or type changes', async () => {
    const auth = { type: 'bearer' };
    const slug = await on.reconciled(server('a', { auth }));
    const [one] = await on.serversOf(slug);
    const path = `${SERVERS}/${one.server_id}`;
    const give = () => on.editor.patch(path, { auth: { value: 'tok-of-a' } });
    const storedSecret = async (): Promise<string | null> => {
      const [row] = await app.database.query<{ auth_secret: string | null }>(
        'SELECT auth_secret FROM mcp_servers WHERE server_id = $1',
        [one.server_id],
      );
      return (
        row!.auth_secret &&
        app.get(SecretBox).open(row!.auth_secret, SERVER_SECRET.of(one.server_id as string))
      );
    };
    expect((await give()).body.auth.has_value).toBe(true);
    const reconcile = async (spec: Record<string, unknown>): Promise<string | null> => {
      await on.patch(slug, { resources: [server('a', spec)] });
      expect((await on.reconcile(slug)).status).toBe(200);
      return storedSecret();
    };
    expect(await reconcile({ auth })).toBe('tok-of-a');
    expect(await reconcile({ auth, description: 'other', url: 'https://mcp.example.com/v2' })).toBe(
      'tok-of-a',
    );
    expect(await reconcile({ auth, url: 'https://evil.example/' })).toBeNull();
    await give();
    expect(
      await reconcile({ auth: { type: 'header', header: 'X-Key' }, url: 'https://evil.example/' }),
    ).toBeNull();
    await give();
    const url = 'https://evil.example/';
    expect(await reconcile({ auth: { type: 'header', header: 'x-key' }, url })).toBe('tok-of-a');
    expect(await reconcile({ auth: { type: 'header', header: 'X-Other' }, url })).toBeNull();
    await on.admin.post(`${APPS}/${slug}/archive`);
    expect(JSON.stringify([await on.read(slug).catch(() => null), await on.everything()])).not.toContain(
      'tok-of-a',
    );
  });

  it('keeps tools that the server itself reported', async () => {
    const tools = [{ name: 'declared', input_schema: {} }];
    const slug = await on.reconciled(server('a', { tools }));
    const [one] = await on.serversOf(slug);
    const names = async () =>
      (await on.editor.get(`${SERVERS}/${one.server_id}/tools`)).body.items.map((tool: any) => tool.name);
    await on.patch(slug, {
      resources: [server('a', { tools: [...tools, { name: 'more', input_schema: {} }] })],
    });
    await on.reconcile(slug);
    expect(await names()).toEqual(['declared', 'more']);
    await app.database.query('UPDATE mcp_servers SET tools_listed_at = now() WHERE server_id = $1', [
      one.server_id,
    ]);
    await on.patch(slug, { resources: [server('a', { tools: [] })] });
    await on.reconcile(slug);
    expect(await names()).toEqual(['declared', 'more']);
  });

  it('archives a system server named registry in the organization', async () => {
    const registry = async (by: AppsFixture, workspace_id: string, is_system = true) => {
      const url = 'https://x.example/';
      const { body } = await by.admin.post(SERVERS, { workspace_id, name: 'registry', url, is_system });
      return body.server_id as string;
    };
    const other = await AppsFixture.create(app);
    const made = [
      await registry(on, on.org.workspaceId),
      await registry(on, await on.org.newWorkspace()),
      await registry(on, await on.org.newWorkspace(), false),
    ];
    const ofOther = await registry(other, other.org.workspaceId);
    const slug = await on.reconciled(server('registry'));
    const read = async (by: AppsFixture, id: string) => (await by.editor.get(`${SERVERS}/${id}`)).body;
    const archived = await Promise.all(made.map(async (id) => (await read(on, id)).archived_at !== null));
    expect(archived).toEqual([true, true, false]);
    expect((await read(on, made[0]!)).sync_state).toBe('unmanaged');
    expect((await read(other, ofOther)).archived_at).toBeNull();
    const [reconcile] = await audited('action=reconcile');
    expect(reconcile).toMatchObject({
      resource_type: 'app',
      resource_id: (await on.read(slug)).app_id,
      changes: [
        { member: 'created', after: 1 },
        { member: 'updated', after: 0 },
        { member: 'restored', after: 0 },
        { member: 'archived', after: 2 },
      ],
    });
    expect((await audited(`resource_id=${made[1]!}&action=archive`)).length).toBe(1);
  });

  it('marks changed declarations as pending until the reconcile', async () => {
    const slug = await on.reconciled(server('a'), server('b'), server('c'));
    await on.patch(slug, { resources: [server('a'), server('b', { description: 'new' })] });
    const states = async () => (await on.serversOf(slug)).map(({ name, sync_state }) => [name, sync_state]);
    expect(await states()).toEqual([
      ['a', 'synced'],
      ['b', 'pending'],
      ['c', 'pending'],
    ]);
    expect((await on.read(slug)).sync_state).toBe('pending');
    await on.patch(slug, { display_name: 'Only a name' });
    await on.reconcile(slug);
    await on.patch(slug, { display_name: 'Another name' });
    expect((await on.read(slug)).sync_state).toBe('synced');
    expect(await states()).toEqual([
      ['a', 'synced'],
      ['b', 'synced'],
    ]);
  });

  it('releases its resources when the app is archived', async () => {
    const slug = await on.reconciled(server('a'));
    const [one] = await on.serversOf(slug);
    await on.admin.post(`${APPS}/${slug}/archive`);
    const { body } = await on.editor.get(`${SERVERS}/${one.server_id}`);
    expect(body).toMatchObject({ app: null, app_id: null, sync_state: 'unmanaged', archived_at: null });
    expect(body.generation).toBe(one.generation + 1);
    const patched = await on.editor.patch(`${SERVERS}/${one.server_id}`, { description: 'mine now' });
    expect(patched.body.sync_state).toBe('unmanaged');
    const again = await on.declare({ app: slug, resources: [server('a')] });
    expect(again.status).toBe(201);
    expect((await on.reconcile(slug)).status).toBe(422);
  });

  it('takes its resources back when the app is restored', async () => {
    const slug = await on.reconciled(server('kept'), server('gone'), server('recreated'), skill('s'));
    const { app_id } = await on.read(slug);
    const before = Object.fromEntries((await on.serversOf(slug)).map((one) => [one.name, one]));
    await on.admin.post(`${APPS}/${slug}/archive`);
    await on.editor.patch(`${SERVERS}/${before.kept.server_id}`, { name: 'renamed' });
    for (const name of ['gone', 'recreated'])
      await on.admin.post(`${SERVERS}/${before[name].server_id}/archive`);
    const body = { workspace_id: on.org.workspaceId, name: 'recreated', url: 'https://x.example/' };
    const { body: other } = await on.editor.post(SERVERS, body);

    const restored = await on.admin.post(`${APPS}/${slug}/restore`);
    expect(restored.body).toMatchObject({
      app_id,
      archived_at: null,
      sync_state: 'pending',
      sync_error: null,
    });
    expect((await on.serversOf(slug)).map(({ server_id, sync_state }) => [server_id, sync_state])).toEqual([
      [before.kept.server_id, 'pending'],
    ]);
    expect((await on.editor.get(`${SERVERS}/${other.server_id}`)).body.app).toBeNull();
    const [entry] = await audited(`resource_id=${before.kept.server_id}`);
    expect(entry).toMatchObject({
      action: 'update',
      changes: [{ member: 'app', before: null, after: slug }],
    });
    expect((await on.reconcile(slug)).body.errors[0].pointer).toBe('/resources/2/name');
    await on.admin.post(`${SERVERS}/${other.server_id}/archive`);
    expect((await on.reconcile(slug)).body).toEqual({ app: slug, live_count: 4 });
    expect((await on.editor.get(`${SERVERS}/${before.kept.server_id}`)).body.app).toBe(slug);
  });

  it('accepts no query parameters, and honours Idempotency-Key', async () => {
    const slug = await on.reconciled(server('a'));
    const path = `${APPS}/${slug}/reconcile`;
    expect((await on.admin.post(`${path}?dry_run=true`)).status).toBe(400);
    const first = await on.admin.post(path, undefined, { 'idempotency-key': 'one' });
    const again = await on.admin.post(path, undefined, { 'idempotency-key': 'one' });
    expect([first.status, again.body, again.headers.get('idempotency-replayed')]).toEqual([
      200,
      first.body,
      'true',
    ]);
  });
});
