import { sharedApp, newOrganization } from '#testing';
import { ModelDirectory } from '../../../src/model-gateway';
import { created, GatewayFixture, outcomes, pathOf, pointersIn, PROVIDERS } from './gateway.fixture';

const SECRET = 'sk-5e1f-not-to-be-told';

describe('model providers', () => {
  const app = sharedApp();
  let on: GatewayFixture;

  beforeAll(async () => {
    on = await GatewayFixture.create(app);
  });

  /** Returns the key and the origin that a call would use. */
  const called = async (providerId: string): Promise<{ key: string | null; base: string }> => {
    const targets = [{ provider_id: providerId, upstream_model: 'm' }];
    const { body } = created(await on.model({ targets }));
    const directory = app.get(ModelDirectory);
    const [model] = await directory.find(on.org.orgId, body.model_id as string);
    const { provider } = model!.targets[0]!;
    return { key: provider.apiKey(), base: provider.base.href };
  };

  it('are registered with 201, a Location, an ETag and defaults', async () => {
    const made = await on.provide({ name: 'openai' });
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`${PROVIDERS}/${made.body.provider_id}`);
    expect(made.headers.get('etag')).toBe('"1"');
    expect(made.body).toEqual({
      provider_id: expect.stringMatching(/^prov_[0-9a-z]{26}$/) as string,
      org_id: on.org.orgId,
      workspace_id: on.org.workspaceId,
      name: 'openai',
      description: null,
      kind: 'openai',
      base_url: 'https://api.openai.com/v1',
      has_api_key: false,
      headers: {},
      metadata: {},
      generation: 1,
      created_at: expect.any(String) as string,
      updated_at: made.body.created_at as string,
      created_by: expect.any(String) as string,
      archived_at: null,
    });
    for (const reader of [on.viewer, on.runtime]) {
      expect((await reader.get(pathOf(made))).body).toEqual(made.body);
    }
  });

  it.each([
    ['anthropic', undefined, 'https://api.anthropic.com/v1'],
    ['anthropic', null, 'https://api.anthropic.com/v1'],
    ['openai', 'https://llm.example.com', 'https://llm.example.com/v1'],
    ['openai', 'https://llm.example.com/', 'https://llm.example.com/v1'],
    ['openai', 'http://llm.example.com:8000/openai/', 'http://llm.example.com:8000/openai'],
  ])('have kind %s and store the base URL %j as %s', async (kind, sent, base_url) => {
    const made = await on.provide({ kind, base_url: sent });
    expect(made).toMatchObject({ status: 201, body: { kind, base_url } });
    const patched = await on.admin.patch(pathOf(made), { base_url: sent ?? base_url });
    expect(patched).toMatchObject({ status: 200, body: { base_url, generation: 1 } });
  });

  it.each([
    [{ base_url: 'ftp://llm.example.com' }, '/base_url'],
    [{ base_url: 'https://ada:secret@llm.example.com' }, '/base_url'],
    [{ base_url: 'https://llm.example.com/v1?key=k' }, '/base_url'],
    [{ base_url: 'https://llm.example.com/v1/../admin' }, '/base_url'],
    [{ base_url: '' }, '/base_url'],
    [{ api_key: '' }, '/api_key'],
    [{ api_key: 'two words' }, '/api_key'],
    [{ api_key: 'schlüssel' }, '/api_key'],
    [{ api_key: 'a\nb' }, '/api_key'],
    [{ api_key: 'x'.repeat(8_193) }, '/api_key'],
    [{ headers: { Authorization: 'Bearer x' } }, '/headers/Authorization'],
    [{ headers: { 'x-api-key': 'x' } }, '/headers/x-api-key'],
    [{ headers: { Host: 'x' } }, '/headers/Host'],
    [{ headers: { 'X-Zone': 1 } }, '/headers/X-Zone'],
    [{ headers: { 'X-Zone': 'a', 'x-zone': 'b' } }, '/headers/x-zone'],
    [{ name: '' }, '/name'],
    [{ workspace_id: 'wsp_unknown' }, '/workspace_id'],
    [{ unheard_of: 1 }, '/unheard_of'],
  ])('are refused with %j', async (body, pointer) => {
    const refused = await on.provide(body);
    expect([refused.status, refused.body.code, pointersIn(refused)]).toEqual([
      400,
      'invalid_request',
      [pointer],
    ]);
  });

  it('name the member for secrets if a header or a URL contains one', async () => {
    const inHeader = await on.provide({ headers: { 'X-Token': 'x' } });
    const inUrl = await on.provide({ base_url: 'https://ada:x@llm.example.com' });
    for (const { body } of [inHeader, inUrl]) expect(body.detail).toContain('api_key');
  });

  it('have one of the known kinds, which cannot change', async () => {
    expect(outcomes([await on.provide({ kind: 'llama' })])).toEqual([[422, 'validation_failed']]);
    const path = pathOf(await on.provide());
    expect(outcomes([await on.admin.patch(path, { kind: 'anthropic' })])).toEqual([[422, 'immutable_field']]);
    expect((await on.admin.patch(path, { kind: 'openai' })).status).toBe(200);
  });

  it('merge patches of headers and metadata', async () => {
    const path = pathOf(await on.provide({ headers: { 'X-A': '1', 'X-B': '2' }, metadata: { a: 1 } }));
    const patched = await on.admin.patch(path, { headers: { 'X-A': null, 'X-C': '3' }, metadata: { b: 2 } });
    expect(patched.body).toMatchObject({ headers: { 'X-B': '2', 'X-C': '3' }, metadata: { a: 1, b: 2 } });
    expect((await on.admin.patch(path, { headers: null })).body.headers).toEqual({});
  });

  it('store their key encrypted, so that it appears in no response, log or table', async () => {
    const made = await on.provide({ api_key: SECRET });
    expect(made.body.has_api_key).toBe(true);
    const id = made.body.provider_id as string;
    const path = pathOf(made);
    const answers = [
      made,
      await on.admin.get(path),
      await on.admin.patch(path, { api_key: `${SECRET}-other` }),
      await on.provide({ api_key: `${SECRET} x` }),
      await on.provide({ api_key: [SECRET] }),
      await on.admin.get(`${PROVIDERS}?limit=500`),
      await on.admin.get('/registry/v1/audit-log?limit=500'),
    ];
    expect(await called(id)).toEqual({ key: `${SECRET}-other`, base: 'https://api.openai.com/v1' });
    for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(SECRET);
    expect((await on.entriesOf(id))[0].changes).toEqual([{ member: 'api_key' }]);
    for (const table of ['model_providers', 'audit_log', 'idempotency_keys']) {
      const statement = `SELECT 1 FROM ${table} t WHERE t::text LIKE $1`;
      expect([table, await app.database.query(statement, [`%${SECRET}%`])]).toEqual([table, []]);
    }
  });

  it('never send a key to a new origin', async () => {
    const made = await on.provide({ api_key: 'first' });
    const [path, id] = [pathOf(made), made.body.provider_id as string];
    const base_url = 'https://evil.example.com/v1';
    const refused = await on.admin.patch(path, { base_url });
    expect([refused.status, pointersIn(refused)]).toEqual([400, ['/api_key']]);
    expect((await on.admin.patch(path, { base_url: 'https://api.openai.com/v2' })).status).toBe(200);
    expect((await on.admin.patch(path, { base_url, api_key: 'second' })).status).toBe(200);
    expect(await called(id)).toEqual({ key: 'second', base: base_url });
    const without = { base_url: 'https://api.openai.com', api_key: null };
    expect((await on.admin.patch(path, without)).body).toMatchObject({ has_api_key: false });
    expect((await on.admin.patch(path, { base_url })).status).toBe(200);
    expect(await called(id)).toEqual({ key: null, base: base_url });
  });

  it('keep their ETag if the same key is sent again', async () => {
    const path = pathOf(await on.provide({ api_key: 'same' }));
    const again = await on.admin.patch(path, { api_key: 'same' });
    expect([again.status, again.headers.get('etag')]).toEqual([200, '"1"']);
  });

  it('lose their key when they are archived', async () => {
    const path = pathOf(await on.provide({ api_key: 'key' }));
    expect((await on.admin.post(`${path}/archive`)).body).toMatchObject({ has_api_key: false });
    expect((await on.admin.post(`${path}/restore`)).body).toMatchObject({ has_api_key: false });
  });

  it('are filtered', async () => {
    const workspace_id = await on.org.newWorkspace();
    const one = await on.provider({ workspace_id, name: 'claude', kind: 'anthropic' });
    const other = await on.provider({ workspace_id, name: 'local', base_url: 'https://falcon.example.com' });
    const matches = async (query: string): Promise<string[]> => {
      const { body } = await on.viewer.get(`${PROVIDERS}?workspace_id=${workspace_id}&${query}`);
      return body.items.map(({ provider_id }: any) => provider_id as string);
    };
    expect(await matches('sort=name')).toEqual([one, other]);
    expect(await matches('name=claude')).toEqual([one]);
    expect(await matches('kind=openai')).toEqual([other]);
    expect(await matches('q=falc')).toEqual([other]);
    expect(await matches('name=claud')).toEqual([]);
  });

  it('are changed only by admins, and visible to callers who may read', async () => {
    const made = await on.provide();
    const path = pathOf(made);
    const stranger = await (await newOrganization(app)).member('owner');
    const elsewhere = await on.memberOf(await on.org.newWorkspace(), 'admin');
    const refused = [
      ...(await Promise.all([on.editor, on.viewer, on.runtime].map((by) => on.provide({}, by)))),
      await on.editor.patch(path, { description: 'x' }),
      await on.runtime.post(`${path}/archive`),
    ];
    expect(outcomes(refused)).toEqual(refused.map(() => [403, 'access_denied']));
    const hidden = await Promise.all(
      [stranger, elsewhere].flatMap((by) => [by.get(path), by.patch(path, { description: 'x' })]),
    );
    expect(outcomes(hidden)).toEqual(hidden.map(() => [404, 'not_found']));
    for (const by of [stranger, elsewhere]) expect((await by.get(PROVIDERS)).body.items).toEqual([]);
    const outside = await on.provide({ name: made.body.name }, elsewhere);
    expect([outside.status, pointersIn(outside)]).toEqual([400, ['/workspace_id']]);
  });
});
