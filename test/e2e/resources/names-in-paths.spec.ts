import { type Answer, type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';

const [AGENTS, DATASETS, MODELS] = ['/agent/v1/agents', '/eval/v1/datasets', '/model/v1/models'];

const codeOf = ({ status, body }: Answer): unknown[] => [status, body.code];

describe('a name in a path', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;
  let otherWorkspace: string;

  const create = async (path: string, body: object, by = owner): Promise<any> => {
    const answer = await by.post(path, body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  };
  const newDataset = (name: string, workspace_id = org.workspaceId): Promise<any> =>
    create(DATASETS!, { workspace_id, name }, owner.in(workspace_id));
  const newAgent = (name: string, workspace_id = org.workspaceId): Promise<any> =>
    create(AGENTS!, { workspace_id, name });

  beforeAll(async () => {
    org = await newOrganization(app);
    owner = await org.member('owner');
    otherWorkspace = await org.newWorkspace();
  });

  it.each(['a/b', 'a%b', 'a%2Fb', 'a:b', 'name:a', 'a#b', 'a?b=c&d', 'ä ∑ 😀', '   ', '..', 'x'.repeat(255)])(
    'can be %j, percent-encoded once',
    async (name) => {
      const { dataset_id } = await newDataset(name);
      const path = `${DATASETS}/name:${encodeURIComponent(name)}`;
      const caller = owner.in(org.workspaceId);
      const record = await caller.post(`${path}/records`, { workspace_id: org.workspaceId, input: name });
      expect(record).toMatchObject({ status: 201, body: { dataset_id } });
      expect(record.headers.get('location')).toContain(`/${dataset_id}/records/`);
      expect(await caller.get(path.replace('name:', 'name%3A'))).toMatchObject({ body: { dataset_id } });
    },
  );

  it.each([
    ['of no resource', 'name:unknown', 404],
    ['that is empty', 'name:', 404],
    ['of spaces', 'name:%20%20', 404],
    ['with a NUL character', 'name:%00', 404],
    ['with other capitals', 'name:KNOWN', 404],
    ['encoded twice', 'name:not%2520known', 404],
    ['longer than any name', `name:${'x'.repeat(300)}`, 404],
    ['with another prefix', 'Name:known', 404],
    ['with an incomplete escape', 'name:%4', 400],
    ['that is not UTF-8', 'name:%ff', 400],
    ['with a surrogate', 'name:%ED%A0%80', 400],
  ])('%s is rejected, after a faulty body', async (_, name, status) => {
    const caller = owner.in(org.workspaceId);
    const answers = [
      await caller.get(`${DATASETS}/${name}`),
      await caller.get(`${DATASETS}/${name}/records`),
      await caller.get(`${AGENTS}/${name}`),
      await caller.patch(`${DATASETS}/${name}`, { description: 'd' }),
      await caller.patch(`${DATASETS}/${name}`, { descripton: 'd' }),
    ];
    expect(answers.map((one) => one.status)).toEqual([status, status, status, status, 400]);
  });

  it('means the resource of the workspace in the header or in the query', async () => {
    const [here, there] = [await newAgent('twice'), await newAgent('twice', otherWorkspace)];
    const [single, path] = [await org.serviceAccount('viewer'), `${AGENTS}/name:twice`];
    const ask = (by: ApiClient, query = '') => by.get(`${path}${query}`);
    const [inHere, inThere] = [org.workspaceId, otherWorkspace].map((id) => `?workspace_id=${id}`);
    const answers = await Promise.all([
      ask(owner.in(org.workspaceId)),
      ask(owner.in(otherWorkspace)),
      ask(owner, inHere),
      ask(owner, inThere),
      ask(owner.in(otherWorkspace), inThere),
      ask(app.api(single.key)),
    ]);
    expect(answers.map(({ body }) => body.agent_id)).toEqual(
      [here, there, here, there, there, here].map(({ agent_id }) => agent_id),
    );
    const refused = await Promise.all([
      ask(owner),
      ask(owner.in(org.workspaceId), inThere),
      ask(owner, `${inHere}&workspace_id=${otherWorkspace}`),
      ask(owner, '?workspace_id=wsp_unknown'),
      ask(owner, '?workspace_id=%00'),
      ask(owner.in('wsp_unknown')),
      ask(app.api(single.key), inThere),
      ask(app.api(single.key).in(otherWorkspace)),
      owner.get(`${AGENTS}/${here.agent_id}${inHere}`),
      ask(owner.in(org.workspaceId), '?q=x'),
    ]);
    expect(refused.map(codeOf)).toEqual([
      [400, 'invalid_request'],
      [400, 'invalid_query'],
      [400, 'invalid_query'],
      [404, 'not_found'],
      [404, 'not_found'],
      [403, 'access_denied'],
      [404, 'not_found'],
      [403, 'access_denied'],
      [400, 'invalid_query'],
      [400, 'invalid_query'],
    ]);
    expect(refused[0]!.body.detail).toContain('X-Service-Workspace-Id');
  });

  it('needs no workspace in an organization with only one, and finds nothing of another organization', async () => {
    await newAgent('ours');
    const other = await newOrganization(app);
    const stranger = await other.member('owner');
    const { agent_id } = await create(AGENTS!, { workspace_id: other.workspaceId, name: 'theirs' }, stranger);
    expect((await stranger.get(`${AGENTS}/name:theirs`)).body.agent_id).toBe(agent_id);
    const answers = [
      await stranger.get(`${AGENTS}/name:ours`),
      await stranger.get(`${AGENTS}/name:ours?workspace_id=${org.workspaceId}`),
      await stranger.in(org.workspaceId).get(`${AGENTS}/name:ours`),
    ];
    expect(answers.map((one) => one.status)).toEqual([404, 404, 403]);
  });

  it('follows a rename and an archived resource, and needs the role of the operation', async () => {
    const { dataset_id } = await newDataset('before');
    const caller = owner.in(org.workspaceId);
    expect((await caller.patch(`${DATASETS}/name:before`, { name: 'after' })).status).toBe(200);
    expect((await caller.get(`${DATASETS}/name:before`)).status).toBe(404);
    expect((await caller.get(`${DATASETS}/name:after`)).body.dataset_id).toBe(dataset_id);
    const viewer = await org.as('viewer');
    expect(codeOf(await viewer.patch(`${DATASETS}/name:after`, { description: 'd' }))).toEqual([
      403,
      'access_denied',
    ]);
    expect((await caller.post(`${DATASETS}/${dataset_id}/archive`)).status).toBe(200);
    const next = await newDataset('after');
    expect((await caller.get(`${DATASETS}/name:after`)).body.dataset_id).toBe(next.dataset_id);
  });

  it('belongs to an idempotency key in its workspace, whatever it means later', async () => {
    const first = await newDataset('keyed');
    const key = { 'idempotency-key': 'one' };
    const [here, there] = [owner.in(org.workspaceId), owner.in(otherWorkspace)];
    const [path, record] = [`${DATASETS}/name:keyed`, { workspace_id: org.workspaceId, input: 1 }];
    const added = await here.post(`${path}/records`, record, key);
    const renamed = await here.patch(path, { name: 'keyed before' }, key);
    expect([added.status, renamed.status]).toEqual([201, 200]);
    const again = await here.patch(path, { name: 'keyed before' }, key);
    expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', renamed.body]);
    const second = await newDataset('keyed');
    const repeated = await here.post(`${path}/records`, record, key);
    expect(repeated.body).toMatchObject({ dataset_id: first.dataset_id });
    expect((await here.get(path)).body).toMatchObject({ dataset_id: second.dataset_id, record_count: 0 });
    const third = await newDataset('keyed', otherWorkspace);
    const elsewhere = await there.post(`${path}/records`, { ...record, workspace_id: otherWorkspace }, key);
    expect(elsewhere).toMatchObject({ status: 201, body: { dataset_id: third.dataset_id } });
    const agents = [await newAgent('keyed'), await newAgent('keyed', otherWorkspace)];
    const sessions = [here, there].map((by) =>
      by.post(`${AGENTS}/name:keyed/sessions`, { prompt: 'Hi' }, key),
    );
    expect((await Promise.all(sessions)).map(({ body }) => body.agent_id)).toEqual(
      agents.map(({ agent_id }) => agent_id),
    );
  });

  it('continues the pages of a list that began with the id', async () => {
    const { dataset_id } = await newDataset('paged');
    const caller = owner.in(org.workspaceId);
    for (const input of [1, 2]) {
      await caller.post(`${DATASETS}/${dataset_id}/records`, { workspace_id: org.workspaceId, input });
    }
    const { body } = await caller.get(`${DATASETS}/${dataset_id}/records?limit=1`);
    const next = await caller.get(`${DATASETS}/name:paged/records?limit=1&cursor=${body.page.next_cursor}`);
    expect(next).toMatchObject({ status: 200, body: { items: [{ input: 1 }] } });
  });

  it('finds for a narrow key only what the key allows', async () => {
    const workspace_id = org.workspaceId;
    const { provider_id } = await create('/model/v1/providers', { workspace_id, name: 'p', kind: 'openai' });
    const targets = [{ provider_id, upstream_model: 'gpt-5' }];
    const [own] = [await create(MODELS!, { workspace_id, name: 'own', targets })];
    const hidden = await create(MODELS!, { workspace_id, name: 'hidden', targets });
    const { key } = await create('/model/v1/keys', { workspace_id, name: 'narrow', models: ['own'] });
    const bot = app.api(key as string);
    expect((await bot.get(`${MODELS}/name:own`)).body.model_id).toBe(own.model_id);
    const refused = await bot.get(`${MODELS}/name:hidden`);
    expect(codeOf(refused)).toEqual([404, 'not_found']);
    expect(refused.body.detail).not.toContain(hidden.model_id);
    expect(codeOf(await bot.patch(`${MODELS}/name:own`, {}))).toEqual([403, 'forbidden']);
  });
});
