import { sharedApp } from '#testing';
import { ApiDirectory } from '../../../src/registry';
import { APIS, ApisFixture, idIn, pointersIn } from './apis.fixture';

const SECRET = 'tok-5e1f-not-to-be-told';

describe('the secret of a registered API', () => {
  const app = sharedApp();
  let on: ApisFixture;

  beforeAll(async () => {
    on = await ApisFixture.create(app);
  });

  /** Returns the secret that would be sent to the API. */
  const storedSecret = async (path: string): Promise<string | null> => {
    const directory = app.get(ApiDirectory);
    return directory.secretOf((await directory.find(on.org.orgId, idIn(path)))!);
  };

  it.each([
    [{ type: 'bearer', value: SECRET }, null],
    [{ type: 'header', name: 'X-Api-Key', value: 'two words' }, 'X-Api-Key'],
    [{ type: 'basic', value: 'ada:pässword with spaces' }, null],
    [{ type: 'basic', value: ':' }, null],
    [{ type: 'query', name: 'api[key]', value: 'ümlaut & more' }, 'api[key]'],
    [{ type: 'query', name: '~'.repeat(255), value: 'x'.repeat(4_096) }, '~'.repeat(255)],
  ])('is stored for %j', async (auth, name) => {
    const made = await on.register({ auth });
    expect(made.body.auth).toEqual({ type: auth.type, name, has_value: true });
    expect(await storedSecret(made.headers.get('location')!)).toBe(auth.value);
  });

  it('is stored encrypted, and appears in no response, log or table', async () => {
    const logged: string[] = [];
    const write = jest
      .spyOn(process.stdout, 'write')
      .mockImplementation((chunk) => logged.push(String(chunk)) > 0);
    try {
      const bearer = await on.register({ auth: { type: 'bearer', value: SECRET } });
      const path = bearer.headers.get('location')!;
      const answers = [
        bearer,
        await on.register({ auth: { type: 'query', name: 'key', value: SECRET } }),
        await on.admin.get(path),
        await on.admin.patch(path, { auth: { value: `${SECRET}-other` } }),
        await on.admin.patch(path, { auth: { type: 'header', name: 'Host', value: SECRET } }),
        await on.register({ auth: { type: 'none', value: SECRET } }),
        await on.register({ auth: { type: 'bearer', value: `${SECRET}\r\nX-More: 1` } }),
        await on.register({ auth: { type: 'basic', value: SECRET } }),
        await on.register({ auth: { type: 'bearer', value: [SECRET] } }),
        await on.admin.get(`${APIS}?limit=500`),
        await on.admin.get(`${path}/versions`),
        await on.admin.post('/registry/v1/search', { query: SECRET }),
        await on.admin.get('/registry/v1/audit-log?limit=500'),
      ];
      expect(await storedSecret(path)).toBe(`${SECRET}-other`);
      const [search] = answers.splice(11, 1);
      expect(search!.body.items).toEqual([]);
      for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(SECRET);
      expect((await on.admin.get(`${path}/versions`)).body.page.total).toBe(1);
      expect((await on.entriesOf(path))[0].changes).toEqual([{ member: 'auth' }]);
    } finally {
      write.mockRestore();
    }
    expect(logged.join('')).not.toContain(SECRET);
    const tables = ['apis', 'api_versions', 'audit_log', 'search_documents', 'idempotency_keys'];
    for (const table of tables) {
      const rows = await app.database.query(`SELECT 1 FROM ${table} t WHERE t::text LIKE $1`, [
        `%${SECRET}%`,
      ]);
      expect([table, rows]).toEqual([table, []]);
    }
  });

  it.each([
    [{ type: 'bearer' }, '/auth/value'],
    [{ type: 'bearer', value: null }, '/auth/value'],
    [{ type: 'bearer', value: '' }, '/auth/value'],
    [{ type: 'bearer', value: 'two words' }, '/auth/value'],
    [{ type: 'bearer', value: 'schlüssel' }, '/auth/value'],
    [{ type: 'bearer', value: 'x'.repeat(8_193) }, '/auth/value'],
    [{ type: 'bearer', value: 'a', name: 'X-Key' }, '/auth/name'],
    [{ type: 'none', value: 'a' }, '/auth/value'],
    [{ type: 'none', name: 'X-Key' }, '/auth/name'],
    [{ type: 'header', value: 'a' }, '/auth/name'],
    [{ type: 'header', name: 'X-Key' }, '/auth/value'],
    [{ type: 'header', name: 'X-Key', value: 'a\r\nb' }, '/auth/value'],
    [{ type: 'header', name: 'X-Key', value: ' a' }, '/auth/value'],
    [{ type: 'header', name: 'X Key', value: 'a' }, '/auth/name'],
    [{ type: 'header', name: '', value: 'a' }, '/auth/name'],
    [{ type: 'header', name: 'Host', value: 'a' }, '/auth/name'],
    [{ type: 'header', name: 'content-LENGTH', value: 'a' }, '/auth/name'],
    [{ type: 'header', name: 'COOKIE', value: 'a' }, '/auth/name'],
    [{ type: 'basic', value: 'ada' }, '/auth/value'],
    [{ type: 'basic', value: 'ada:a\nb' }, '/auth/value'],
    [{ type: 'basic', value: 'ada:\u0085' }, '/auth/value'],
    [{ type: 'basic', name: 'X-Key', value: 'a:b' }, '/auth/name'],
    [{ type: 'query', value: 'a' }, '/auth/name'],
    [{ type: 'query', name: 'a b', value: 'a' }, '/auth/name'],
    [{ type: 'query', name: 'x'.repeat(256), value: 'a' }, '/auth/name'],
    [{ type: 'query', name: 'key' }, '/auth/value'],
    [{ type: 'query', name: 'key', value: 'a\tb' }, '/auth/value'],
    [{ type: 'query', name: 'key', value: 'x'.repeat(4_097) }, '/auth/value'],
  ])('is refused in %j', async (auth, pointer) => {
    const answer = await on.register({ auth });
    expect([answer.status, pointersIn(answer)]).toEqual([400, [pointer]]);
  });

  it('cannot use a header that is also in `headers`', async () => {
    const auth = { type: 'header', name: 'X-Zone', value: 'a' };
    const made = await on.register({ auth, headers: { 'x-zone': 'eu' } });
    expect([made.status, pointersIn(made)]).toEqual([400, ['/headers/x-zone']]);
    const path = await on.registered({ headers: { 'x-zone': 'eu' } });
    const patched = await on.admin.patch(path, { auth });
    expect([patched.status, pointersIn(patched)]).toEqual([400, ['/headers/x-zone']]);
    expect((await on.admin.patch(path, { auth, headers: null })).status).toBe(200);
  });

  it('stays if a patch omits it', async () => {
    const path = await on.registered({ auth: { type: 'bearer', value: SECRET } });
    for (const body of [
      { description: 'renamed' },
      { auth: { type: 'bearer' } },
      { auth: {} },
      { base_url: 'https://ORDERS.example.com:443/elsewhere' },
      { auth: { value: SECRET } },
    ]) {
      expect((await on.admin.patch(path, body)).status).toBe(200);
      expect(await storedSecret(path)).toBe(SECRET);
    }
    const before = (await on.admin.get(path)).body;
    const { body } = await on.admin.patch(path, { auth: { value: 'another' } });
    expect(body).toMatchObject({
      generation: before.generation + 1,
      version_ordinal: before.version_ordinal,
    });
    expect(await storedSecret(path)).toBe('another');
  });

  it('is never sent to another origin or in another way', async () => {
    const path = await on.registered({ auth: { type: 'bearer', value: SECRET } });
    const before = (await on.admin.get(path)).body;
    for (const body of [
      { base_url: 'https://evil.example/v2' },
      { base_url: 'http://orders.example.com/v2' },
      { base_url: 'https://orders.example.com:8443/v2' },
      { auth: { type: 'header', name: 'X-Key' } },
      { auth: { value: null } },
    ]) {
      const answer = await on.admin.patch(path, body);
      expect([answer.status, pointersIn(answer)]).toEqual([400, ['/auth/value']]);
    }
    const moved = await on.admin.patch(path, { base_url: 'https://evil.example/v2' });
    expect(moved.body.errors[0].detail).toBe(
      "`value` is required because the URL's origin changed. Secrets are never sent to a new origin.",
    );
    expect((await on.admin.get(path)).body).toEqual(before);
    const named = await on.registered({ auth: { type: 'query', name: 'key', value: SECRET } });
    for (const name of ['Key', 'other']) {
      expect(pointersIn(await on.admin.patch(named, { auth: { name } }))).toEqual(['/auth/value']);
    }
    const header = await on.registered({ auth: { type: 'header', name: 'X-Key', value: SECRET } });
    expect((await on.admin.patch(header, { auth: { name: 'x-key' } })).body.auth.name).toBe('x-key');
    expect(await storedSecret(header)).toBe(SECRET);
    const patched = await on.admin.patch(path, {
      base_url: 'https://new.example',
      auth: { value: 'of-the-new' },
    });
    expect([patched.status, await storedSecret(path)]).toEqual([200, 'of-the-new']);
  });

  it('is deleted by the type none and by archiving', async () => {
    for (const auth of [null, { type: 'none' }]) {
      const path = await on.registered({ auth: { type: 'header', name: 'X-Key', value: SECRET } });
      const { body } = await on.admin.patch(path, { auth });
      expect(body.auth).toEqual({ type: 'none', name: null, has_value: false });
      expect(await storedSecret(path)).toBeNull();
    }
    const path = await on.registered({ auth: { type: 'basic', value: 'ada:secret' } });
    expect((await on.admin.post(`${path}/archive`)).body.auth.has_value).toBe(false);
    expect((await on.admin.post(`${path}/restore`)).body.auth).toEqual({
      type: 'basic',
      name: null,
      has_value: false,
    });
    expect(await storedSecret(path)).toBeNull();
  });

  it('cannot be decrypted after it is copied to another API', async () => {
    const [one, other] = [
      await on.registered({ auth: { type: 'bearer', value: SECRET } }),
      await on.registered(),
    ];
    await app.database.query(
      `UPDATE apis SET auth_type = 'bearer', auth_secret = (SELECT auth_secret FROM apis WHERE api_id = $2)
        WHERE api_id = $1`,
      [idIn(other), idIn(one)],
    );
    await expect(storedSecret(other)).rejects.toThrow('sealed for another use');
  });
});

describe('the directory of registered APIs', () => {
  const app = sharedApp();
  let on: ApisFixture;

  beforeAll(async () => {
    on = await ApisFixture.create(app);
  });

  const find = async (path: string, orgId = on.org.orgId) => app.get(ApiDirectory).find(orgId, idIn(path));

  it('returns all columns of an API, with its headers by name', async () => {
    const path = await on.registered({ headers: { 'X-Zone': 'eu' }, max_in_flight: 2 });
    expect(await find(path)).toMatchObject({
      api_id: idIn(path),
      org_id: on.org.orgId,
      workspace_id: on.org.workspaceId,
      base_url: 'https://orders.example.com/v2',
      headers: { 'X-Zone': 'eu' },
      allowed_methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      max_in_flight: 2,
      archived_at: null,
    });
    expect(await find(path)).toBe(await find(path));
  });

  it('shows each change at once', async () => {
    const path = await on.registered();
    expect((await find(path))!.timeout_ms).toBe(30_000);
    await on.admin.patch(path, { timeout_ms: 500 });
    expect((await find(path))!.timeout_ms).toBe(500);
    await on.admin.post(`${path}/archive`);
    expect((await find(path))!.archived_at).toBeInstanceOf(Date);
    await on.admin.post(`${path}/restore`);
    expect((await find(path))!.archived_at).toBeNull();
  });

  it('shows a change by another process within a second', async () => {
    const path = await on.registered();
    await find(path);
    await app.database.query('UPDATE apis SET timeout_ms = 700 WHERE api_id = $1', [idIn(path)]);
    const end = Date.now() + 10_000;
    while ((await find(path))!.timeout_ms !== 700 && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect((await find(path))!.timeout_ms).toBe(700);
  });

  it('returns nothing to another organization, cached or not', async () => {
    const path = await on.registered();
    const other = await ApisFixture.create(app);
    expect(await find(path, other.org.orgId)).toBeNull();
    await find(path);
    expect(await find(path, other.org.orgId)).toBeNull();
    expect(await find('/api_none')).toBeNull();
  });

  it('does not cache a row that was read before a change', async () => {
    const path = await on.registered();
    const reads = Array.from({ length: 20 }, () => find(path));
    await on.admin.patch(path, { timeout_ms: 900 });
    await Promise.all(reads);
    expect((await find(path))!.timeout_ms).toBe(900);
  });
});
