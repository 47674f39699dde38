import { type Answer, type ApiClient, sharedApp } from '#testing';
import { ScriptedMcpServer } from './scripted-mcp-server.fixture';
import { fullUrlOf, pointersIn, SERVERS, ServersFixture } from './servers.fixture';

const SECRET = 'k9-7be1-not-to-be-told';
const BASE = 'https://mcp.example.com/mcp';

describe('a secret in the URL of an MCP server', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let on: ServersFixture;
  let viewer: ApiClient;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
    viewer = await on.org.member('viewer');
  });

  const oauth = (token_url: string) => ({
    type: 'oauth',
    token_url,
    client_id: 'registry',
    client_secret: 'of-the-client',
  });
  const pathOf = ({ body }: Answer): string => `${SERVERS}/${body.server_id}`;
  const keyed = async (query = `api_key=${SECRET}`): Promise<Answer> =>
    on.register({ url: `${BASE}?${query}` });

  it('appears in no response, log, search or table', async () => {
    const logged: string[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((chunk) => logged.push(String(chunk)) > 0);
    const answers: Answer[] = [];
    try {
      const made = await on.register({
        url: `${BASE}?api_key=${SECRET}`,
        auth: oauth(`https://idp.example/token?key=${SECRET}`),
      });
      const path = pathOf(made);
      expect([made.status, made.body.url, made.body.auth.token_url]).toEqual([
        201,
        `${BASE}?{query}`,
        'https://idp.example/token?{query}',
      ]);
      answers.push(
        made,
        await on.editor.patch(path, { url: `${BASE}/v2?api_key=${SECRET}&more=1` }),
        await on.editor.patch(path, { url: `https://other.example/mcp?{query}&key=${SECRET}` }),
        await on.editor.patch(path, { url: `${BASE}?{other}&key=${SECRET}` }),
        await on.register({ url: `${BASE}?api_key={query}&token=${SECRET}` }),
        await on.register({ url: `https://user:${SECRET}@mcp.example.com/mcp` }),
        await on.register({ url: `${BASE}#${SECRET}` }),
        await viewer.get(path),
        await viewer.get(SERVERS),
        await viewer.get(`${path}/versions`),
        await viewer.get('/mcp/v1/registry/v0.1/servers'),
        await viewer.get(`${SERVERS}?q=${SECRET}`),
        await viewer.post('/registry/v1/search', { query: SECRET }),
        await on.editor.post(`${path}/test`),
        await on.editor.post(`${path}/refresh`),
        await on.admin.get('/registry/v1/audit-log?limit=500'),
        await on.admin.post(`${path}/archive`),
      );
    } finally {
      write.mockRestore();
    }
    for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(SECRET);
    expect(logged.join('')).not.toContain(SECRET);
    for (const table of [
      'mcp_servers',
      'mcp_server_versions',
      'audit_log',
      'search_documents',
      'idempotency_keys',
    ]) {
      const like = `%${SECRET}%`;
      const rows = await app.database.query(`SELECT 1 FROM ${table} t WHERE t::text LIKE $1`, [like]);
      expect([table, rows]).toEqual([table, []]);
    }
  });

  it('stays if the URL is sent back as it was read, or with another path or more parameters', async () => {
    const made = await keyed();
    const same = await on.editor.patch(pathOf(made), made.body);
    expect([same.status, same.body.generation, same.headers.get('etag')]).toEqual([200, 1, '"1"']);
    for (const [url, shown, used] of [
      [`${BASE}/v2?{query}`, `${BASE}/v2?{query}`, `${BASE}/v2?api_key=${SECRET}`],
      [`${BASE}?{query}&mode=fast`, `${BASE}?{query}&{query_2}`, `${BASE}?api_key=${SECRET}&mode=fast`],
      [
        `HTTPS://MCP.example.com:443/mcp?{query_2}&{query}`,
        `HTTPS://MCP.example.com:443/mcp?{query_2}&{query}`,
        `HTTPS://MCP.example.com:443/mcp?mode=fast&api_key=${SECRET}`,
      ],
    ]) {
      const { status, body } = await on.editor.patch(pathOf(made), { url });
      expect([status, body.url]).toEqual([200, shown]);
      expect(await fullUrlOf(app, made.body)).toBe(used);
    }
  });

  it('is replaced by another query, and removed with the query', async () => {
    const made = await keyed();
    const path = pathOf(made);
    const again = await on.editor.patch(path, { url: `${BASE}?api_key=${SECRET}` });
    expect(again.body.generation).toBe(1);
    const replaced = await on.editor.patch(path, { url: `${BASE}?api_key=another` });
    expect([replaced.body.generation, replaced.body.version_ordinal]).toEqual([2, 1]);
    expect(replaced.body.health.status).toBe('unknown');
    expect(await fullUrlOf(app, made.body)).toBe(`${BASE}?api_key=another`);
    const removed = await on.editor.patch(path, { url: BASE });
    expect([removed.body.url, removed.body.version_ordinal]).toEqual([BASE, 2]);
    expect((await on.editor.patch(path, { url: `${BASE}?{query}` })).status).toBe(400);
  });

  it.each([
    'https://evil.example/mcp?{query}',
    'http://mcp.example.com/mcp?{query}',
    'https://mcp.example.com:8443/mcp?{query}',
    'https://evil.example/mcp?a=1&{query}',
    'https://evil.example/mcp?x={query}',
    `${BASE}?{API_KEY}`,
    `${BASE}?a={b}`,
    `${BASE}/{query}`,
  ])('is never sent elsewhere: %s', async (url) => {
    const made = await keyed();
    const refused = await on.editor.patch(pathOf(made), { url });
    expect([refused.status, pointersIn(refused)]).toEqual([400, ['/url']]);
    expect(refused.body.errors[0].detail).toMatch(
      /never sent to a new origin|Send the query itself|in its query/,
    );
    expect(await fullUrlOf(app, made.body)).toBe(`${BASE}?api_key=${SECRET}`);
  });

  it('is never sent to another token endpoint', async () => {
    const made = await on.register({ auth: oauth(`https://idp.example/token?key=${SECRET}`) });
    const patch = (auth: object): Promise<Answer> => on.editor.patch(pathOf(made), { auth });
    const moved = 'https://evil.example/token?{query}';
    const refused = await patch({ token_url: moved, client_secret: 'another' });
    expect([refused.status, pointersIn(refused)]).toEqual([400, ['/auth/token_url']]);
    expect((await patch({ token_url: 'https://idp.example/v2/token?{query}' })).status).toBe(200);
    const used = `https://idp.example/v2/token?key=${SECRET}`;
    expect(await fullUrlOf(app, made.body, 'auth_token_url')).toBe(used);
    await patch({ type: 'none' });
    const [row] = await app.database.query<{ url_secrets: string | null }>(
      'SELECT url_secrets FROM mcp_servers WHERE server_id = $1',
      [made.body.server_id],
    );
    expect(row!.url_secrets).toBeNull();
  });

  it('is deleted by archiving, and a check says what to send', async () => {
    const made = await keyed();
    await on.admin.post(`${pathOf(made)}/archive`);
    const restored = await on.admin.post(`${pathOf(made)}/restore`);
    expect(restored.body.url).toBe(`${BASE}?{query}`);
    expect(await fullUrlOf(app, made.body)).toBeNull();
    const { body } = await on.editor.post(`${pathOf(made)}/test`);
    expect(body).toEqual({
      ok: false,
      error: { kind: 'unauthorized', message: expect.stringContaining('Send the whole URL') as string },
    });
    expect((await on.editor.patch(pathOf(made), { url: restored.body.url })).status).toBe(200);
  });

  it('cannot be part of a declaration, which everyone who can read the app reads', async () => {
    const declare = (app_: string, spec: object): Promise<Answer> =>
      on.admin.post('/registry/v1/apps', {
        workspace_id: on.org.workspaceId,
        app: app_,
        display_name: app_,
        resources: [{ kind: 'mcp_server', name: app_, spec }],
      });
    const refused = await declare('keyed-url', { url: `${BASE}?api_key=${SECRET}` });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      400,
      expect.not.stringContaining(SECRET),
    ]);
    expect((await declare('hidden-url', { url: `${BASE}?{query}` })).status).toBe(201);
    const reconcile = (): Promise<Answer> => on.admin.post('/registry/v1/apps/hidden-url/reconcile');
    expect((await reconcile()).status).toBe(200);
    const [server] = (await on.editor.get(`${SERVERS}?app=hidden-url`)).body.items;
    const sent = await on.editor.patch(`${SERVERS}/${server.server_id}`, {
      url: `${BASE}?api_key=${SECRET}`,
    });
    expect([sent.body.url, sent.body.sync_state]).toEqual([`${BASE}?{query}`, 'synced']);
    await reconcile();
    expect(await fullUrlOf(app, server)).toBe(`${BASE}?api_key=${SECRET}`);
    const resources = [
      { kind: 'mcp_server', name: 'hidden-url', spec: { url: 'https://evil.example/?{query}' } },
    ];
    await on.admin.patch('/registry/v1/apps/hidden-url', { resources });
    await reconcile();
    expect(await fullUrlOf(app, server)).toBeNull();
  });

  it('reaches the server, and is removed from what the server says', async () => {
    const seen: string[] = [];
    const remote = await ScriptedMcpServer.start('json', {
      'tools/list': () => ({ error: { code: -32_000, message: `bad key ${SECRET} in api_key=${SECRET}` } }),
    });
    try {
      remote.http.on('request', ({ url = '' }) => seen.push(url));
      const { url } = remote.registration;
      const made = await on.register({ ...remote.registration, url: `${url}?api_key=${SECRET}` });
      const { body } = await on.editor.post(`${pathOf(made)}/test`);
      expect(body.error.message).toContain('[secret]');
      expect(body.error.message).not.toContain(SECRET);
      expect(new Set(seen)).toEqual(new Set([`/mcp?api_key=${SECRET}`]));
    } finally {
      await remote.close();
    }
  });
});
