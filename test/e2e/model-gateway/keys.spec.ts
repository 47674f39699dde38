import { sharedApp, newOrganization } from '#testing';
import { created, GatewayFixture, KEYS, MODELS, outcomes, pathOf, pointersIn } from './gateway.fixture';

const ACCOUNTS = '/registry/v1/service-accounts';

describe('gateway keys', () => {
  const app = sharedApp();
  let on: GatewayFixture;
  let model_id: string;

  beforeAll(async () => {
    on = await GatewayFixture.create(app);
    model_id = created(await on.model({ name: 'assistant' })).body.model_id as string;
  });

  const spend = (subject: string, usd: number, month: string): Promise<unknown> =>
    app.database.query('INSERT INTO model_spend VALUES ($1, $2, $3, $4)', [
      subject,
      `${month}-01`,
      usd,
      on.org.orgId,
    ]);

  const thisMonth = (): string => new Date().toISOString().slice(0, 7);

  it('are created with a service account, and shown once', async () => {
    const expires_at = '2126-01-01T00:00:00.000Z';
    const limits = { monthly_budget_usd: 5, requests_per_minute: 60, tokens_per_minute: 100_000 };
    const made = await on.key({ name: 'bot', models: ['assistant'], expires_at, ...limits });
    const { key, ...view } = made.body as { key: string };
    expect([made.status, made.headers.get('cache-control'), made.headers.get('etag')]).toEqual([
      201,
      'no-store',
      '"1"',
    ]);
    expect(view).toEqual({
      key_id: expect.stringMatching(/^key_/) as string,
      service_account_id: expect.stringMatching(/^sva_/) as string,
      org_id: on.org.orgId,
      workspace_id: on.org.workspaceId,
      name: 'bot',
      prefix: key.slice(0, 10),
      models: [{ model_id, name: 'assistant' }],
      ...limits,
      expires_at,
      revoked_at: null,
      generation: 1,
      created_at: expect.any(String) as string,
      updated_at: made.body.created_at as string,
      created_by: expect.any(String) as string,
      archived_at: null,
    });
    expect((await on.viewer.get(pathOf(made))).body).toEqual(view);
    expect((await on.admin.get(`${ACCOUNTS}/${made.body.service_account_id}`)).body).toMatchObject({
      name: 'gateway key: bot',
      roles: ['runtime'],
      workspace_ids: [on.org.workspaceId],
    });
    const { principal } = (await app.api(key).get('/registry/v1/me')).body as { principal?: unknown };
    expect(JSON.stringify(principal ?? '')).not.toContain(key);
    const answers = [
      await on.admin.get(`${KEYS}?limit=500`),
      await on.admin.get('/registry/v1/audit-log?limit=500'),
    ];
    for (const { body } of answers) expect(JSON.stringify(body)).not.toContain(key);
    const [entry] = await on.entriesOf(made.body.key_id as string);
    expect(entry).toBeDefined();
    for (const table of ['gateway_keys', 'api_keys', 'service_accounts', 'idempotency_keys']) {
      const statement = `SELECT 1 FROM ${table} t WHERE t::text LIKE $1`;
      expect([table, await app.database.query(statement, [`%${key}%`])]).toEqual([table, []]);
    }
  });

  it.each<[Record<string, unknown>, string]>([
    [{ models: ['unknown'] }, '/models/0'],
    [{ models: ['assistant', 'model_unknown'] }, '/models/1'],
    [{ models: [] }, '/models'],
    [{ models: [1] }, '/models'],
    [{ models: [{ name: 'assistant' }] }, '/models'],
    [{ monthly_budget_usd: 0 }, '/monthly_budget_usd'],
    [{ requests_per_minute: 0 }, '/requests_per_minute'],
    [{ tokens_per_minute: 1.5 }, '/tokens_per_minute'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
    [{ expires_at: 'tomorrow' }, '/expires_at'],
    [{ name: 'x'.repeat(243) }, '/name'],
    [{ workspace_id: 'wsp_unknown' }, '/workspace_id'],
  ])('are refused with %j', async (body, pointer) => {
    const refused = await on.key(body);
    expect([refused.status, refused.body.code, pointersIn(refused)]).toEqual([
      400,
      'invalid_request',
      [pointer],
    ]);
  });

  it('accept only models of their workspace', async () => {
    const elsewhere = created(await on.model({ workspace_id: await on.org.newWorkspace() })).body;
    const archived = await on.model();
    await on.admin.post(`${pathOf(archived)}/archive`);
    for (const { model_id, name } of [elsewhere, archived.body]) {
      const refused = await on.key({ models: [model_id, name] });
      expect([refused.status, pointersIn(refused)]).toEqual([400, ['/models/0', '/models/1']]);
    }
  });

  it('have names that are unique in the organization until they are revoked', async () => {
    const made = await on.key({ name: 'once' });
    const duplicate = await on.key({ name: 'once' });
    expect(outcomes([duplicate])).toEqual([[409, 'conflict']]);
    expect(duplicate.body.detail).toContain(made.body.service_account_id);
    await on.admin.post(`${pathOf(made)}/revoke`);
    expect((await on.key({ name: 'once' })).status).toBe(201);
  });

  it('are created once by concurrent clients', async () => {
    const answers = await Promise.all(Array.from({ length: 3 }, () => on.key({ name: 'raced' })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
  });

  it('see only their models', async () => {
    const gateway = await GatewayFixture.create(app);
    const ids = [];
    for (const name of ['a', 'b', 'c'])
      ids.push(created(await gateway.model({ name })).body.model_id as string);
    const made = await gateway.key({ models: ['a', ids[1]] });
    const bot = app.api(made.body.key as string);
    const listed = async (): Promise<string[]> =>
      (await bot.get(`${MODELS}?sort=name`)).body.data.map(({ id }: any) => id as string);
    expect(await listed()).toEqual(['a', 'b']);
    expect((await bot.get(MODELS)).body.page.total).toBe(2);
    const hidden = [await bot.get(`${MODELS}/c`), await bot.get(`${MODELS}/${ids[2]}`)];
    expect(outcomes(hidden)).toEqual(hidden.map(() => [404, 'not_found']));
    expect((await bot.get(`${MODELS}/${ids[0]}`)).status).toBe(200);
    await gateway.admin.patch(pathOf(made), { models: null });
    expect(await listed()).toEqual(['a', 'b', 'c']);
    const writes = [await bot.patch(`${MODELS}/${ids[0]}`, { retries: 0 }), await bot.get(KEYS)];
    expect(outcomes(writes)).toEqual(writes.map(() => [403, 'forbidden']));
  });

  it('change their name and limits, with audit entries and ETags', async () => {
    const made = await on.key({ models: ['assistant'] });
    const path = pathOf(made);
    const { body: view } = await on.admin.get(path);
    const same = await on.admin.patch(path, view);
    expect([same.status, same.headers.get('etag'), same.body]).toEqual([200, '"1"', view]);
    const name = on.newName();
    const changed = await on.admin.patch(path, { name, monthly_budget_usd: 7 }, { 'if-match': '"1"' });
    expect(changed).toMatchObject({ status: 200, body: { name, monthly_budget_usd: 7, generation: 2 } });
    const account = await on.admin.get(`${ACCOUNTS}/${made.body.service_account_id}`);
    expect(account.body.name).toBe(`gateway key: ${name}`);
    const [update] = await on.entriesOf(made.body.key_id as string);
    expect(update.changes).toEqual([
      { member: 'name', before: made.body.name as string, after: name },
      { member: 'monthly_budget_usd', before: null, after: 7 },
    ]);
    const refused = [
      await on.admin.patch(path, { name }, { 'if-match': '"1"' }),
      await on.admin.patch(path, { expires_at: '2126-01-01T00:00:00Z' }),
      await on.admin.patch(path, { key_id: 'key_other' }),
      await on.admin.patch(path, { service_account_id: 'sva_other' }),
      await on.admin.patch(path, { workspace_id: 'wsp_other' }),
      await on.admin.patch(path, { models: ['unknown'] }),
    ];
    expect(outcomes(refused)).toEqual([
      [412, 'precondition_failed'],
      [422, 'immutable_field'],
      [422, 'immutable_field'],
      [422, 'immutable_field'],
      [422, 'validation_failed'],
      [400, 'invalid_request'],
    ]);
  });

  it('keep an archived model', async () => {
    const model = await on.model();
    const path = pathOf(await on.key({ models: [model.body.model_id] }));
    await on.admin.post(`${pathOf(model)}/archive`);
    const { body } = await on.admin.get(path);
    expect(body.models).toEqual([
      { model_id: model.body.model_id as string, name: model.body.name as string },
    ]);
    expect((await on.admin.patch(path, { models: body.models })).headers.get('etag')).toBe('"1"');
  });

  it('stop working once they are revoked', async () => {
    const made = await on.key();
    const path = pathOf(made);
    const bot = app.api(made.body.key as string);
    expect((await bot.get(MODELS)).status).toBe(200);
    const revoked = await on.admin.post(`${path}/revoke`);
    expect(revoked).toMatchObject({ status: 200, body: { revoked_at: expect.any(String) as string } });
    expect((await bot.get(MODELS)).status).toBe(401);
    expect((await on.admin.post(`${path}/revoke`)).body).toEqual(revoked.body);
    expect((await on.admin.patch(path, { name: 'x' })).status).toBe(409);
    const account = await on.admin.get(`${ACCOUNTS}/${made.body.service_account_id}`);
    expect(account.body.archived_at).not.toBeNull();
    const actions = (await on.entriesOf(made.body.key_id as string)).map(
      ({ resource_type, action }: any) => `${resource_type} ${action}`,
    );
    expect(actions.sort()).toEqual([
      'api_key create',
      'api_key revoke',
      'gateway_key create',
      'gateway_key revoke',
    ]);
  });

  it('show that their API key was revoked directly', async () => {
    const made = await on.key();
    const { service_account_id, key_id } = made.body as Record<string, string>;
    const etag = made.headers.get('etag')!;
    await on.admin.post(`${ACCOUNTS}/${service_account_id}/keys/${key_id}/revoke`);
    const read = await on.admin.get(pathOf(made), { 'if-none-match': etag });
    expect([read.status, typeof read.body.revoked_at]).toEqual([200, 'string']);
  });

  it('can read the amount they have spent', async () => {
    const made = await on.key({ monthly_budget_usd: 5 });
    const account = made.body.service_account_id as string;
    const bot = app.api(made.body.key as string);
    const { key: _, ...view } = made.body;
    const current = { ...view, month: thisMonth() };
    expect((await bot.get(`${KEYS}/current`)).body).toEqual({ ...current, spent_usd: 0, remaining_usd: 5 });
    await spend(account, 3.5, thisMonth());
    await spend(account, 100, '2020-01');
    expect((await bot.get(`${KEYS}/current`)).body).toEqual({
      ...current,
      spent_usd: 3.5,
      remaining_usd: 1.5,
    });
    await on.admin.patch(pathOf(made), { monthly_budget_usd: 2 });
    expect((await bot.get(`${KEYS}/current`)).body.remaining_usd).toBe(0);
    await on.admin.patch(pathOf(made), { monthly_budget_usd: null });
    expect((await bot.get(`${KEYS}/current`)).body.remaining_usd).toBeNull();
    const others = await Promise.all([on.admin, on.runtime].map((by) => by.get(`${KEYS}/current`)));
    expect(outcomes(others)).toEqual(others.map(() => [404, 'not_found']));
  });

  it('are created and revoked by admins of their workspace', async () => {
    const workspace_id = await on.org.newWorkspace();
    const admin = await on.memberOf(workspace_id, 'admin');
    const made = await on.key({ workspace_id }, admin);
    expect(made.status).toBe(201);
    expect((await admin.patch(pathOf(made), { name: on.newName() })).status).toBe(200);
    const listed = await admin.get(`${KEYS}?name=${made.body.name}`);
    expect(listed.body.items).toEqual([]);
    expect((await admin.get(KEYS)).body.page.total).toBe(1);
    expect((await on.viewer.get(`${KEYS}?workspace_id=${workspace_id}`)).body.page.total).toBe(1);
    expect((await admin.post(`${pathOf(made)}/revoke`)).status).toBe(200);
    await on.admin.post(`/registry/v1/workspaces/${workspace_id}/archive`);
    expect(outcomes([await on.key({ workspace_id })])).toEqual([[409, 'conflict']]);
  });

  it('are not revoked by admins of another workspace that their account has access to', async () => {
    const made = await on.key();
    const elsewhere = await on.org.newWorkspace();
    const admin = await on.memberOf(elsewhere, 'admin');
    const owner = await on.org.member('owner');
    const { workspaceId } = on.org;
    const { principal_id } = (await admin.get('/registry/v1/me')).body.principal;
    created(
      await owner.put(`/registry/v1/workspaces/${workspaceId}/members/${principal_id}`, {
        roles: ['viewer'],
      }),
    );
    const account = `${ACCOUNTS}/${made.body.service_account_id}`;
    expect((await owner.patch(account, { workspace_ids: [elsewhere] })).status).toBe(200);
    expect(outcomes([await admin.post(`${pathOf(made)}/revoke`)])).toEqual([[403, 'access_denied']]);
    expect((await admin.get(pathOf(made))).body.revoked_at).toBeNull();
  });

  it('are hidden from others', async () => {
    const path = pathOf(await on.key());
    const stranger = await (await newOrganization(app)).member('owner');
    const elsewhere = await on.memberOf(await on.org.newWorkspace(), 'admin');
    const hidden = await Promise.all(
      [stranger, elsewhere].flatMap((by) => [by.get(path), by.patch(path, {}), by.post(`${path}/revoke`)]),
    );
    expect(outcomes(hidden)).toEqual(hidden.map(() => [404, 'not_found']));
    const refused = [
      await on.key({}, on.editor),
      await on.editor.patch(path, {}),
      await on.editor.post(`${path}/revoke`),
      await on.runtime.get(path),
    ];
    expect(outcomes(refused)).toEqual(refused.map(() => [403, 'access_denied']));
  });
});
