import { sharedApp, newOrganization } from '#testing';
import { APIS, ApisFixture, idIn, namesIn, pointersIn } from './apis.fixture';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

describe('registered APIs', () => {
  const app = sharedApp();
  let on: ApisFixture;

  beforeAll(async () => {
    on = await ApisFixture.create(app);
  });

  it('are registered with 201, a Location, an ETag and defaults', async () => {
    const made = await on.register({ name: 'orders' });
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`${APIS}/${made.body.api_id}`);
    expect(made.headers.get('etag')).toBe('"1"');
    expect(made.body).toMatchObject({
      api_id: expect.stringMatching(/^api_[0-9a-z]{26}$/) as string,
      org_id: on.org.orgId,
      workspace_id: on.org.workspaceId,
      name: 'orders',
      description: null,
      base_url: 'https://orders.example.com/v2',
      auth: { type: 'none', name: null, has_value: false },
      allowed_methods: METHODS,
      timeout_ms: 30_000,
      headers: {},
      allow_encoded_slash: false,
      requests_per_minute: null,
      max_in_flight: null,
      metadata: {},
      app_id: null,
      sync_state: 'unmanaged',
      version_ordinal: 1,
      archived_at: null,
    });
    expect((await on.viewer.get(made.headers.get('location')!)).body).toEqual(made.body);
  });

  it('keep members as sent, and methods without duplicates', async () => {
    const members = {
      description: 'Orders of the shop',
      timeout_ms: 600_000,
      headers: { 'X-Zone': 'eu', 'User-Agent': 'shop agent/1' },
      allow_encoded_slash: true,
      requests_per_minute: 1_000_000,
      max_in_flight: 10_000,
      metadata: { owner: 'shop' },
    };
    const made = await on.register({ ...members, allowed_methods: ['POST', 'GET', 'POST'] });
    expect(made.body).toMatchObject({ ...members, allowed_methods: ['GET', 'POST'] });
    const nulls = Object.fromEntries(Object.keys(members).map((member) => [member, null]));
    const defaults = await on.register({ ...nulls, allowed_methods: null, auth: null });
    expect(defaults.body).toMatchObject({ timeout_ms: 30_000, headers: {}, allowed_methods: METHODS });
  });

  it.each([
    ['https://orders.example.com/', 'https://orders.example.com'],
    ['https://orders.example.com/v2/', 'https://orders.example.com/v2'],
    [
      'HTTP://Orders.example.com:8080/a%20b/.well-known//',
      'HTTP://Orders.example.com:8080/a%20b/.well-known',
    ],
  ])('store the base URL %j as %j', async (sent, base_url) => {
    expect((await on.register({ base_url: sent })).body.base_url).toBe(base_url);
  });

  it.each([
    ['ftp://orders.example.com'],
    ['orders.example.com'],
    ['https://'],
    ['https:///v2'],
    ['https://ada:secret@orders.example.com/'],
    ['https://@orders.example.com/'],
    ['https://orders.example.com/v2#x'],
    ['https://orders.example.com/v2?'],
    ['https://orders.example.com?key=k'],
    ['https://orders.example.com\\@evil.example'],
    ['https://orders.example.com/a b'],
    ['https://orders.example.com/\u0085'],
    ['https://orders.example.com/v2/../admin'],
    ['https://orders.example.com/.'],
    ['https://orders.example.com/v2/%2e%2E/admin'],
    ['https://orders.example.com/v2/.%2e'],
    ['https://orders.example.com/v2/%252e%252e/admin'],
    ['https://orders.example.com/v2%2fadmin'],
    ['https://orders.example.com/v2%5Cadmin'],
    ['https://orders.example.com/v2%252Fadmin'],
    [`https://orders.example.com/${'a'.repeat(2_048)}`],
    [''],
  ])('cannot have the base URL %j', async (base_url) => {
    const answer = await on.register({ base_url });
    expect([answer.status, pointersIn(answer)]).toEqual([400, ['/base_url']]);
    expect(answer.body.errors[0].detail).toMatch(/^must /);
    const patched = await on.admin.patch(await on.registered(), { base_url });
    expect([patched.status, pointersIn(patched)]).toEqual([400, ['/base_url']]);
  });

  it.each([
    [{ name: undefined }, '/name'],
    [{ name: '' }, '/name'],
    [{ base_url: undefined }, '/base_url'],
    [{ allowed_methods: [] }, '/allowed_methods'],
    [{ allowed_methods: 'GET' }, '/allowed_methods'],
    [{ timeout_ms: 99 }, '/timeout_ms'],
    [{ timeout_ms: 600_001 }, '/timeout_ms'],
    [{ timeout_ms: 1000.5 }, '/timeout_ms'],
    [{ requests_per_minute: 0 }, '/requests_per_minute'],
    [{ requests_per_minute: 1_000_001 }, '/requests_per_minute'],
    [{ max_in_flight: 0 }, '/max_in_flight'],
    [{ max_in_flight: 10_001 }, '/max_in_flight'],
    [{ allow_encoded_slash: 'yes' }, '/allow_encoded_slash'],
    [{ headers: [] }, '/headers'],
    [{ headers: { 'X-Zone': 1 } }, '/headers/X-Zone'],
    [{ headers: { 'X-Zone': null } }, '/headers/X-Zone'],
    [{ headers: { 'X-Zone': '' } }, '/headers/X-Zone'],
    [{ headers: { 'X-Zone': 'a\r\nX-More: 1' } }, '/headers/X-Zone'],
    [{ headers: { 'X-Zone': 'ü' } }, '/headers/X-Zone'],
    [{ headers: { 'X-Zone': 'x'.repeat(4_097) } }, '/headers/X-Zone'],
    [{ headers: { 'X Zone': 'a' } }, '/headers/X Zone'],
    [{ headers: { '': 'a' } }, '/headers/'],
    [{ headers: { Host: 'a' } }, '/headers/Host'],
    [{ headers: { 'Transfer-Encoding': 'chunked' } }, '/headers/Transfer-Encoding'],
    [{ headers: { 'X-Zone': 'a', 'x-zone': 'b' } }, '/headers/x-zone'],
    [{ headers: Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`X-${n}`, 'a'])) }, '/headers'],
    [{ metadata: { a: 'x'.repeat(17_000) } }, '/metadata'],
  ])('return 400 for %j', async (members, pointer) => {
    const answer = await on.register(members);
    expect([answer.status, answer.body.code, pointersIn(answer)]).toEqual([
      400,
      'invalid_request',
      [pointer],
    ]);
  });

  it.each([
    'Authorization',
    'proxy-authorization',
    'Cookie',
    'X-Api-Key',
    'x-token',
    'Client-Secret',
    'PASSWORD',
  ])('refuse the header %s, because it usually carries a credential', async (name) => {
    const made = await on.register({ headers: { [name]: 'tok-of-mine' } });
    const patched = await on.admin.patch(await on.registered(), { headers: { [name]: 'tok-of-mine' } });
    for (const answer of [made, patched]) {
      expect([answer.status, pointersIn(answer)]).toEqual([400, [`/headers/${name}`]]);
      expect(answer.body.errors[0].detail).toContain('secrets belong in `auth`, which is encrypted');
      expect(JSON.stringify(answer.body)).not.toContain('tok-of-mine');
    }
  });

  it('return 422 for an unknown method or authentication type', async () => {
    const path = await on.registered();
    for (const [body, pointer] of [
      [{ allowed_methods: ['GET', 'TRACE'] }, '/allowed_methods/1'],
      [{ auth: { type: 'oauth' } }, '/auth/type'],
    ] as const) {
      for (const answer of [await on.register(body), await on.admin.patch(path, body)]) {
        expect([answer.status, answer.body.code, pointersIn(answer)]).toEqual([
          422,
          'validation_failed',
          [pointer],
        ]);
      }
    }
  });

  it('merge patched headers, and replace methods and limits', async () => {
    const path = await on.registered({
      headers: { 'X-Zone': 'eu', 'X-Team': 'shop' },
      requests_per_minute: 5,
      max_in_flight: 6,
    });
    const patched = await on.admin.patch(path, {
      headers: { 'X-Zone': null, 'X-Build': '7' },
      allowed_methods: ['HEAD', 'GET', 'GET'],
      requests_per_minute: null,
      timeout_ms: 100,
    });
    expect(patched.body).toMatchObject({
      allowed_methods: ['GET', 'HEAD'],
      requests_per_minute: null,
      max_in_flight: 6,
      timeout_ms: 100,
      generation: 2,
    });
    expect(patched.body.headers).toEqual({ 'X-Team': 'shop', 'X-Build': '7' });
    expect((await on.admin.patch(path, { allowed_methods: ['HEAD', 'GET'] })).body.generation).toBe(2);
    const twice = await on.admin.patch(path, { headers: { 'x-team': 'other' } });
    expect([twice.status, pointersIn(twice)]).toEqual([400, ['/headers/x-team']]);
    const many = Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`X-${n}`, 'a']));
    expect(pointersIn(await on.admin.patch(path, { headers: many }))).toEqual(['/headers']);
    expect((await on.admin.patch(path, { headers: null })).body.headers).toEqual({});
    for (const member of ['allowed_methods', 'timeout_ms', 'allow_encoded_slash', 'base_url', 'name']) {
      expect((await on.admin.patch(path, { [member]: null })).status).toBe(400);
    }
  });

  it('get a version with every change except that of metadata', async () => {
    const path = await on.registered({ name: 'first', headers: { 'X-Zone': 'eu' } });
    const changes = [
      { name: 'second' },
      { base_url: 'https://orders.example.com/v3' },
      { allowed_methods: ['GET'] },
      { headers: { 'X-Zone': 'us' } },
      { max_in_flight: 3 },
    ];
    for (const change of changes) await on.admin.patch(path, change);
    const noted = await on.admin.patch(path, { metadata: { a: 1 } });
    expect(noted.body).toMatchObject({ version_ordinal: 6, generation: 7 });
    const { body } = await on.viewer.get(`${path}/versions`);
    expect(body.items.map((one: any) => one.version_ordinal)).toEqual([6, 5, 4, 3, 2, 1]);
    const first = await on.viewer.get(`${path}/versions/1`);
    expect(first.body).toMatchObject({
      name: 'first',
      base_url: 'https://orders.example.com/v2',
      headers: { 'X-Zone': 'eu' },
      allowed_methods: METHODS,
    });
    expect((await on.viewer.get(`${path}/versions/6`)).body).toMatchObject({
      headers: { 'X-Zone': 'us' },
      max_in_flight: 3,
    });
    for (const ordinal of ['0', '7', '01', 'x']) {
      expect((await on.viewer.get(`${path}/versions/${ordinal}`)).status).toBe(404);
    }
  });

  it('are filtered, searched and sorted', async () => {
    const workspace_id = await on.org.newWorkspace();
    await on.register({ workspace_id, name: 'zeta', description: 'finds parcels' });
    await on.register({ workspace_id, name: 'alpha', base_url: 'https://parcels.example.com' });
    await on.register({ workspace_id, name: 'mid' });
    const list = async (query: string) =>
      namesIn(await on.viewer.get(`${APIS}?workspace_id=${workspace_id}${query}`));
    expect(await list('')).toEqual(['mid', 'alpha', 'zeta']);
    expect(await list('&q=parc&sort=name')).toEqual(['alpha', 'zeta']);
    expect(await list('&name=mid')).toEqual(['mid']);
    expect(await list('&sync_state=unmanaged&sort=-name')).toEqual(['zeta', 'mid', 'alpha']);
    expect(await list('&sync_state=synced')).toEqual([]);
    expect(await list('&app=nope')).toEqual([]);
    expect((await on.viewer.get(`${APIS}?transport=sse`)).status).toBe(400);
  });

  it('are found by search until they are archived', async () => {
    const path = await on.registered({
      name: 'quokka ledger',
      description: 'Books of the zoo',
      base_url: 'https://wombat.example.com',
    });
    const matches = async (query: string) => {
      const { body } = await on.viewer.post('/registry/v1/search', {
        query,
        mode: 'keyword',
        types: ['api'],
      });
      return body.items.map((one: any) => [one.type, one.id]);
    };
    for (const query of ['quokka ledger', 'books zoo', 'wombat']) {
      expect(await matches(query)).toEqual([['api', idIn(path)]]);
    }
    await on.admin.post(`${path}/archive`);
    expect(await matches('quokka ledger')).toEqual([]);
    await on.admin.post(`${path}/restore`);
    expect(await matches('quokka ledger')).toHaveLength(1);
  });

  it('are audited, without the values of headers', async () => {
    const path = await on.registered({ name: 'told' });
    await on.admin.patch(path, { timeout_ms: 500, headers: { 'X-Zone': 'eu' }, description: 'd' });
    await on.admin.post(`${path}/archive`);
    const entries = await on.entriesOf(path);
    expect(entries.map(({ action, resource_type }) => [action, resource_type])).toEqual([
      ['archive', 'api'],
      ['update', 'api'],
      ['create', 'api'],
    ]);
    expect(entries[1].changes).toEqual(
      expect.arrayContaining([
        { member: 'timeout_ms', before: 30_000, after: 500 },
        { member: 'headers' },
        { member: 'description' },
      ]),
    );
    expect(entries[2].changes).toEqual([
      { member: 'name', after: 'told' },
      { member: 'base_url', after: 'https://orders.example.com/v2' },
    ]);
  });

  it('are registered and changed by admins, and read by viewers and deployed agents', async () => {
    const path = await on.registered();
    const runtime = await on.org.member('runtime');
    for (const by of [on.editor, on.viewer, runtime]) {
      const refused = [
        await on.register({}, by),
        await by.patch(path, { description: 'x' }),
        await by.post(`${path}/archive`),
        await by.post(`${path}/restore`),
      ];
      expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
        refused.map(() => [403, 'access_denied']),
      );
      const reads = ['', '/versions', '/versions/1'].map((one) => by.get(path + one));
      expect((await Promise.all([...reads, by.get(APIS)])).map(({ status }) => status)).toEqual([
        200, 200, 200, 200,
      ]);
    }
    expect((await app.api().get(path)).status).toBe(401);
  });

  it('are invisible outside their organization and workspace', async () => {
    const workspace_id = await on.org.newWorkspace();
    const path = await on.registered({ workspace_id, name: 'hidden' });
    const stranger = await (await newOrganization(app)).member('owner');
    const bound = app.api((await on.org.serviceAccount('admin')).key);
    for (const outsider of [stranger, bound]) {
      const answers = [
        await outsider.get(path),
        await outsider.get(`${path}/versions`),
        await outsider.get(`${path}/versions/1`),
        await outsider.patch(path, { name: 'x' }),
        await outsider.post(`${path}/archive`),
        await outsider.post(`${path}/restore`),
      ];
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
      for (const query of ['', `?workspace_id=${workspace_id}`, '?name=hidden']) {
        expect(namesIn(await outsider.get(APIS + query))).not.toContain('hidden');
      }
      expect((await on.register({ workspace_id }, outsider)).status).toBe(400);
    }
    const unknown = await on.register({ workspace_id: 'wsp_nope' });
    expect([unknown.status, pointersIn(unknown)]).toEqual([400, ['/workspace_id']]);
    await on.admin.post(`/registry/v1/workspaces/${workspace_id}/archive`);
    expect((await on.register({ workspace_id })).status).toBe(409);
    expect((await on.admin.patch(path, { description: 'x' })).status).toBe(409);
  });
});
