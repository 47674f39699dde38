import { expandRoles, workspaceScope } from '#platform/auth';
import { ToolStore } from '../../../src/mcp-servers';
import { Packagers } from '../../../src/resources';
import { sharedApp } from '#testing';
import { bytesOf, contentsOf, PackagesFixture } from './packages.fixture';

const SECRET = 'sk-the-secret-of-the-buyer';

describe('server packages', () => {
  const app = sharedApp();
  let publisher: PackagesFixture;
  let buyer: PackagesFixture;

  beforeEach(async () => {
    publisher = await PackagesFixture.of(app);
    buyer = await PackagesFixture.of(app);
  });

  const patchServer = (by: PackagesFixture, id: string, body: object) =>
    by.editor.patch(`/mcp/v1/servers/${id}`, body);

  async function upgrade(serverId: string, body: object) {
    expect((await patchServer(publisher, serverId, body)).status).toBe(200);
    return (await buyer.install(await publisher.pack('mcp_server', serverId)))[0]!;
  }

  /** Publishes a server with a secret and installs a copy with its own secret. */
  async function copiedServer() {
    const auth = { type: 'header', header: 'X-Key', value: 'of the publisher' };
    const serverId = await publisher.server({ auth });
    const [copy] = await buyer.install(await publisher.pack('mcp_server', serverId));
    const path = `/mcp/v1/servers/${copy!.artifact_id}`;
    expect((await buyer.editor.patch(path, { auth: { value: SECRET } })).status).toBe(200);
    return { serverId, path, hasSecret: async () => (await buyer.read(path)).auth.has_value as boolean };
  }

  it('keep the secret of a copy if its target stays the same', async () => {
    const { serverId, hasSecret } = await copiedServer();
    const copy = await upgrade(serverId, { description: 'changed' });
    expect([copy.change, copy.version_ordinal, copy.setup]).toEqual(['updated', 2, undefined]);
    expect(await hasSecret()).toBe(true);
  });

  it.each([
    ['another origin', { url: 'https://evil.example.com/mcp', auth: { value: 'x' } }],
    ['another path', { url: 'https://mcp.example.com/other' }],
    ['another header', { auth: { header: 'X-Other', value: 'x' } }],
    ['another type', { auth: { type: 'bearer', header: null, value: 'x' } }],
  ])('drop the secret of a copy when an upgrade sets %s', async (_, body) => {
    const { serverId, path, hasSecret } = await copiedServer();
    const copy = await upgrade(serverId, body);
    expect(copy.setup).toContain(path);
    expect(await hasSecret()).toBe(false);
  });

  it('never contain a secret', async () => {
    const { path } = await copiedServer();
    const bytes = bytesOf(await buyer.pack('mcp_server', path.split('/').at(-1)!));
    expect(bytes.toString()).not.toContain(SECRET);
    expect(JSON.parse(bytes.toString().replace('mcp_server.json', '')).auth).toEqual({
      header: 'X-Key',
      type: 'header',
    });
  });

  it('omit the OAuth secret when they are packed and copied', async () => {
    const auth = { type: 'oauth', client_id: 'c1', scope: 'read', token_url: 'https://idp.example/token' };
    const serverId = await publisher.server({ auth: { ...auth, client_secret: SECRET } });
    const packed = await publisher.pack('mcp_server', serverId);
    expect(bytesOf(packed).toString()).not.toContain(SECRET);
    const [copy] = await buyer.install(packed);
    expect(copy!.setup).toContain('auth.client_secret');
    const path = `/mcp/v1/servers/${copy!.artifact_id}`;
    expect((await buyer.read(path)).auth).toMatchObject({ ...auth, has_client_secret: false });
    const patched = await buyer.editor.patch(path, { auth: { client_secret: 'of the buyer' } });
    expect(patched.body.auth.has_client_secret).toBe(true);
    const moved = await upgrade(serverId, { auth: { token_url: 'https://idp.example/v2/token' } });
    expect(moved.setup).toContain('auth.client_secret');
    expect((await buyer.read(path)).auth.has_client_secret).toBe(false);
    const keyed = { auth: { token_url: 'https://idp.example/token?key=1' } };
    await patchServer(publisher, serverId, keyed);
    await expect(publisher.pack('mcp_server', serverId)).rejects.toMatchObject({ code: 'validation_failed' });
  });

  it('return 422 for a query in the URL, because it may contain a key', async () => {
    const serverId = await publisher.server({ url: 'https://mcp.example.com/mcp?key=1' });
    const agentId = await publisher.agent({ tools: [{ server_id: serverId, tool_name: 'search' }] });
    await expect(publisher.pack('agent', agentId)).rejects.toMatchObject({
      code: 'validation_failed',
      detail: expect.stringContaining(serverId) as string,
    });
  });

  it('return 422 for system servers', async () => {
    const body = { workspace_id: publisher.org.workspaceId, name: 'core', url: 'https://mcp.example.com' };
    const { body: server } = await publisher.admin.post('/mcp/v1/servers', { ...body, is_system: true });
    await expect(publisher.pack('mcp_server', server.server_id)).rejects.toMatchObject({
      code: 'validation_failed',
      detail: expect.stringContaining('System servers') as string,
    });
  });

  it('replace the tools of a copy', async () => {
    const serverId = await publisher.server();
    const [copy] = await buyer.install(await publisher.pack('mcp_server', serverId));
    const { generation } = await buyer.read(`/mcp/v1/servers/${copy!.artifact_id}`);
    const again = await upgrade(serverId, { tools: [{ name: 'fetch', input_schema: {} }] });
    expect([again.change, again.version_ordinal]).toEqual(['updated', 1]);
    const { items } = await buyer.read(`/mcp/v1/servers/${copy!.artifact_id}/tools`);
    expect(items.map((tool: any) => tool.name)).toEqual(['fetch']);
    expect((await buyer.read(`/mcp/v1/servers/${copy!.artifact_id}`)).generation).toBe(generation + 1);
  });

  it('do not change the tools that the server of a copy has listed itself', async () => {
    const serverId = await publisher.server();
    const [copy] = await buyer.install(await publisher.pack('mcp_server', serverId));
    await app.database.query(
      `UPDATE mcp_servers SET tools_listed_at = now() WHERE server_id = '${copy!.artifact_id}'`,
    );
    const again = await upgrade(serverId, { tools: [], description: 'changed' });
    expect([again.change, again.version_ordinal]).toEqual(['updated', 2]);
    const { items } = await buyer.read(`/mcp/v1/servers/${copy!.artifact_id}/tools`);
    expect(items.map((tool: any) => tool.name)).toEqual(['search']);
  });

  it('rename the copy, unless another server has the name', async () => {
    const serverId = await publisher.server();
    const [copy] = await buyer.install(await publisher.pack('mcp_server', serverId));
    expect((await upgrade(serverId, { name: 'desk 2' })).name).toBe('desk 2');
    const existingId = await buyer.server({ name: 'desk 3' });
    await expect(upgrade(serverId, { name: 'desk 3' })).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining(existingId) as string,
    });
    expect((await buyer.read(`/mcp/v1/servers/${copy!.artifact_id}`)).name).toBe('desk 2');
  });

  it('keep all tools, even more than a request may declare', async () => {
    const serverId = await publisher.server();
    const input_schema = { type: 'object', properties: { text: { description: 'x'.repeat(300) } } };
    const tools = Array.from({ length: 1_500 }, (_, i) => ({ name: `t${i}`, input_schema }));
    const { orgId, workspaceId } = publisher.org;
    const scope = workspaceScope(orgId, workspaceId, 'test', expandRoles(['editor']));
    const store = app.get(ToolStore);
    const contents = await store.contentsOf(tools);
    const row = { ...(await publisher.read(`/mcp/v1/servers/${serverId}`)), org_id: orgId };
    await app.database.transaction((tx) => store.replace(tx, scope, row, contents));
    const [copy] = await buyer.install(await publisher.pack('mcp_server', serverId));
    const { page } = await buyer.read(`/mcp/v1/servers/${copy!.artifact_id}/tools?limit=0`);
    expect(page.total).toBe(1_500);
  });

  it('have the same bytes and the same tools, even with large schemas', async () => {
    const properties = Object.fromEntries(
      [...Array(5_000).keys()].map((n) => [`p${n}`, { maximum: 1e21, n }]),
    );
    const tools = ['b', 'ä', 'B'].map((name) => ({ name, input_schema: { type: 'object', properties } }));
    const serverId = await publisher.server({ tools });
    const packed = await publisher.pack('mcp_server', serverId);
    expect(bytesOf(packed).length).toBeGreaterThan(256 * 1024);
    const [copy] = await buyer.install(packed);
    expect(contentsOf(await buyer.pack('mcp_server', copy!.artifact_id))).toEqual(contentsOf(packed));
    expect((await buyer.install(packed))[0]!.change).toBe('unchanged');
  });
});

describe('pinned resources', () => {
  const app = sharedApp();
  let on: PackagesFixture;

  beforeAll(async () => {
    on = await PackagesFixture.of(app);
  });

  it('can be found by number, by id, or as the newest version', async () => {
    const skillId = await on.skill();
    await on.editor.patch(`/skill/v1/skills/${skillId}`, { instructions: 'Second.' });
    const first = await on.read(`/skill/v1/skills/${skillId}/versions/1`);
    const ordinalOf = async (version: object): Promise<number> =>
      (await on.pack('skill', skillId, version))[0]!.component.version_ordinal;
    expect(await ordinalOf({})).toBe(2);
    expect(await ordinalOf({ version_id: null, version_ordinal: null })).toBe(2);
    expect(await ordinalOf({ version_ordinal: 1 })).toBe(1);
    expect(await ordinalOf({ version_id: first.version_id })).toBe(1);
    expect(await ordinalOf({ version_id: first.version_id, version_ordinal: 1 })).toBe(1);
    for (const missing of [{ version_ordinal: 3 }, { version_id: first.version_id, version_ordinal: 2 }]) {
      await expect(ordinalOf(missing)).rejects.toThrow('is missing');
    }
    expect((await on.pack('skill', skillId, { version_ordinal: 1 }))[0]!.component.digest).toBe(
      first.source_digest,
    );
  });

  it('get a new version when a copy of a skill is set back to an earlier release', async () => {
    const buyer = await PackagesFixture.of(app);
    const skillId = await on.skill({ name: 'rolled-back' });
    await on.editor.patch(`/skill/v1/skills/${skillId}`, { instructions: 'Worse.' });
    const [first, second] = [
      await on.pack('skill', skillId, { version_ordinal: 1 }),
      await on.pack('skill', skillId),
    ];
    const ordinals: number[] = [];
    for (const packed of [first, second, first]) {
      ordinals.push((await buyer.install(packed))[0]!.version_ordinal);
    }
    expect(ordinals).toEqual([1, 2, 3]);
    const { items } = await buyer.read('/skill/v1/skills');
    expect(items).toMatchObject([{ instructions: '# How', source_digest: first[0]!.component.digest }]);
  });

  it('are missing when archived, in another workspace, or unknown', async () => {
    const other = await PackagesFixture.of(app);
    const agentId = await other.agent();
    await expect(on.pack('agent', agentId)).rejects.toThrow('is missing');
    await expect(on.pack('agent', 'agt_unknown')).rejects.toThrow('is missing');
    const skillId = await other.skill();
    const needing = await other.agent({ name: 'needing', skills: [{ skill_id: skillId }] });
    await other.admin.post(`/skill/v1/skills/${skillId}/archive`);
    await expect(other.pack('agent', needing)).rejects.toThrow(`${skillId} is missing`);
  });

  it.each([
    ['agent', 'agents', 'agent_id'],
    ['skill', 'skills', 'skill_id'],
    ['mcp_server', 'mcp_servers', 'server_id'],
  ] as const)('cannot be archived until the package is written: %s', async (kind, table, column) => {
    const artifact_id = await on[kind === 'mcp_server' ? 'server' : kind]({ name: 'pinned' });
    const lock = `SELECT 1 FROM ${table} WHERE ${column} = '${artifact_id}' FOR UPDATE NOWAIT`;
    await app.database.transaction(async (tx) => {
      await app.get(Packagers).of(kind).pin(tx, on.scope, { kind, artifact_id });
      await expect(app.database.query(lock)).rejects.toThrow();
    });
    await app.database.query(lock);
  });
});

describe('`acquired_from`', () => {
  const app = sharedApp();
  let publisher: PackagesFixture;
  let buyer: PackagesFixture;

  beforeAll(async () => {
    publisher = await PackagesFixture.of(app);
    buyer = await PackagesFixture.of(app);
  });

  it('does not change when a copy is changed, archived and restored, and cannot be sent', async () => {
    const agentId = await publisher.agent();
    const [copy] = await buyer.install(await publisher.pack('agent', agentId));
    const path = `/agent/v1/agents/${copy!.artifact_id}`;
    const { acquired_from } = await buyer.read(path);
    const other = { ...acquired_from, release_id: 'rel_other' };
    const patched = await buyer.editor.patch(path, { instructions: 'Mine.', acquired_from: other });
    const archived = await buyer.admin.post(`${path}/archive`);
    const restored = await buyer.admin.post(`${path}/restore`);
    for (const { status, body } of [patched, archived, restored]) {
      expect([status, body.acquired_from]).toEqual([200, acquired_from]);
    }
    const created = await buyer.agent({ name: 'own', acquired_from: other });
    expect((await buyer.read(`/agent/v1/agents/${created}`)).acquired_from).toBeNull();
  });

  it('does not change when a reconcile changes the resource', async () => {
    const declared = (text: string) => [
      { kind: 'agent', name: 'declared', spec: { instructions: text } },
      { kind: 'skill', name: 'declared', spec: { description: text, instructions: text } },
      {
        kind: 'mcp_server',
        name: 'declared',
        spec: { url: 'https://mcp.example.com/mcp', description: text },
      },
    ];
    const { workspaceId: workspace_id } = publisher.org;
    await publisher.editor.post('/registry/v1/apps', {
      workspace_id,
      app: 'support',
      resources: declared('one'),
    });
    await publisher.admin.post('/registry/v1/apps/support/reconcile');
    const from = {
      store_item_id: 'i',
      release_id: 'r',
      artifact_id: 'a',
      version_id: 'v',
      version_ordinal: 1,
    };
    for (const table of ['agents', 'skills', 'mcp_servers']) {
      await app.database.query(
        `UPDATE ${table} SET acquired_from = '${JSON.stringify(from)}' WHERE name = 'declared'`,
      );
    }
    await publisher.editor.patch('/registry/v1/apps/support', { resources: declared('two') });
    expect((await publisher.admin.post('/registry/v1/apps/support/reconcile')).status).toBe(200);
    for (const path of ['agent/v1/agents', 'skill/v1/skills', 'mcp/v1/servers']) {
      const { items } = await publisher.read(`/${path}?name=declared`);
      expect(items[0]).toMatchObject({ acquired_from: from, version_ordinal: 2, sync_state: 'synced' });
    }
  });
});
