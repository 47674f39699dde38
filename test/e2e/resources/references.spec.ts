import { type Answer, type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';

/** Something that refers to a resource, and where it shows that the resource is gone. */
interface Referring {
  /** The path of the resource that is deleted. */
  path: string;
  /** The id that the 409 names. */
  by: string;
  /** Reads the reference after the deletion. */
  shown: () => Promise<Answer>;
  /** What it then shows. */
  mark: object;
}

describe('a resource that others refer to', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;
  let workspace_id: string;
  let count = 0;

  beforeAll(async () => {
    org = await newOrganization(app);
    owner = await org.as('owner');
    workspace_id = org.workspaceId;
  });

  const make = async (path: string, body: object): Promise<any> => {
    const answer = await owner.post(path, { workspace_id, ...body });
    expect([answer.status, answer.body]).toEqual([201, expect.any(Object)]);
    return answer.body;
  };
  const name = (): string => `name-${(count += 1)}`;
  const skill = () => make('/skill/v1/skills', { name: name(), description: 'Adds.', instructions: '# How' });
  const agent = (more: object = {}) => make('/agent/v1/agents', { name: name(), ...more });

  const KINDS: [string, () => Promise<Referring>][] = [
    [
      'a skill of an agent',
      async () => {
        const { skill_id } = await skill();
        const { agent_id } = await agent({ skills: [{ skill_id }] });
        return {
          path: `/skill/v1/skills/${skill_id}`,
          by: agent_id,
          shown: () => owner.get(`/agent/v1/agents/${agent_id}`),
          mark: { skills: [{ skill_id, version_ordinal: null, erased: true }] },
        };
      },
    ],
    [
      'a skill of a version of an agent',
      async () => {
        const { skill_id } = await skill();
        const { agent_id } = await agent({ skills: [{ skill_id, version_ordinal: 1 }] });
        return {
          path: `/skill/v1/skills/${skill_id}`,
          by: agent_id,
          shown: () => owner.get(`/agent/v1/agents/${agent_id}/versions/1`),
          mark: { skills: [{ skill_id, version_ordinal: 1, erased: true }] },
        };
      },
    ],
    [
      'a server with a tool of an agent',
      async () => {
        const tools = [{ name: 'search', input_schema: { type: 'object' } }];
        const url = 'https://mcp.example.com/mcp';
        const { server_id } = await make('/mcp/v1/servers', { name: name(), url, tools });
        const { agent_id } = await agent({ tools: [{ server_id, tool_name: 'search' }] });
        return {
          path: `/mcp/v1/servers/${server_id}`,
          by: agent_id,
          shown: () => owner.get(`/agent/v1/agents/${agent_id}`),
          mark: { tools: [{ server_id, tool_name: 'search', erased: true }] },
        };
      },
    ],
    [
      'an agent with an active session',
      async () => {
        const { agent_id } = await agent();
        const session = await owner.post(`/agent/v1/agents/${agent_id}/sessions`, { prompt: 'Hello' });
        return {
          path: `/agent/v1/agents/${agent_id}`,
          by: session.body.session_id,
          shown: () => owner.get(session.headers.get('location')!),
          mark: { agent_id, agent_erased: true },
        };
      },
    ],
    [
      'a provider of a model',
      async () => {
        const { provider_id } = await make('/model/v1/providers', { name: name(), kind: 'openai' });
        const targets = [{ provider_id, upstream_model: 'gpt-4o' }];
        const { model_id } = await make('/model/v1/models', { name: name(), targets });
        return {
          path: `/model/v1/providers/${provider_id}`,
          by: model_id,
          shown: () => owner.get(`/model/v1/models/${model_id}`),
          mark: { targets: [{ provider_id, erased: true }] },
        };
      },
    ],
    [
      'a skill that the store publishes',
      async () => {
        const { skill_id } = await skill();
        const item = await make('/store/v1/publisher/items', {
          artifact: { kind: 'skill', artifact_id: skill_id },
          name: name(),
          category: 'skills',
          license: 'MIT',
          actions: ['install'],
        });
        return {
          path: `/skill/v1/skills/${skill_id}`,
          by: item.store_item_id,
          shown: () => owner.get(`/store/v1/publisher/items/${item.store_item_id}`),
          mark: { source: { artifact_id: skill_id, erased: true } },
        };
      },
    ],
  ];

  it.each(KINDS)('is deleted only with force, and leaves a mark: %s', async (_, create) => {
    const { path, by, shown, mark } = await create();
    expect((await owner.post(`${path}/archive`)).status).toBe(200);
    const refused = await owner.delete(path);
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(refused.body.detail).toContain(by);
    const etag = (await shown()).headers.get('etag')!;
    expect(JSON.stringify((await shown()).body)).not.toContain('erased');
    expect((await owner.delete(`${path}?force=true`)).status).toBe(204);
    const marked = await shown();
    expect(marked).toMatchObject({ status: 200, body: mark });
    expect(marked.headers.get('etag')).not.toBe(etag);
  });

  it('is deleted without force once what refers to it is archived', async () => {
    const { skill_id } = await skill();
    const { agent_id } = await agent({ skills: [{ skill_id }] });
    for (const path of [`/skill/v1/skills/${skill_id}`, `/agent/v1/agents/${agent_id}`]) {
      expect((await owner.post(`${path}/archive`)).status).toBe(200);
    }
    expect((await owner.delete(`/skill/v1/skills/${skill_id}`)).status).toBe(204);
    const { items } = (await owner.get('/agent/v1/agents?include_archived=true&limit=500')).body;
    const found = items.find((one: any) => one.agent_id === agent_id);
    expect(found.skills).toEqual([{ skill_id, version_ordinal: null, erased: true }]);
    expect((await owner.post(`/agent/v1/agents/${agent_id}/restore`)).body.skills).toEqual(found.skills);
  });

  it('may be sent back with its mark, but not added again', async () => {
    const { skill_id } = await skill();
    const { agent_id } = await agent({ skills: [{ skill_id }] });
    await owner.post(`/skill/v1/skills/${skill_id}/archive`);
    await owner.delete(`/skill/v1/skills/${skill_id}?force=true`);
    const path = `/agent/v1/agents/${agent_id}`;
    const { body, headers } = await owner.get(path);
    const sent = { ...body, description: 'changed' };
    expect(await owner.patch(path, sent, { 'if-match': headers.get('etag')! })).toMatchObject({
      status: 200,
      body: { skills: body.skills, description: 'changed' },
    });
    expect(
      (await owner.post('/agent/v1/agents', { workspace_id, name: name(), skills: body.skills })).status,
    ).toBe(400);
  });

  it('is not deleted while its app declares it', async () => {
    const app = name();
    const declared = { kind: 'agent', name: name(), spec: {} };
    await make('/registry/v1/apps', { app, resources: [declared] });
    expect((await owner.post(`/registry/v1/apps/${app}/reconcile`)).status).toBe(200);
    const [{ agent_id }] = (await owner.get(`/agent/v1/agents?app=${app}`)).body.items;
    const path = `/agent/v1/agents/${agent_id}`;
    await owner.post(`${path}/archive`);
    const refused = await owner.delete(path);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringContaining(`The app ${app} declares`),
    ]);
    await owner.post(`/registry/v1/apps/${app}/archive`);
    expect((await owner.delete(path)).status).toBe(204);
    expect((await owner.delete(`/registry/v1/apps/${app}`)).status).toBe(204);
  });

  it('never leaves an agent with an unmarked reference if both are requested at once', async () => {
    for (let round = 0; round < 5; round++) {
      const { skill_id } = await skill();
      const path = `/skill/v1/skills/${skill_id}`;
      const [made, deleted] = await Promise.all([
        owner.post('/agent/v1/agents', { workspace_id, name: name(), skills: [{ skill_id }] }),
        owner.post(`${path}/archive`).then(() => owner.delete(path)),
      ]);
      expect([
        [201, 409],
        [400, 204],
      ]).toContainEqual([made.status, deleted.status]);
    }
  });
});

describe('a version', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    org = await newOrganization(app);
    owner = await org.as('owner');
    workspace_id = org.workspaceId;
  });

  const PATCHED: [string, string, object, object][] = [
    ['a skill', '/skill/v1/skills', { description: 'Adds.', instructions: '# How' }, { description: 'New.' }],
    ['an agent', '/agent/v1/agents', {}, { instructions: 'Plan.' }],
    ['an MCP server', '/mcp/v1/servers', { url: 'https://mcp.example.com/mcp' }, { description: 'New.' }],
    ['an API', '/registry/v1/apis', { base_url: 'https://orders.example.com' }, { description: 'New.' }],
  ];

  it.each(PATCHED)('of %s is deleted by admins, except the newest', async (_, collection, body, change) => {
    const made = await owner.post(collection, { workspace_id, name: 'of-versions', ...body });
    const path = made.headers.get('location')!;
    expect((await owner.patch(path, change)).status).toBe(200);
    const [first, newest] = [`${path}/versions/1`, `${path}/versions/2`];
    expect((await (await org.as('editor')).delete(first)).status).toBe(403);
    expect((await owner.delete(first, { 'if-match': '"2"' })).status).toBe(412);
    const refused = await owner.delete(`${newest}?force=true`);
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      expect.stringContaining('the newest version'),
    ]);
    expect((await owner.delete(first, { 'if-match': '"1"' })).status).toBe(204);
    expect([(await owner.get(first)).status, (await owner.delete(first)).status]).toEqual([404, 404]);
    const { items, page } = (await owner.get(`${path}/versions`)).body;
    expect([page.total, items.map((one: any) => one.version_ordinal)]).toEqual([1, [2]]);
    expect((await owner.get(path)).body.version_ordinal).toBe(2);
  });

  it('that an agent or a session is pinned to is deleted only with force', async () => {
    const skill = { workspace_id, name: 'pinned', description: 'Adds.', instructions: '# How' };
    const { skill_id } = (await owner.post('/skill/v1/skills', skill)).body;
    await owner.patch(`/skill/v1/skills/${skill_id}`, { description: 'New.' });
    const skills = [{ skill_id, version_ordinal: 1 }];
    const { agent_id } = (await owner.post('/agent/v1/agents', { workspace_id, name: 'pins', skills })).body;
    const session = (await owner.post(`/agent/v1/agents/${agent_id}/sessions`, { prompt: 'Hi' })).body;
    await owner.patch(`/agent/v1/agents/${agent_id}`, { instructions: 'Plan.' });
    const pinned = [
      [`/skill/v1/skills/${skill_id}/versions/1`, agent_id],
      [`/agent/v1/agents/${agent_id}/versions/1`, session.session_id],
    ];
    for (const [path, by] of pinned) {
      const refused = await owner.delete(path!);
      expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining(by!)]);
      expect((await owner.delete(`${path}?force=true`)).status).toBe(204);
    }
    expect((await owner.get(`/agent/v1/agents/${agent_id}`)).body.skills).toEqual([
      { ...skills[0], erased: true },
    ]);
    expect((await owner.get(`/agent/v1/sessions/${session.session_id}`)).body.agent_erased).toBe(true);
    const started = await owner.post(`/agent/v1/agents/${agent_id}/sessions`, {
      prompt: 'Hi',
      version_ordinal: 1,
    });
    expect([started.status, started.body.errors[0].pointer]).toEqual([400, '/version_ordinal']);
  });
});
