import { sharedApp, newOrganization } from '#testing';
import { created, GatewayFixture, outcomes } from './gateway.fixture';

const USAGE = '/model/v1/usage';

/** A row of `model_usage`. */
interface Used {
  workspace_id: string;
  day: string;
  model_id: string;
  principal_id: string;
  provider_id: string;
  upstream_model: string;
  counts: number[];
  cost_usd: number;
}

describe('model usage', () => {
  const app = sharedApp();
  let on: GatewayFixture;
  let workspace: string;
  let other: string;
  let model_id: string;

  beforeAll(async () => {
    on = await GatewayFixture.create(app);
    workspace = on.org.workspaceId;
    other = await on.org.newWorkspace();
    model_id = created(await on.model({ name: 'assistant' })).body.model_id as string;
    await use({ day: '2026-01-30', cost_usd: 1, counts: [1, 0, 0, 0, 10, 20, 5, 1] });
    await use({ day: '2026-01-31', cost_usd: 2, counts: [4, 1, 0, 1, 9_007_199_254, 20, 0, 0] });
    await use({ day: '2026-02-01', model_id: 'model_gone', cost_usd: 8, principal_id: 'grace' });
    await use({ day: '2026-02-01', workspace_id: other, cost_usd: 4, upstream_model: 'other' });
    const cached = { provider_id: '', upstream_model: '', cost_usd: 0, counts: [2, 0, 2, 0, 0, 0, 0, 0] };
    await use({ day: '2026-02-01', ...cached });
  });

  const use = (changes: Partial<Used>): Promise<unknown> => {
    const used: Used = {
      workspace_id: workspace,
      day: '2026-02-01',
      model_id,
      principal_id: 'ada',
      provider_id: 'prov_1',
      upstream_model: 'gpt-4o',
      counts: [1, 0, 0, 0, 10, 20, 0, 0],
      cost_usd: 0,
      ...changes,
    };
    const { counts, cost_usd, ...key } = used;
    return app.database.query(
      `INSERT INTO model_usage (workspace_id, day, model_id, principal_id, provider_id, upstream_model, org_id,
         call_count, failed_count, cached_count, unpriced_count, input_tokens, output_tokens, cached_input_tokens,
         cache_write_tokens, cost_usd, attempts, failed_attempts, estimated_count, estimated_usd)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16::float8, 1, 0, 1, $16::float8 / 4)`,
      [
        ...[key.workspace_id, key.day, key.model_id, key.principal_id, key.provider_id, key.upstream_model],
        ...[on.org.orgId, ...counts, cost_usd],
      ],
    );
  };

  const RANGE = 'since=2026-01-01&until=2026-03-01';
  const read = (query: string, by = on.viewer) => by.get(`${USAGE}?${query}`);

  it('is summed up by model, the most expensive first', async () => {
    const { status, body } = await read(RANGE);
    expect(status).toBe(200);
    expect(body).toEqual({
      items: [
        {
          ...{ model_id: 'model_gone', model: null },
          ...{ call_count: 1, failed_count: 0, cached_count: 0, unpriced_count: 0 },
          ...{ attempts: 1, failed_attempts: 0, estimated_count: 1 },
          ...{ input_tokens: 10, output_tokens: 20, cached_input_tokens: 0, cache_write_tokens: 0 },
          ...{ cost_usd: 8, estimated_usd: 2 },
        },
        {
          ...{ model_id, model: 'assistant' },
          ...{ call_count: 8, failed_count: 1, cached_count: 2, unpriced_count: 1 },
          ...{ attempts: 4, failed_attempts: 0, estimated_count: 4 },
          ...{
            input_tokens: 9_007_199_274,
            output_tokens: 60,
            cached_input_tokens: 5,
            cache_write_tokens: 1,
          },
          ...{ cost_usd: 7, estimated_usd: 1.75 },
        },
      ],
      total: {
        ...{ call_count: 9, failed_count: 1, cached_count: 2, unpriced_count: 1 },
        ...{ attempts: 5, failed_attempts: 0, estimated_count: 5 },
        ...{ input_tokens: 9_007_199_284, output_tokens: 80, cached_input_tokens: 5, cache_write_tokens: 1 },
        ...{ cost_usd: 15, estimated_usd: 3.75 },
      },
      page: { limit: 50, offset: 0, total: 2, next_cursor: null },
    });
  });

  it('is grouped by day first, in chronological order', async () => {
    const { body } = await read(`${RANGE}&group_by=workspace,day`);
    expect(
      body.items.map(({ day, workspace_id, cost_usd }: any) => [day, workspace_id, cost_usd] as unknown),
    ).toEqual([
      ['2026-01-30', workspace, 1],
      ['2026-01-31', workspace, 2],
      ['2026-02-01', workspace, 8],
      ['2026-02-01', other, 4],
    ]);
    expect(body.items[0]).not.toHaveProperty('model_id');
    expect(body.items[0]).not.toHaveProperty('principal_id');
  });

  it('is grouped by provider and principal, without a provider for cached responses', async () => {
    const { body } = await read(`${RANGE}&group_by=provider,%20principal`);
    expect(
      body.items.map(
        ({ provider_id, upstream_model, principal_id }: any) =>
          [provider_id, upstream_model, principal_id] as unknown,
      ),
    ).toEqual([
      ['prov_1', 'gpt-4o', 'grace'],
      ['prov_1', 'other', 'ada'],
      ['prov_1', 'gpt-4o', 'ada'],
      [null, null, 'ada'],
    ]);
  });

  it('is filtered and paged, with the totals of all pages', async () => {
    const costs = async (query: string): Promise<unknown[]> => {
      const { body } = await read(`${RANGE}&group_by=day,model&${query}`);
      return [
        body.items.map(({ cost_usd }: any) => cost_usd as number),
        body.total.cost_usd,
        body.page.total,
      ];
    };
    expect(await costs(`workspace_id=${other}`)).toEqual([[4], 4, 1]);
    expect(await costs('model_id=model_gone')).toEqual([[8], 8, 1]);
    expect(await costs('principal_id=ada&limit=1&offset=1')).toEqual([[2], 7, 3]);
    expect(await costs('limit=0')).toEqual([[], 15, 4]);
    expect(await costs('offset=10')).toEqual([[], 15, 4]);
    expect(await costs('principal_id=nobody')).toEqual([[], 0, 0]);
  });

  it('is paged by cursor, with the totals on each page', async () => {
    const query = `${RANGE}&group_by=day,principal,provider`;
    const whole = (await read(query)).body;
    const items: unknown[] = [];
    let cursor: string | null = '';
    for (let pages = 0; cursor !== null; pages++) {
      expect(pages).toBeLessThan(10);
      const { body } = await read(`${query}&limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
      expect(body.total).toEqual(whole.total);
      items.push(...body.items);
      cursor = body.page.next_cursor as string | null;
    }
    expect(items).toEqual(whole.items);
  });

  it('names principals', async () => {
    const { body: key } = created(await on.key({ name: 'the gateway of support' }));
    const id = key.service_account_id as string;
    await use({ day: '2026-04-02', principal_id: id, cost_usd: 2 });
    await use({ day: '2026-04-02', principal_id: 'ada', cost_usd: 1 });
    const { body } = await read('since=2026-04-01&until=2026-05-01&group_by=principal');
    expect(
      body.items.map(({ principal_id, principal }: any) => [principal_id, principal] as unknown),
    ).toEqual([
      [id, 'gateway key: the gateway of support'],
      ['ada', null],
    ]);
  });

  it.each([
    ['since=2026-01-31&until=2026-02-01', 2],
    ['since=2026-01-31T23:59:59Z&until=2026-02-01T00:00:00Z', 2],
    ['since=2026-01-31&until=2026-02-01T00:00:01Z', 14],
    ['since=2026-02-01T00:30:00%2B01:00&until=2026-02-01', 2],
    ['since=2026-02-01&until=2026-02-01', 0],
    ['', 0],
  ])('is limited to the range %j, which costs %d', async (query, cost) => {
    expect((await read(query)).body.total.cost_usd).toBe(cost);
  });

  it('defaults to the current month', async () => {
    const gateway = await GatewayFixture.create(app);
    const day = new Date().toISOString().slice(0, 10);
    await app.database.query(
      `INSERT INTO model_usage VALUES ($1, $2, 'm', 'ada', '', '', $3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.25, 0)`,
      [gateway.org.workspaceId, day, gateway.org.orgId],
    );
    expect((await gateway.viewer.get(USAGE)).body.total).toMatchObject({ call_count: 1, cost_usd: 0.25 });
  });

  it.each([
    ['group_by=colour', 'group_by'],
    ['group_by=', 'group_by'],
    ['group_by=day,', 'group_by'],
    ['since=yesterday', 'since'],
    ['since=2026-02-30', 'since'],
    ['since=2026-02-01&until=2026-01-01', 'until'],
    ['limit=501', 'limit'],
    ['cursor=x', 'cursor'],
  ])('rejects the query %s', async (query, parameter) => {
    const { status, body } = await read(query);
    expect([status, body.code, body.errors[0].parameter]).toEqual([400, 'invalid_query', parameter]);
  });

  it('is visible to viewers of its workspace, and to the role runtime if it is the caller’s own', async () => {
    const { body: key } = created(await on.key());
    await use({ day: '2026-02-02', principal_id: key.service_account_id as string, cost_usd: 0.5 });
    const cost = async (by: typeof on.viewer, query = RANGE): Promise<number> =>
      (await read(query, by)).body.total.cost_usd as number;
    expect(await cost(app.api(key.key as string))).toBe(0.5);
    expect(await cost(app.api(key.key as string), `${RANGE}&principal_id=ada`)).toBe(0);
    expect(await cost(on.runtime)).toBe(0);
    expect(await cost(await on.memberOf(other, 'viewer'))).toBe(4);
    expect(await cost(await on.memberOf(other, 'viewer'), `${RANGE}&workspace_id=${workspace}`)).toBe(0);
    expect(await cost(await (await newOrganization(app)).member('owner'))).toBe(0);
  });
});

describe('budgets of workspaces', () => {
  const app = sharedApp();
  let on: GatewayFixture;
  let path: string;

  beforeAll(async () => {
    on = await GatewayFixture.create(app);
    path = `/model/v1/budgets/${on.org.workspaceId}`;
  });

  it('are set, changed and removed by admins, with audit entries', async () => {
    const month = new Date().toISOString().slice(0, 7);
    const none = { workspace_id: on.org.workspaceId, monthly_budget_usd: null, month };
    const unlimited = { ...none, spent_usd: 0, remaining_usd: null };
    expect(await on.viewer.get(path)).toMatchObject({ status: 200, body: unlimited });
    await app.database.query('INSERT INTO model_spend VALUES ($1, $2, 1.5, $3)', [
      on.org.workspaceId,
      `${month}-01`,
      on.org.orgId,
    ]);
    const budget = { monthly_budget_usd: 10, spent_usd: 1.5, remaining_usd: 8.5 };
    expect(await on.admin.put(path, { monthly_budget_usd: 10 })).toMatchObject({ status: 200, body: budget });
    expect((await on.admin.put(path, { monthly_budget_usd: 10 })).body).toMatchObject(budget);
    expect((await on.admin.put(path, { monthly_budget_usd: 1 })).body.remaining_usd).toBe(0);
    expect((await on.admin.put(path, { monthly_budget_usd: null })).body.remaining_usd).toBeNull();
    const entries = (await on.entriesOf(on.org.workspaceId)).filter(
      ({ resource_type }: any) => resource_type === 'model_budget',
    );
    expect(entries.map(({ changes }: any) => [changes[0].before, changes[0].after] as unknown)).toEqual([
      [1, null],
      [10, 1],
      [null, 10],
    ]);
  });

  it.each([[{}], [{ monthly_budget_usd: 0 }], [{ monthly_budget_usd: -1 }], [{ monthly_budget_usd: '1' }]])(
    'cannot be %j',
    async (body) => {
      expect(outcomes([await on.admin.put(path, body)])).toEqual([[400, 'invalid_request']]);
    },
  );

  it('are hidden from others, and changed only by admins of live workspaces', async () => {
    const body = { monthly_budget_usd: 1 };
    const stranger = await (await newOrganization(app)).member('owner');
    const hidden = [
      await stranger.get(path),
      await stranger.put(path, body),
      await on.admin.get('/model/v1/budgets/wsp_unknown'),
      await on.admin.put('/model/v1/budgets/wsp_unknown', body),
    ];
    expect(outcomes(hidden)).toEqual(hidden.map(() => [404, 'not_found']));
    const refused = [await on.editor.put(path, body), await on.runtime.get(path)];
    expect(outcomes(refused)).toEqual(refused.map(() => [403, 'access_denied']));
    const archived = await on.org.newWorkspace();
    await on.admin.post(`/registry/v1/workspaces/${archived}/archive`);
    expect(outcomes([await on.admin.put(`/model/v1/budgets/${archived}`, body)])).toEqual([
      [409, 'conflict'],
    ]);
  });
});
