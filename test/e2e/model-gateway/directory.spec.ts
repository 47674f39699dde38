import { sharedApp } from '#testing';
import { BudgetRepository, KeyLimitsRepository, ModelDirectory } from '../../../src/model-gateway';
import { created, GatewayFixture, KEYS, MODELS, PROVIDERS } from './gateway.fixture';

describe('the directories of the model gateway', () => {
  const app = sharedApp();
  let on: GatewayFixture;

  beforeAll(async () => {
    on = await GatewayFixture.create(app);
  });

  it('return models by name and id, with their providers', async () => {
    const models = app.get(ModelDirectory);
    const { orgId, workspaceId } = on.org;
    const provider_id = await on.provider({ name: 'p', api_key: 'key', headers: { 'X-Zone': 'eu' } });
    const targets = [{ provider_id, upstream_model: 'm', weight: 3, price: null }];
    const { body } = created(await on.model({ name: 'called', targets }));
    const [model, ...others] = await models.find(orgId, 'called');
    expect(others).toEqual([]);
    expect(model).toMatchObject({
      model_id: body.model_id as string,
      workspace_id: workspaceId,
      is_workspace_archived: false,
      retries: 2,
      monthly_budget_usd: null,
      targets: [
        {
          upstream_model: 'm',
          weight: 3,
          price: null,
          provider: {
            provider_id,
            name: 'p',
            kind: 'openai',
            base: new URL('https://api.openai.com/v1'),
            headers: { 'x-zone': 'eu' },
            is_archived: false,
          },
        },
      ],
    });
    expect(model!.targets[0]!.provider.apiKey()).toBe('key');
    expect(models.getCached(orgId, 'called')).toHaveLength(1);
    expect(await models.find(orgId, body.model_id as string)).toMatchObject([{ model_id: model!.model_id }]);
    expect(await models.find(orgId, 'unknown')).toEqual([]);
    expect(models.getCached(orgId, 'unknown')).toBeUndefined();
    expect(await models.find((await GatewayFixture.create(app)).org.orgId, body.model_id as string)).toEqual(
      [],
    );
  });

  it('see a change of a model or a provider at once', async () => {
    const models = app.get(ModelDirectory);
    const provider_id = await on.provider();
    const targets = [{ provider_id, upstream_model: 'm' }];
    const { body } = created(await on.model({ name: 'watched', targets }));
    const matches = () => models.find(on.org.orgId, 'watched');
    await matches();
    await on.admin.patch(`${MODELS}/${body.model_id}`, { retries: 5 });
    expect((await matches())[0]!.retries).toBe(5);
    await on.admin.patch(`${PROVIDERS}/${provider_id}`, { base_url: 'https://llm.example.com' });
    expect((await matches())[0]!.targets[0]!.provider.base.href).toBe('https://llm.example.com/v1');
    await on.admin.post(`${PROVIDERS}/${provider_id}/archive`);
    const { provider } = (await matches())[0]!.targets[0]!;
    expect([provider.is_archived, provider.apiKey()]).toEqual([true, null]);
    created(await on.model({ name: 'watched', workspace_id: await on.org.newWorkspace() }));
    expect(await matches()).toHaveLength(2);
    await on.admin.post(`${MODELS}/${body.model_id}/archive`);
    expect(await matches()).toHaveLength(1);
  });

  it('return the limits of keys, and see changes at once', async () => {
    const keys = app.get(KeyLimitsRepository);
    const { body } = created(await on.key({ requests_per_minute: 60 }));
    const account = body.service_account_id as string;
    expect(await keys.find(account)).toEqual({
      service_account_id: account,
      workspace_id: on.org.workspaceId,
      monthly_budget_usd: null,
      requests_per_minute: 60,
      tokens_per_minute: null,
    });
    await on.admin.patch(`${KEYS}/${body.key_id}`, { monthly_budget_usd: 2 });
    expect(await keys.find(account)).toMatchObject({ monthly_budget_usd: 2 });
    expect(await keys.find('sva_other')).toBeNull();
    // cached limits, and that there are none, are returned synchronously
    expect([keys.find('sva_other'), keys.find('sva_another')]).toEqual([null, expect.any(Promise)]);
  });

  it('return the budgets of workspaces, and see changes at once', async () => {
    const budgets = app.get(BudgetRepository);
    const { workspaceId } = on.org;
    const path = `/model/v1/budgets/${workspaceId}`;
    expect(await budgets.amountOf(workspaceId)).toBeNull();
    expect(budgets.amountOf(workspaceId)).toBeNull();
    await on.admin.put(path, { monthly_budget_usd: 12.5 });
    expect(await budgets.amountOf(workspaceId)).toBe(12.5);
    await on.admin.put(path, { monthly_budget_usd: null });
    expect(await budgets.amountOf(workspaceId)).toBeNull();
  });
});
