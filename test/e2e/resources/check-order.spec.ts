import { type Answer, type ApiClient, sharedApp, newOrganization } from '#testing';

/** A body that is invalid only in combination with the stored resource. */
interface InvalidBody {
  collection: string;
  body: Record<string, unknown>;
  invalid: object;
}

describe('the checks of a change', () => {
  const app = sharedApp();
  let owner: ApiClient;
  let workspaceId: string;

  beforeAll(async () => {
    const org = await newOrganization(app);
    owner = await org.as('owner');
    workspaceId = org.workspaceId;
  });

  const stale = { 'if-match': '"stale"' };
  const codes = (answers: readonly Answer[]) => answers.map(({ status, body }) => [status, body.code]);
  const create = async (collection: string, body: object): Promise<string> => {
    const answer = await owner.post(collection, body);
    expect(answer.status).toBe(201);
    return answer.headers.get('location')!;
  };
  /** Two values that are within the limit individually, but not together. */
  const [metadata, more] = [{ a: 'x'.repeat(9000) }, { b: 'x'.repeat(9000) }];

  const INVALID: InvalidBody[] = [
    {
      collection: '/mcp/v1/servers',
      body: { name: 'one', url: 'https://mcp.example.com' },
      invalid: { auth: { type: 'bearer' } },
    },
    {
      collection: '/registry/v1/apis',
      body: { name: 'one', base_url: 'https://orders.example.com' },
      invalid: { auth: { type: 'bearer' } },
    },
    {
      collection: '/skill/v1/skills',
      body: { name: 'one', description: 'Adds.', instructions: '# How', metadata },
      invalid: { metadata: more },
    },
    {
      collection: '/agent/v1/agents',
      body: { name: 'one' },
      invalid: { skills: [{ skill_id: 'skl_none' }] },
    },
    {
      collection: '/registry/v1/apps',
      body: { app: 'one', resources: [], metadata },
      invalid: { metadata: more },
    },
  ];

  it.each(INVALID)('start with the body: $collection', async ({ collection, body, invalid }) => {
    const path = await create(collection, { workspace_id: workspaceId, ...body });
    expect(codes([await owner.patch(path, invalid, stale), await owner.patch(path, {}, stale)])).toEqual([
      [400, 'invalid_request'],
      [412, 'precondition_failed'],
    ]);
  });

  it('start with the body: accounts', async () => {
    const account = await create('/registry/v1/service-accounts', { name: 'one', roles: ['viewer'] });
    const user = await create('/registry/v1/users', { user_id: 'one', metadata });
    expect(
      codes([
        await owner.patch(account, { workspace_ids: ['wsp_none'] }, stale),
        await owner.patch(user, { metadata: more }, stale),
        await owner.patch(account, {}, stale),
      ]),
    ).toEqual([
      [400, 'invalid_request'],
      [400, 'invalid_request'],
      [412, 'precondition_failed'],
    ]);
  });

  it('include If-Match before the workspace', async () => {
    const { body: workspace } = await owner.post('/registry/v1/workspaces', { name: 'to be archived' });
    const { workspace_id } = workspace;
    const [live, archived] = [
      await create('/agent/v1/agents', { workspace_id, name: 'live' }),
      await create('/agent/v1/agents', { workspace_id, name: 'archived' }),
    ];
    const session = await create(`${live}/sessions`, { prompt: 'x' });
    await owner.post(`${archived}/archive`);
    await owner.post(`/registry/v1/workspaces/${workspace_id}/archive`);

    const changes = [
      (headers?: Record<string, string>) => owner.patch(live, { instructions: 'x' }, headers),
      (headers?: Record<string, string>) => owner.post(`${live}/archive`, undefined, headers),
      (headers?: Record<string, string>) => owner.post(`${archived}/restore`, undefined, headers),
      (headers?: Record<string, string>) => owner.patch(session, { title: 'x' }, headers),
    ];
    for (const change of changes) {
      expect(codes([await change(stale), await change()])).toEqual([
        [412, 'precondition_failed'],
        [409, 'conflict'],
      ]);
    }
    const rejected = [
      await owner.post(`${live}/sessions`, { prompt: 'x' }),
      await owner.post(`${session}/messages`, { role: 'user', content: 'x' }),
    ];
    expect(codes(rejected)).toEqual(rejected.map(() => [409, 'conflict']));
    for (const [path, action] of [
      [live, 'restore'],
      [archived, 'archive'],
    ] as const) {
      const { body } = await owner.get(path);
      expect(await owner.post(`${path}/${action}`)).toMatchObject({ status: 200, body });
    }
  });
});
