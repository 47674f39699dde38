import { type Answer, type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { SecretBox } from '#platform/secrets';
import { SERVER_SECRET } from '../../../src/mcp-servers/servers/server.entity';

const SERVERS = '/mcp/v1/servers';
const SECRET = 'tok-5e1f-not-to-be-told';

describe('the secret of an MCP server', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;
  let admin: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await org.member('editor');
    admin = await org.member('admin');
  });

  let made = 0;
  const register = (auth: unknown, body: object = {}): Promise<Answer> =>
    editor.post(SERVERS, {
      workspace_id: org.workspaceId,
      name: `server ${(made += 1)}`,
      url: 'https://mcp.example.com/mcp',
      auth,
      ...body,
    });
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
  const pointers = ({ body }: Answer): string[] => (body.errors ?? []).map((one: any) => one.pointer);

  it('is stored encrypted, and appears in no response, log or table', async () => {
    const logged: string[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((chunk) => logged.push(String(chunk)) > 0);
    try {
      const bearer = await register({ type: 'bearer', value: SECRET });
      const path = bearer.headers.get('location')!;
      const answers = [
        bearer,
        await register({ type: 'header', header: 'X-Key', value: SECRET }),
        await editor.get(path),
        await editor.patch(path, { auth: { value: `${SECRET}-other` } }),
        await editor.patch(path, { auth: { type: 'header', header: 'Host', value: SECRET } }),
        await register({ type: 'none', value: SECRET }),
        await register({ type: 'bearer', value: `${SECRET}\r\nX-More: 1` }),
        await register({ type: 'bearer', value: [SECRET] }),
        await editor.get(SERVERS),
        await editor.get(`${path}/versions`),
        await admin.get('/registry/v1/audit-log?limit=500'),
      ];
      expect(await storedSecret(path)).toBe(`${SECRET}-other`);
      for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(SECRET);
    } finally {
      write.mockRestore();
    }
    expect(logged.join('')).not.toContain(SECRET);
    const tables = ['mcp_servers', 'mcp_server_versions', 'audit_log', 'search_documents'];
    for (const table of tables) {
      const rows = await app.database.query(`SELECT 1 FROM ${table} t WHERE t::text LIKE $1`, [
        `%${SECRET}%`,
      ]);
      expect([table, rows]).toEqual([table, []]);
    }
  });

  it('is reported as present or not', async () => {
    const answers = [
      await register({ type: 'bearer', value: SECRET }),
      await register({ type: 'header', header: 'X-Api-Key', value: 'two words' }),
      await register({ type: 'none' }),
      await register(null),
    ];
    expect(answers.map(({ body }) => body.auth)).toMatchObject([
      { type: 'bearer', header: null, has_value: true },
      { type: 'header', header: 'X-Api-Key', has_value: true },
      { type: 'none', header: null, has_value: false },
      { type: 'none', header: null, has_value: false },
    ]);
  });

  it.each([
    [{ type: 'bearer' }, '/auth/value'],
    [{ type: 'bearer', value: null }, '/auth/value'],
    [{ type: 'bearer', value: '' }, '/auth/value'],
    [{ type: 'bearer', value: 'two words' }, '/auth/value'],
    [{ type: 'bearer', value: 'a\r\nb' }, '/auth/value'],
    [{ type: 'bearer', value: 'a\nb' }, '/auth/value'],
    [{ type: 'bearer', value: 'x'.repeat(8_193) }, '/auth/value'],
    [{ type: 'bearer', value: 'a', header: 'X-Key' }, '/auth/header'],
    [{ type: 'none', value: 'a' }, '/auth/value'],
    [{ type: 'none', header: 'X-Key' }, '/auth/header'],
    [{ type: 'header', value: 'a' }, '/auth/header'],
    [{ type: 'header', header: 'X-Key' }, '/auth/value'],
    [{ type: 'header', header: 'X-Key', value: 'a\r\nb' }, '/auth/value'],
    [{ type: 'header', header: 'X-Key', value: ' a' }, '/auth/value'],
    [{ type: 'header', header: 'X-Key', value: 'schlüssel' }, '/auth/value'],
    [{ type: 'header', header: 'X Key', value: 'a' }, '/auth/header'],
    [{ type: 'header', header: 'X-Key:', value: 'a' }, '/auth/header'],
    [{ type: 'header', header: 'X\r\nY', value: 'a' }, '/auth/header'],
    [{ type: 'header', header: '', value: 'a' }, '/auth/header'],
    [{ type: 'header', header: 'Host', value: 'a' }, '/auth/header'],
    [{ type: 'header', header: 'content-LENGTH', value: 'a' }, '/auth/header'],
    [{ type: 'header', header: 'Connection', value: 'a' }, '/auth/header'],
    [{ type: 'header', header: 'Transfer-Encoding', value: 'a' }, '/auth/header'],
    [{ type: 'header', header: 'Mcp-Session-Id', value: 'a' }, '/auth/header'],
  ])('is rejected in %j', async (auth, pointer) => {
    const answer = await register(auth);
    expect([answer.status, pointers(answer)]).toEqual([400, [pointer]]);
  });

  it('stays when a patch omits it, and creates no version', async () => {
    const path = await registered({ type: 'bearer', value: SECRET });
    for (const body of [
      { name: `renamed ${(made += 1)}` },
      { auth: { type: 'bearer' } },
      { auth: {} },
      { url: 'https://MCP.example.com:443/elsewhere?region=eu' },
      { auth: { value: SECRET } },
    ]) {
      expect((await editor.patch(path, body)).status).toBe(200);
      expect(await storedSecret(path)).toBe(SECRET);
    }
    const before = (await editor.get(path)).body;
    const { body } = await editor.patch(path, { auth: { value: 'another' } });
    expect([body.generation - before.generation, body.version_ordinal - before.version_ordinal]).toEqual([
      1, 0,
    ]);
    expect(await storedSecret(path)).toBe('another');
    const log = await admin.get(`/registry/v1/audit-log?resource_id=${body.server_id}&limit=1`);
    expect(log.body.items[0].changes).toEqual([{ member: 'auth' }]);
  });

  it('is never sent to another origin or in another way', async () => {
    const path = await registered({ type: 'bearer', value: SECRET });
    const before = (await editor.get(path)).body;
    for (const body of [
      { url: 'https://evil.example/mcp' },
      { url: 'http://mcp.example.com/mcp' },
      { url: 'https://mcp.example.com:8443/mcp' },
      { url: 'https://evil.example/mcp', auth: { type: 'bearer' } },
      { auth: { type: 'header', header: 'X-Key' } },
      { auth: { value: null } },
    ]) {
      const answer = await editor.patch(path, body);
      expect([answer.status, pointers(answer)]).toEqual([400, ['/auth/value']]);
    }
    expect((await editor.get(path)).body).toEqual(before);
    const named = await registered({ type: 'header', header: 'X-Key', value: SECRET });
    const renamed = await editor.patch(named, { auth: { header: 'X-Other' } });
    expect([renamed.status, pointers(renamed)]).toEqual([400, ['/auth/value']]);
    const same = await editor.patch(named, { auth: { header: 'x-key' } });
    expect([same.status, same.body.auth.header, await storedSecret(named)]).toEqual([200, 'x-key', SECRET]);
    const patched = await editor.patch(named, { auth: { header: 'X-Other', value: 'of-the-other' } });
    expect([patched.status, await storedSecret(named)]).toEqual([200, 'of-the-other']);
    const moved = await editor.patch(path, {
      url: 'https://new.example/mcp',
      auth: { value: 'of-the-new-one' },
    });
    expect([moved.status, await storedSecret(path)]).toEqual([200, 'of-the-new-one']);
  });

  it('appears in no search and no log if it is in the query of a URL', async () => {
    const url = 'https://mcp.example.com/keyed?api_key=';
    const { body } = await register(null, { url: `${url}k9-first` });
    const path = `${SERVERS}/${body.server_id}`;
    await editor.patch(path, { url: `${url}k9-second` });
    await editor.patch(path, { url: `https://mcp.example.com/moved?api_key=k9-second` });
    const log = await admin.get(`/registry/v1/audit-log?resource_id=${body.server_id}&action=update`);
    expect(log.body.items.map((one: any) => one.changes)).toEqual([
      [
        {
          member: 'url',
          before: 'https://mcp.example.com/keyed',
          after: 'https://mcp.example.com/moved',
        },
      ],
      [{ member: 'url' }],
    ]);
    const matches = async (q: string) => (await editor.get(`${SERVERS}?q=${q}`)).body.page.total as number;
    expect([
      await matches('moved'),
      await matches('k9'),
      await matches('second'),
      await matches('api_key'),
    ]).toEqual([1, 0, 0, 0]);
  });

  it('is deleted by type none and by archiving', async () => {
    for (const auth of [null, { type: 'none' }]) {
      const path = await registered({ type: 'header', header: 'X-Key', value: SECRET });
      const { body } = await editor.patch(path, { auth });
      expect(body.auth).toMatchObject({ type: 'none', header: null, has_value: false });
      expect(await storedSecret(path)).toBeNull();
    }
    const path = await registered({ type: 'bearer', value: SECRET });
    const { body } = await admin.post(`${path}/archive`);
    expect([body.auth.has_value, await storedSecret(path)]).toEqual([false, null]);
    const restored = await admin.post(`${path}/restore`);
    expect([restored.body.auth.has_value, await storedSecret(path)]).toEqual([false, null]);
  });

  it('cannot be decrypted after it is copied to another server', async () => {
    const [one, other] = [await registered({ type: 'bearer', value: SECRET }), await registered(null)];
    await app.database.query(
      `UPDATE mcp_servers SET auth_type = 'bearer',
         auth_secret = (SELECT auth_secret FROM mcp_servers WHERE server_id = $2) WHERE server_id = $1`,
      [other.split('/').at(-1), one.split('/').at(-1)],
    );
    await expect(storedSecret(other)).rejects.toThrow('sealed for another use');
  });
});
