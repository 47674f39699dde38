import {
  type Answer,
  type ApiClient,
  jsonExport,
  newOrganization,
  newSpan,
  newSpanId,
  newTraceId,
  sharedApp,
  type TestOrganization,
} from '#testing';
import { Upstream } from '../api-proxy/upstream.fixture';
import { FakeProvider, modelOf, newProvider } from '../model-gateway/provider.fixture';

const ACCOUNTS = '/registry/v1/service-accounts';
const ME = '/registry/v1/me';
const TOKENS = '/registry/v1/tokens';

describe('keys narrower than their account', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let org: TestOrganization;
  let admin: ApiClient;
  let keysPath: string;
  let provider: FakeProvider;
  let upstream: Upstream;
  let made = 0;

  beforeAll(async () => {
    org = await newOrganization(app);
    admin = await org.as('admin');
    keysPath = `${await account('evaluator', 'runtime')}/keys`;
    provider = await FakeProvider.listen();
    upstream = await Upstream.listen();
  });
  afterAll(async () => {
    await provider.close();
    await upstream.close();
  });

  /** Creates a service account with these roles in the workspaces. @returns its path */
  async function account(...roles: string[]): Promise<string> {
    const body = { name: `account ${(made += 1)}`, roles, workspace_ids: [org.workspaceId] };
    return created(await admin.post(ACCOUNTS, body)).headers.get('location')!;
  }

  function created(answer: Answer): Answer {
    if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer;
  }

  const make = (allow: unknown, path = keysPath): Promise<Answer> => admin.post(path, { name: 'k', allow });

  /** Returns a client with a key that allows only this. */
  const withKey = async (allow: unknown, path = keysPath): Promise<ApiClient> =>
    app.api(created(await make(allow, path)).body.key as string).in(org.workspaceId);

  const newServer = async (name: string, workspace_id = org.workspaceId): Promise<string> => {
    const tools = ['forecast', 'a/b'].map((tool) => ({ name: tool, input_schema: { type: 'object' } }));
    const body = { workspace_id, name, url: 'https://mcp.example.com/mcp', tools };
    return created(await admin.post('/mcp/v1/servers', body)).body.server_id as string;
  };
  const newApi = async (name: string): Promise<string> => {
    const body = { workspace_id: org.workspaceId, name, base_url: upstream.url };
    return created(await admin.post('/registry/v1/apis', body)).body.api_id as string;
  };
  const newModel = (): Promise<string> => modelOf(admin, org.workspaceId, provider);
  const pointersOf = ({ status, body }: Answer) => [
    status,
    (body.errors ?? []).map((one: { pointer: string }) => one.pointer),
  ];
  const codeOf = ({ status, body }: Answer) => [status, body?.code as unknown];
  const call = (by: ApiClient, model: string): Promise<Answer> =>
    by.post('/model/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Hi' }] });

  it('show what they allow, with the areas that lists imply and the current names', async () => {
    const model = await newModel();
    const serverId = await newServer('weather');
    const apiId = await newApi('crm');
    const agent = { workspace_id: org.workspaceId, name: 'clerk' };
    const agent_id = created(await admin.post('/agent/v1/agents', agent)).body.agent_id as string;
    const tools = ['weather/forecast', `${serverId}/a/b`];
    const key = created(await make({ areas: ['read'], models: [model], apis: [apiId], tools, agent_id }));
    const allow = {
      areas: ['read', 'models', 'apis', 'tools'],
      models: [model],
      apis: ['crm'],
      tools: ['weather/a/b', 'weather/forecast'],
      agent_id,
    };
    const path = key.headers.get('location')!;
    const me = async () => (await app.api(key.body.key as string).get(ME)).body.allow as unknown;
    const shown = async () => [
      (await admin.get(path)).body.allow as unknown,
      (await admin.get(`${keysPath}?limit=1`)).body.items[0].allow as unknown,
      await me(),
    ];
    expect([key.body.allow, ...(await shown())]).toEqual([allow, allow, allow, allow]);
    const [entry] = (await admin.get(`/registry/v1/audit-log?resource_id=${key.body.key_id}`)).body.items;
    const logged = entry.changes.find(({ member }: { member: string }) => member === 'allow');
    expect(logged.after).toMatchObject({ areas: allow.areas, apis: [apiId], agent_id });

    await admin.patch(`/mcp/v1/servers/${serverId}`, { name: 'climate' });
    await admin.patch(`/registry/v1/apis/${apiId}`, { name: 'customers' });
    await admin.post(`/registry/v1/apis/${apiId}/archive`);
    const renamed = { ...allow, apis: ['customers'], tools: ['climate/a/b', 'climate/forecast'] };
    expect(await shown()).toEqual([renamed, renamed, renamed]);
    expect((await admin.get(ME)).body.allow).toBeNull();
    expect(created(await make(undefined)).body.allow).toBeNull();
    expect(created(await make(null)).body.allow).toBeNull();
  });

  it.each<[unknown, number, string[]]>([
    [{}, 400, ['/allow']],
    [{ areas: null, models: null }, 400, ['/allow']],
    [{ areas: [] }, 400, ['/allow/areas']],
    [{ areas: ['reads'] }, 422, ['/allow/areas/0']],
    [{ areas: 'read' }, 400, ['/allow/areas']],
    [{ models: [] }, 400, ['/allow/models']],
    [{ models: ['unknown'] }, 400, ['/allow/models/0']],
    [{ models: [1] }, 400, ['/allow/models']],
    [{ apis: ['unknown', 'api_unknown'] }, 400, ['/allow/apis/0', '/allow/apis/1']],
    [{ tools: ['forecast'] }, 400, ['/allow/tools/0']],
    [{ tools: ['unknown/forecast'] }, 400, ['/allow/tools/0']],
    [{ tools: ['here/unknown', '/', 'here/'] }, 400, ['/allow/tools/0', '/allow/tools/1', '/allow/tools/2']],
    [{ agent_id: 'agt_unknown' }, 400, ['/allow/agent_id']],
    [{ agent_id: '' }, 400, ['/allow/agent_id']],
    [{ area: ['read'] }, 400, ['/allow/area']],
    [['read'], 400, ['/allow']],
    ['read', 400, ['/allow']],
  ])('are refused with %j', async (allow, status, pointers) => {
    if ((await admin.get('/mcp/v1/servers?name=here')).body.page.total === 0) await newServer('here');
    expect(pointersOf(await make(allow))).toEqual([status, pointers]);
  });

  it('take names from the workspaces of their account, and ids of names that several have', async () => {
    const elsewhere = await org.newWorkspace();
    const [here, there] = [await newServer('twice'), await newServer('twice', elsewhere)];
    expect((await make({ tools: ['twice/forecast'] })).status).toBe(201);
    expect(pointersOf(await make({ tools: [`${there}/forecast`] }))).toEqual([400, ['/allow/tools/0']]);
    const everywhere = { name: 'everywhere', roles: ['runtime'], workspace_ids: ['*'] };
    const path = `${created(await admin.post(ACCOUNTS, everywhere)).headers.get('location')}/keys`;
    const refused = await make({ tools: ['twice/forecast'] }, path);
    expect([pointersOf(refused), refused.body.detail]).toEqual([
      [400, ['/allow/tools/0']],
      expect.stringContaining('Send the id of one server') as string,
    ]);
    expect((await make({ tools: [`${here}/forecast`, `${there}/forecast`] }, path)).status).toBe(201);
  });

  it('do not find resources of another organization', async () => {
    const stranger = await newOrganization(app);
    const by = await stranger.member('owner');
    const { workspaceId: workspace_id } = stranger;
    const api = { workspace_id, name: 'theirs', base_url: upstream.url };
    const { api_id } = created(await by.post('/registry/v1/apis', api)).body;
    const tools = [{ name: 'forecast', input_schema: { type: 'object' } }];
    const server = { workspace_id, name: 'theirs', url: 'https://mcp.example.com/mcp', tools };
    const { server_id } = created(await by.post('/mcp/v1/servers', server)).body;
    const agent = { workspace_id, name: 'theirs' };
    const { agent_id } = created(await by.post('/agent/v1/agents', agent)).body;
    const model = await modelOf(by, workspace_id, provider);
    const everywhere = { name: 'all workspaces', roles: ['runtime'], workspace_ids: ['*'] };
    const path = `${created(await admin.post(ACCOUNTS, everywhere)).headers.get('location')}/keys`;
    const refused = [
      { apis: [api_id] },
      { apis: ['theirs'] },
      { tools: [`${server_id}/forecast`] },
      { tools: ['theirs/forecast'] },
      { models: [model] },
      { agent_id },
    ];
    for (const allow of refused) expect((await make(allow, path)).status).toBe(400);
  });

  it('of a member take names from the workspaces of its memberships', async () => {
    const elsewhere = await org.newWorkspace();
    await newServer('joined', elsewhere);
    const path = await account('runtime');
    expect((await make({ tools: ['joined/forecast'] }, `${path}/keys`)).status).toBe(400);
    const member = `/registry/v1/workspaces/${elsewhere}/members/${path.split('/').at(-1)}`;
    created(await admin.put(member, { roles: ['runtime'] }));
    expect((await make({ tools: ['joined/forecast'] }, `${path}/keys`)).status).toBe(201);
  });

  it('can be made for one account by many at once', async () => {
    const models = [await newModel()];
    const answers = await Promise.all(Array.from({ length: 30 }, () => make({ models })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  });

  it('call only their models, whatever a model is called', async () => {
    const [mine, other] = [await newModel(), await newModel()];
    const key = await withKey({ models: [mine] });
    const { model_id } = (await admin.get(`/model/v1/models/${mine}`)).body;
    const { model_id: otherId } = (await admin.get(`/model/v1/models/${other}`)).body;
    expect((await call(key, mine)).status).toBe(200);
    for (const name of [other, otherId as string]) {
      const refused = await call(key, name);
      expect(codeOf(refused)).toEqual([403, 'forbidden']);
      expect(refused.body.detail).toContain(`does not allow the model \`${other}\``);
    }
    const listed = (await key.get('/model/v1/models')).body.data.map(({ id }: { id: string }) => id);
    expect(listed).toEqual([mine]);
    expect(codeOf(await key.get(`/model/v1/models/${other}`))).toEqual([404, 'not_found']);
    const reader = await withKey({ areas: ['read'], models: [mine] });
    expect((await reader.get(`/model/v1/models/${other}`)).status).toBe(200);
    expect(codeOf(await call(reader, other))).toEqual([403, 'forbidden']);
    // a new name changes nothing, and another model that takes the old one is not allowed
    await admin.patch(`/model/v1/models/${model_id}`, { name: 'renamed' });
    await admin.patch(`/model/v1/models/${otherId}`, { name: mine });
    expect([(await call(key, 'renamed')).status, codeOf(await call(key, mine))]).toEqual([
      200,
      [403, 'forbidden'],
    ]);
    expect((await call(await withKey({ areas: ['models'] }), mine)).status).toBe(200);
  });

  it('call only their APIs', async () => {
    const [mine, other] = [await newApi('mine'), await newApi('other')];
    const key = await withKey({ apis: ['mine'] });
    expect((await key.get(`/api/v1/apis/${mine}/orders`)).status).toBe(200);
    for (const method of ['GET', 'POST', 'DELETE']) {
      const refused = await key.request(method, `/api/v1/apis/${other}/orders`);
      expect([codeOf(refused), refused.body.detail]).toEqual([
        [403, 'forbidden'],
        expect.stringContaining('does not allow the API `other`') as string,
      ]);
    }
    const all = await withKey({ areas: ['apis'] });
    expect((await all.get(`/api/v1/apis/${other}/orders`)).status).toBe(200);
  });

  it('never allow more than the roles of their account', async () => {
    const viewer = await withKey({ areas: ['read', 'models', 'scores'] }, `${await account('viewer')}/keys`);
    expect((await viewer.get('/eval/v1/datasets')).status).toBe(200);
    const refused = [await viewer.post('/eval/v1/scores', {}), await call(viewer, 'any')];
    expect(refused.map(codeOf)).toEqual(refused.map(() => [403, 'access_denied']));
  });

  it('make no keys, and revoke only their own tokens', async () => {
    const owner = await withKey({ areas: ['read'] }, `${await account('admin')}/keys`);
    expect(codeOf(await owner.post(keysPath, { name: 'wide' }))).toEqual([403, 'forbidden']);
    const key = created(await make({ areas: ['read'] })).body.key as string;
    const tokenOf = async (api_key: string): Promise<string> =>
      (await app.api().post(TOKENS, { api_key })).body.access_token as string;
    const [token, further] = [await tokenOf(key), await tokenOf(key)];
    const other = await tokenOf(created(await make(null)).body.key as string);
    for (const by of [key, token]) {
      expect(codeOf(await app.api(by).post(`${TOKENS}/revoke`, { token: other }))).toEqual([
        403,
        'forbidden',
      ]);
    }
    expect((await app.api(other).get(ME)).status).toBe(200);
    expect((await app.api(key).post(`${TOKENS}/revoke`, { token: further })).status).toBe(200);
    const { jti } = (await app.api(token).get(ME)).body.credential;
    expect((await app.api(token).post(`${TOKENS}/revoke`, { jti })).status).toBe(200);
    expect([(await app.api(further).get(ME)).status, (await app.api(token).get(ME)).status]).toEqual([
      401, 401,
    ]);
  });

  it('pass their limits to the tokens that they are exchanged for, and end them', async () => {
    const key = created(await make({ areas: ['telemetry'] }));
    const exchanged = await app.api().post(TOKENS, { api_key: key.body.key });
    const token = app.api(exchanged.body.access_token as string).in(org.workspaceId);
    expect((await token.get(ME)).body.allow).toMatchObject({ areas: ['telemetry'] });
    expect((await token.post('/telemetry/v1/traces', jsonExport([newSpan()]))).status).toBe(200);
    const refused = await token.get('/telemetry/v1/traces');
    expect([codeOf(refused), refused.body.detail]).toEqual([
      [403, 'forbidden'],
      'This key does not allow the area `read`. It allows: telemetry.',
    ]);
    expect((await token.post('/eval/v1/datasets', {})).body.detail).toBe(
      'This key does not allow this operation, which needs a key without `allow`. It allows: telemetry.',
    );
    await admin.post(`${key.headers.get('location')}/revoke`);
    expect((await token.get(ME)).status).toBe(401);
  });

  it('store evaluation events as scores only with the area scores', async () => {
    const scoresOf = async (areas: string[]): Promise<[number, string]> => {
      const traceId = newTraceId();
      const attributes = [
        { key: 'gen_ai.evaluation.name', value: { stringValue: 'exact' } },
        { key: 'gen_ai.evaluation.score.value', value: { doubleValue: 1 } },
      ];
      const spanId = newSpanId();
      const record = { eventName: 'gen_ai.evaluation.result', traceId, spanId, attributes };
      const resourceLogs = [{ scopeLogs: [{ logRecords: [record] }] }];
      const key = await withKey({ areas });
      const sent = await key.post('/telemetry/v1/logs', { resourceLogs });
      expect(sent.status).toBe(200);
      const { page } = (await admin.get(`/eval/v1/scores?trace_id=${traceId}`)).body;
      return [page.total as number, (sent.body.partialSuccess?.errorMessage ?? '') as string];
    };
    expect(await scoresOf(['telemetry', 'scores'])).toEqual([1, '']);
    expect(await scoresOf(['telemetry'])).toEqual([
      0,
      expect.stringContaining(
        'of a key that does not allow the area `scores` was stored, but not as a score',
      ),
    ]);
  });

  it('are gateway keys too, which are listed alike, with their limits', async () => {
    const elsewhere = await admin.post(keysPath, {
      name: 'k',
      monthly_budget_usd: 5,
      tokens_per_minute: null,
    });
    expect([pointersOf(elsewhere), elsewhere.body.detail]).toEqual([
      [400, ['/monthly_budget_usd']],
      expect.stringContaining('POST /model/v1/keys') as string,
    ]);
    const provider_id = await newProvider(admin, org.workspaceId, provider);
    const targets = [{ provider_id, upstream_model: 'of-unknown-price' }];
    const newUnpriced = () => modelOf(admin, org.workspaceId, provider, { targets });
    const [mine, other] = [await newUnpriced(), await newUnpriced()];
    const limits = { monthly_budget_usd: 5, requests_per_minute: 60, tokens_per_minute: 1_000 };
    const body = { workspace_id: org.workspaceId, name: 'bot', models: [mine], ...limits };
    const gateway = created(await admin.post('/model/v1/keys', body));
    const { key, key_id, service_account_id } = gateway.body as Record<string, string>;
    const list = `${ACCOUNTS}/${service_account_id}/keys`;
    const allow = { areas: ['models'], models: [mine], apis: null, tools: null, agent_id: null };
    expect((await admin.get(list)).body.items).toMatchObject([{ key_id, name: 'bot', allow, ...limits }]);
    const token = (await app.api().post(TOKENS, { api_key: key })).body.access_token as string;
    const callers = [app.api(key), app.api(token).in(org.workspaceId)];
    const outcomes = async (model: string) =>
      Promise.all(callers.map(async (by) => codeOf(await call(by, model))));
    // refused by a budget that has no price, but not by the key
    const [allowed, refused] = [
      [409, 'conflict'],
      [403, 'forbidden'],
    ];
    expect([await outcomes(mine), await outcomes(other)]).toEqual([
      [allowed, allowed],
      [refused, refused],
    ]);
    for (const by of callers) {
      expect(codeOf(await by.post('/telemetry/v1/traces', {}))).toEqual(refused);
      expect((await by.get('/model/v1/keys/current')).body.key_id).toBe(key_id);
    }
    const changed = { name: 'robot', models: [other], monthly_budget_usd: null };
    expect((await admin.patch(gateway.headers.get('location')!, changed)).status).toBe(200);
    expect([await outcomes(mine), await outcomes(other)]).toEqual([
      [refused, refused],
      [
        [200, undefined],
        [200, undefined],
      ],
    ]);
    expect((await admin.get(`${list}/${key_id}`)).body).toMatchObject({
      name: 'robot',
      allow: { ...allow, models: [other] },
      monthly_budget_usd: null,
    });
  });
});
