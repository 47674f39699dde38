import OpenAI from 'openai';
import { sharedApp, newOrganization } from '#testing';
import { created, GatewayFixture, MODELS, outcomes, pathOf, pointersIn, PROVIDERS } from './gateway.fixture';

/** The other members of a target by default. */
const DEFAULTS = { weight: 1, price: null, max_input_tokens: null, max_output_tokens: null };
const ACTIVE = { state: 'active', last_error_at: null };
const PRICE = { input_usd_per_million: 2.5, output_usd_per_million: 10 };

describe('models', () => {
  const app = sharedApp();
  let on: GatewayFixture;
  let provider_id: string;

  beforeAll(async () => {
    on = await GatewayFixture.create(app);
    provider_id = await on.provider({ kind: 'anthropic' });
  });

  const target = (more: object = {}) => ({ provider_id, upstream_model: 'claude-sonnet-4-5', ...more });

  it('are created with 201, a Location, an ETag and defaults', async () => {
    const made = await on.model({ name: 'team/assistant:v1@eu+x', targets: [target()] });
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`${MODELS}/${made.body.model_id}`);
    expect(made.headers.get('etag')).toBe('"1"');
    expect(made.body).toEqual({
      model_id: expect.stringMatching(/^model_[0-9a-z]{26}$/) as string,
      org_id: on.org.orgId,
      workspace_id: on.org.workspaceId,
      name: 'team/assistant:v1@eu+x',
      description: null,
      strategy: 'single',
      targets: [{ ...target(), ...DEFAULTS, ...ACTIVE }],
      retries: 2,
      timeout_ms: 60_000,
      cooldown_s: 30,
      monthly_budget_usd: null,
      cache_ttl_seconds: null,
      capture_content: false,
      record_spans: true,
      metadata: {},
      id: 'team/assistant:v1@eu+x',
      object: 'model',
      created: Math.floor(Date.parse(made.body.created_at as string) / 1000),
      owned_by: 'anthropic',
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

  it('keep members as sent, and treat null as the default', async () => {
    const members = {
      description: 'For the shop',
      strategy: 'weighted',
      retries: 0,
      timeout_ms: 600_000,
      cooldown_s: 0,
      monthly_budget_usd: 0.5,
      cache_ttl_seconds: 2_592_000,
      capture_content: true,
      record_spans: false,
      metadata: { team: 'shop' },
    };
    const targets = [
      target({
        ...{ weight: 1_000, price: { ...PRICE, cached_input_usd_per_million: 0 } },
        ...{ max_input_tokens: 200_000, max_output_tokens: 64_000 },
      }),
      target(DEFAULTS),
    ];
    const made = await on.model({ ...members, targets });
    expect(made.body).toMatchObject({ ...members, targets });
    const nulls = Object.fromEntries(Object.keys(members).map((member) => [member, null]));
    const price = { ...PRICE, cached_input_usd_per_million: null };
    const defaults = await on.model({ ...nulls, targets: [target({ weight: null, price }), target()] });
    expect(defaults.body).toMatchObject({ strategy: 'fallback', retries: 2, cooldown_s: 30 });
    expect(defaults.body.targets[0]).toEqual({ ...target(), ...DEFAULTS, price: PRICE, ...ACTIVE });
  });

  it.each<[Record<string, unknown>, string]>([
    [{ name: '' }, '/name'],
    [{ name: 'two words' }, '/name'],
    [{ name: 'model_1' }, '/name'],
    [{ name: 'x'.repeat(256) }, '/name'],
    [{ targets: [] }, '/targets'],
    [{ targets: Array.from({ length: 11 }, () => ({ upstream_model: 'm' })) }, '/targets'],
    [{ retries: 6 }, '/retries'],
    [{ retries: 0.5 }, '/retries'],
    [{ timeout_ms: 99 }, '/timeout_ms'],
    [{ cooldown_s: -1 }, '/cooldown_s'],
    [{ cooldown_s: 3_601 }, '/cooldown_s'],
    [{ monthly_budget_usd: 0 }, '/monthly_budget_usd'],
    [{ monthly_budget_usd: '5' }, '/monthly_budget_usd'],
    [{ cache_ttl_seconds: 0 }, '/cache_ttl_seconds'],
    [{ cache_ttl_seconds: 2_592_001 }, '/cache_ttl_seconds'],
    [{ capture_content: 'yes' }, '/capture_content'],
    [
      { workspace_id: 'wsp_unknown', targets: [{ provider_id: 'prov_x', upstream_model: 'm' }] },
      '/workspace_id',
    ],
  ])('are refused with %j', async (body, pointer) => {
    const refused = await on.model({ targets: [target()], ...body });
    expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request']);
    expect(pointersIn(refused)).toContain(pointer);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ upstream_model: '' }, 'upstream_model'],
    [{ upstream_model: 'a b' }, 'upstream_model'],
    [{ weight: 0 }, 'weight'],
    [{ weight: 1_001 }, 'weight'],
    [{ price: { input_usd_per_million: 1 } }, 'price/output_usd_per_million'],
    [{ price: { ...PRICE, input_usd_per_million: -1 } }, 'price/input_usd_per_million'],
    [{ price: { ...PRICE, per_call: 1 } }, 'price/per_call'],
    [{ provider_id: 'prov_unknown' }, 'provider_id'],
  ])('are refused with a target that has %j', async (more, member) => {
    const refused = await on.model({ targets: [target(more)] });
    expect([refused.status, pointersIn(refused)]).toEqual([400, [`/targets/0/${member}`]]);
  });

  it('can only have targets at live providers of their workspace', async () => {
    const archived = await on.provider();
    await on.admin.post(`${PROVIDERS}/${archived}/archive`);
    const elsewhere = await on.provider({ workspace_id: await on.org.newWorkspace() });
    const stranger = await (await GatewayFixture.create(app)).provider();
    for (const one of [archived, elsewhere, stranger]) {
      const targets = [target(), { provider_id: one, upstream_model: 'm' }];
      const refused = await on.model({ targets });
      expect([refused.status, pointersIn(refused)]).toEqual([400, ['/targets/1/provider_id']]);
      expect(refused.body.detail).toContain('must be a provider in the workspace, and must not be archived');
    }
  });

  it('keep a target whose provider is archived, but accept no new one', async () => {
    const archived = await on.provider();
    const targets = [{ provider_id: archived, upstream_model: 'm' }];
    const path = pathOf(await on.model({ targets }));
    await on.admin.post(`${PROVIDERS}/${archived}/archive`);
    const changed = [{ provider_id: archived, upstream_model: 'other' }];
    expect((await on.admin.patch(path, { targets: changed })).status).toBe(200);
    expect((await on.admin.patch(path, { targets: [target()] })).body.owned_by).toBe('anthropic');
    const back = await on.admin.patch(path, { targets });
    expect([back.status, pointersIn(back)]).toEqual([400, ['/targets/0/provider_id']]);
  });

  it('have one target with the strategy single, and cannot have an unknown strategy', async () => {
    const two = [target(), target({ upstream_model: 'other' })];
    const path = pathOf(await on.model({ targets: [target()] }));
    const refused = [
      await on.model({ strategy: 'single', targets: two }),
      await on.admin.patch(path, { targets: two }),
    ];
    for (const one of refused) expect([one.status, pointersIn(one)]).toEqual([400, ['/targets']]);
    expect((await on.admin.patch(path, { targets: two, strategy: 'weighted' })).status).toBe(200);
    const single = await on.admin.patch(path, { strategy: 'single' });
    expect([single.status, pointersIn(single)]).toEqual([400, ['/targets']]);
    const unknown = [
      await on.model({ strategy: 'random' }),
      await on.admin.patch(path, { strategy: 'random' }),
    ];
    expect(outcomes(unknown)).toEqual(unknown.map(() => [422, 'validation_failed']));
  });

  it('are audited with the members that affect calls', async () => {
    const before = [{ ...target(), ...DEFAULTS }];
    const { body } = created(await on.model({ targets: before }));
    const other = [{ provider_id: await on.provider(), upstream_model: 'm', ...DEFAULTS }];
    await on.admin.patch(`${MODELS}/${body.model_id}`, { targets: other, description: 'x' });
    const [update, create] = await on.entriesOf(body.model_id as string);
    expect(update.changes).toEqual([{ member: 'description' }, { member: 'targets', before, after: other }]);
    expect(create.changes.map(({ member }: any) => member as string)).toContain('name');
  });

  it('are filtered', async () => {
    const workspace_id = await on.org.newWorkspace();
    const provider = await on.provider({ workspace_id });
    const at = (upstream_model: string) => ({ provider_id: provider, upstream_model });
    const one = created(await on.model({ workspace_id, name: 'b', targets: [at('m')] })).body.model_id;
    const two = { workspace_id, name: 'a', description: 'for routing', targets: [at('m'), at('n')] };
    const other = created(await on.model(two)).body.model_id;
    const away = created(await on.model({ workspace_id, name: 'c' })).body.model_id;
    const matches = async (query: string): Promise<string[]> => {
      const { body } = await on.viewer.get(`${MODELS}?workspace_id=${workspace_id}&${query}`);
      return body.items.map(({ model_id }: any) => model_id as string);
    };
    expect(await matches('sort=name')).toEqual([other, one, away]);
    expect(await matches('name=a')).toEqual([other]);
    expect(await matches('strategy=fallback')).toEqual([other]);
    expect(await matches(`provider_id=${provider}&sort=name`)).toEqual([other, one]);
    expect(await matches('q=rout')).toEqual([other]);
    expect((await on.viewer.get(`${MODELS}?strategy=random`)).status).toBe(422);
  });

  it('can be read by an unambiguous name', async () => {
    const made = created(await on.model({ name: 'org/unique:1' }));
    const byName = await on.viewer.get(`${MODELS}/${encodeURIComponent('org/unique:1')}`);
    expect([byName.status, byName.headers.get('etag')]).toEqual([200, '"1"']);
    expect(byName.body).toEqual(made.body);
    const workspaceId = await on.org.newWorkspace();
    const other = created(await on.model({ name: 'org/unique:1', workspace_id: workspaceId }));
    const twice = await on.viewer.get(`${MODELS}/org%2Funique:1`);
    expect(outcomes([twice])).toEqual([[400, 'invalid_request']]);
    expect(twice.body.detail).toContain('model_id');
    const member = await on.memberOf(workspaceId, 'viewer');
    expect((await member.get(`${MODELS}/org%2Funique:1`)).body.model_id).toBe(other.body.model_id);
    await on.admin.post(`${pathOf(other)}/archive`);
    expect((await on.viewer.get(`${MODELS}/org%2Funique:1`)).body.model_id).toBe(made.body.model_id);
    expect((await member.get(`${MODELS}/org%2Funique:1`)).status).toBe(404);
  });

  it('are listed and read by OpenAI’s client', async () => {
    const gateway = await GatewayFixture.create(app);
    const { body: first } = created(await gateway.model({ name: 'shared' }));
    created(await gateway.model({ name: 'a/b' }));
    const elsewhere = await gateway.org.newWorkspace();
    created(await gateway.model({ name: 'shared', workspace_id: elsewhere }));
    const list = await gateway.viewer.get(`${MODELS}?sort=created_at`);
    expect(list.body).toMatchObject({ object: 'list', page: { total: 3 } });
    expect(list.body.data).toEqual([
      { id: 'shared', object: 'model', created: first.created as number, owned_by: 'openai' },
      expect.objectContaining({ id: 'a/b' }),
    ]);
    const { key } = created(await gateway.key({ models: ['shared', 'a/b'] })).body as { key: string };
    const client = new OpenAI({ apiKey: key, baseURL: `${app.url}/model/v1`, maxRetries: 0 });
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids.sort()).toEqual(['a/b', 'shared']);
    expect(await client.models.retrieve('a/b')).toMatchObject({ id: 'a/b', object: 'model' });
    await expect(client.models.retrieve('unknown')).rejects.toMatchObject({ status: 404 });
  });

  it('are changed only by admins, and visible to callers who may read', async () => {
    const made = await on.model();
    const path = pathOf(made);
    const stranger = await (await newOrganization(app)).member('owner');
    const elsewhere = await on.memberOf(await on.org.newWorkspace(), 'admin');
    const refused = [
      await on.model({ targets: [target()] }, on.editor),
      await on.model({ targets: [target()] }, on.runtime),
      await on.editor.patch(path, { description: 'x' }),
      await on.runtime.post(`${path}/archive`),
    ];
    expect(outcomes(refused)).toEqual(refused.map(() => [403, 'access_denied']));
    const name = `${MODELS}/${made.body.name}`;
    const hidden = await Promise.all(
      [stranger, elsewhere].flatMap((by) => [by.get(path), by.get(name), by.patch(path, {})]),
    );
    expect(outcomes(hidden)).toEqual(hidden.map(() => [404, 'not_found']));
    for (const by of [stranger, elsewhere]) {
      expect((await by.get(MODELS)).body).toMatchObject({ items: [], data: [] });
    }
  });
});
