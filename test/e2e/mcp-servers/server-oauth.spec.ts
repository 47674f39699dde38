import { type Answer, sharedApp } from '#testing';
import { SecretBox } from '#platform/secrets';
import { SERVER_SECRET } from '../../../src/mcp-servers/servers/server.entity';
import { AppsFixture, server } from '../registry/apps.fixture';
import { pointersIn, ServersFixture } from './servers.fixture';

const SECRET = 'cs-91d3-not-to-be-shown';
const TOKEN_URL = 'https://login.example.com/oauth/token';
const OAUTH = { type: 'oauth', token_url: TOKEN_URL, client_id: 'registry', client_secret: SECRET };

describe('an MCP server with OAuth client credentials', () => {
  const app = sharedApp();
  let on: ServersFixture;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });

  const register = (auth: unknown): Promise<Answer> => on.register({ auth });
  const registered = async (auth: unknown): Promise<string> =>
    (await register(auth)).headers.get('location')!;
  /** Returns the decrypted secret, or null. */
  const storedSecret = async (path: string): Promise<string | null> => {
    const id = path.split('/').at(-1)!;
    const [row] = await app.database.query<{ auth_secret: string | null }>(
      'SELECT auth_secret FROM mcp_servers WHERE server_id = $1',
      [id],
    );
    return row!.auth_secret === null ? null : app.get(SecretBox).open(row!.auth_secret, SERVER_SECRET.of(id));
  };

  it('returns everything but the secret, in its versions too', async () => {
    const { status, body, headers } = await register({ ...OAUTH, scope: 'mcp:read mcp:call' });
    const publicAuth = {
      type: 'oauth',
      header: null,
      token_url: TOKEN_URL,
      client_id: 'registry',
      scope: 'mcp:read mcp:call',
    };
    expect([status, body.auth]).toEqual([201, { ...publicAuth, has_value: false, has_client_secret: true }]);
    const path = headers.get('location')!;
    expect((await on.editor.get(`${path}/versions/1`)).body.auth).toEqual(publicAuth);
    expect(await storedSecret(path)).toBe(SECRET);
    const { body: other } = await register({ type: 'bearer', value: 'v' });
    expect(other.auth).toEqual({
      type: 'bearer',
      header: null,
      token_url: null,
      client_id: null,
      scope: null,
      has_value: true,
      has_client_secret: false,
    });
  });

  it('can be sent back unchanged', async () => {
    const path = await registered(OAUTH);
    const { body } = await on.editor.get(path);
    const again = await on.editor.patch(path, body);
    expect([again.status, again.body.generation]).toEqual([200, 1]);
  });

  it('never returns, logs or audits its secret', async () => {
    const logged: string[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((chunk) => logged.push(String(chunk)) > 0);
    try {
      const created = await register(OAUTH);
      const path = created.headers.get('location')!;
      const answers = [
        created,
        await on.editor.get(path),
        await on.editor.get(`${path}/versions`),
        await on.editor.patch(path, { auth: { client_secret: `${SECRET}-2`, scope: 'a' } }),
        await register({ ...OAUTH, client_secret: `${SECRET}\n` }),
        await register({ type: 'none', client_secret: SECRET }),
        await register({ ...OAUTH, client_secret: [SECRET] }),
        await on.admin.get('/registry/v1/audit-log?limit=500'),
      ];
      for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(SECRET);
      const log = await on.admin.get(`/registry/v1/audit-log?resource_id=${created.body.server_id}&limit=1`);
      expect(log.body.items[0].changes).toEqual([{ member: 'auth' }]);
    } finally {
      write.mockRestore();
    }
    expect(logged.join('')).not.toContain(SECRET);
    for (const table of ['mcp_servers', 'mcp_server_versions', 'audit_log', 'search_documents']) {
      const rows = await app.database.query(`SELECT 1 FROM ${table} t WHERE t::text LIKE $1`, [
        `%${SECRET}%`,
      ]);
      expect([table, rows]).toEqual([table, []]);
    }
  });

  it.each([
    [{ ...OAUTH, token_url: undefined }, ['/auth/token_url']],
    [{ ...OAUTH, client_id: null }, ['/auth/client_id']],
    [{ ...OAUTH, client_secret: undefined }, ['/auth/client_secret']],
    [{ type: 'oauth' }, ['/auth/token_url', '/auth/client_id', '/auth/client_secret']],
    [{ ...OAUTH, client_secret: '' }, ['/auth/client_secret']],
    [{ ...OAUTH, client_secret: 'a\nb' }, ['/auth/client_secret']],
    [{ ...OAUTH, client_secret: 'x'.repeat(8_193) }, ['/auth/client_secret']],
    [{ ...OAUTH, client_id: 'ü' }, ['/auth/client_id']],
    [{ ...OAUTH, scope: '' }, ['/auth/scope']],
    [{ ...OAUTH, scope: 'a  b' }, ['/auth/scope']],
    [{ ...OAUTH, scope: 'a"b' }, ['/auth/scope']],
    [{ ...OAUTH, value: 'v' }, ['/auth/value']],
    [{ ...OAUTH, header: 'X-Key' }, ['/auth/header']],
    [{ ...OAUTH, token_url: 'ftp://login.example.com/token' }, ['/auth/token_url']],
    [{ ...OAUTH, token_url: 'https://user:pass@login.example.com/token' }, ['/auth/token_url']],
    [{ ...OAUTH, token_url: 'https://login.example.com/token#x' }, ['/auth/token_url']],
    [{ ...OAUTH, token_url: 'https://login.example.com/a b' }, ['/auth/token_url']],
    [{ ...OAUTH, token_url: 'login.example.com' }, ['/auth/token_url']],
    [{ type: 'bearer', value: 'v', token_url: TOKEN_URL }, ['/auth/token_url']],
    [{ type: 'bearer', value: 'v', client_secret: SECRET }, ['/auth/client_secret']],
    [{ type: 'none', client_id: 'a', scope: 'b' }, ['/auth/client_id', '/auth/scope']],
  ])('is rejected with %j', async (auth, pointers) => {
    const answer = await register(auth);
    expect([answer.status, pointersIn(answer)]).toEqual([400, pointers]);
  });

  it('keeps the secret while its target stays the same', async () => {
    const path = await registered({ ...OAUTH, scope: 'a' });
    for (const body of [
      { auth: {} },
      { auth: { type: 'oauth', scope: 'b' } },
      { auth: { scope: null } },
      { auth: { token_url: 'https://LOGIN.example.com:443/v2/token' } },
      { auth: { client_secret: SECRET } },
      { url: 'https://mcp.example.com/v2' },
    ]) {
      expect((await on.editor.patch(path, body)).status).toBe(200);
      expect(await storedSecret(path)).toBe(SECRET);
    }
    const { body } = await on.editor.get(path);
    // one version for each change of scope, token URL and URL
    expect([body.auth.scope, body.version_ordinal]).toEqual([null, 5]);
  });

  it('requires the secret again for another target', async () => {
    const path = await registered(OAUTH);
    const { body: before } = await on.editor.get(path);
    for (const body of [
      { auth: { token_url: 'https://evil.example/oauth/token' } },
      { auth: { token_url: 'http://login.example.com/oauth/token' } },
      { auth: { client_id: 'other' } },
      { url: 'https://evil.example/mcp' },
      { auth: { client_secret: null } },
    ]) {
      const answer = await on.editor.patch(path, body);
      expect([answer.status, pointersIn(answer)]).toEqual([400, ['/auth/client_secret']]);
    }
    expect((await on.editor.get(path)).body).toEqual(before);
    const moved = await on.editor.patch(path, { auth: { client_id: 'other', client_secret: 'new' } });
    expect([moved.status, await storedSecret(path)]).toEqual([200, 'new']);
  });

  it('requires a secret for another type, and removes the members of the old type', async () => {
    const path = await registered(OAUTH);
    const answer = await on.editor.patch(path, { auth: { type: 'bearer' } });
    expect([answer.status, pointersIn(answer)]).toEqual([400, ['/auth/value']]);
    const bearer = await on.editor.patch(path, { auth: { type: 'bearer', value: 'v' } });
    expect(bearer.body.auth).toMatchObject({
      type: 'bearer',
      token_url: null,
      client_id: null,
      has_value: true,
    });
    const back = await on.editor.patch(path, {
      auth: { type: 'oauth', token_url: TOKEN_URL, client_id: 'a' },
    });
    expect([back.status, pointersIn(back)]).toEqual([400, ['/auth/client_secret']]);
    expect((await on.editor.patch(path, { auth: OAUTH })).body.auth.has_client_secret).toBe(true);
    const none = await on.editor.patch(path, { auth: null });
    expect(none.body.auth).toMatchObject({ type: 'none', token_url: null, has_client_secret: false });
    expect(await storedSecret(path)).toBeNull();
  });

  it('is declared by an app without its secret', async () => {
    const apps = await AppsFixture.create(app);
    const { type, token_url, client_id } = OAUTH;
    const auth = { type, token_url, client_id, scope: 'a' };
    const slug = await apps.reconciled(server('a', { auth }));
    const [one] = await apps.serversOf(slug);
    expect(one.auth).toMatchObject({ ...auth, has_client_secret: false });
    const path = `/mcp/v1/servers/${one.server_id}`;
    const reconcile = async (changed: object): Promise<string | null> => {
      await apps.patch(slug, { resources: [server('a', { auth: { ...auth, ...changed } })] });
      expect((await apps.reconcile(slug)).status).toBe(200);
      return storedSecret(path);
    };
    await apps.editor.patch(path, { auth: { client_secret: SECRET } });
    expect(await reconcile({ scope: 'b' })).toBe(SECRET);
    expect((await apps.editor.get(path)).body.auth.scope).toBe('b');
    expect(await reconcile({ token_url: 'https://evil.example/token' })).toBeNull();
    const declared = await apps.declare({
      app: 'with-secret',
      resources: [server('a', { auth: OAUTH }), server('b', { auth: { type: 'oauth' } })],
    });
    expect([declared.status, pointersIn(declared)]).toEqual([
      400,
      [
        '/resources/0/spec/auth/client_secret',
        '/resources/1/spec/auth/token_url',
        '/resources/1/spec/auth/client_id',
      ],
    ]);
  });
});
