import { type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';

const LOG = '/registry/v1/audit-log';

interface Entry {
  audit_entry_id: string;
  workspace_id: string | null;
  principal_id: string;
  action: string;
  resource_type: string;
  resource_id: string;
  changes: { member: string; before?: unknown; after?: unknown }[];
  request_id: string | null;
  created_at: string;
}

describe('the audit log', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let owner: ApiClient;

  beforeEach(async () => {
    org = await newOrganization(app);
    owner = app.api(await org.tokenOf('ada', { roles: ['owner'] })).in(org.workspaceId);
    await app.api(await org.token('owner')).post('/registry/v1/users', { user_id: 'ada' });
    owner = app.api(await org.tokenOf('ada', { roles: ['owner'] }));
  });

  const entriesOf = async (query = '', by: ApiClient = owner): Promise<Entry[]> => {
    const answer = await by.get<{ items: Entry[] }>(`${LOG}${query}`);
    expect(answer.status).toBe(200);
    return answer.body.items;
  };
  const reported = ({ action, resource_type, resource_id, changes }: Entry) => [
    action,
    resource_type,
    resource_id,
    changes,
  ];

  it('records actor, action, time and request', async () => {
    const started = Date.now();
    const { body: workspace } = await owner.post(
      '/registry/v1/workspaces',
      { name: 'first' },
      { 'x-request-id': 'request-1' },
    );
    const id = workspace.workspace_id as string;
    await owner.patch(`/registry/v1/workspaces/${id}`, {
      name: 'second',
      description: 'not recorded',
      metadata: { token: 'hush' },
    });
    await owner.patch(`/registry/v1/workspaces/${id}`, { name: 'second' });
    await owner.post(`/registry/v1/workspaces/${id}/archive`);
    await owner.post(`/registry/v1/workspaces/${id}/archive`);
    const entries = await entriesOf(`?resource_id=${id}&sort=created_at`);
    expect(entries.map(reported)).toEqual([
      ['create', 'workspace', id, [{ member: 'name', after: 'first' }]],
      [
        'update',
        'workspace',
        id,
        [
          { member: 'name', before: 'first', after: 'second' },
          { member: 'description' },
          { member: 'metadata' },
        ],
      ],
      ['archive', 'workspace', id, []],
    ]);
    expect(entries[0]).toMatchObject({
      audit_entry_id: expect.stringMatching(/^aud_[0-9a-z]{26}$/) as string,
      principal_id: 'ada',
      workspace_id: id,
      request_id: 'request-1',
    });
    expect(new Date(entries[0]!.created_at).getTime()).toBeGreaterThanOrEqual(started - 1000);
  });

  it('has no entries for rejected or rolled-back requests', async () => {
    await owner.post('/registry/v1/workspaces', { name: 'taken' });
    const before = await entriesOf();
    expect((await owner.post('/registry/v1/workspaces', { name: 'taken' })).status).toBe(409);
    expect((await owner.post('/registry/v1/service-accounts', { name: 'x', roles: ['none'] })).status).toBe(
      422,
    );
    expect(await entriesOf()).toEqual(before);
  });

  it('records changes of accounts, roles and keys, without secrets', async () => {
    const { body: account } = await owner.post('/registry/v1/service-accounts', {
      name: 'ci',
      roles: ['viewer'],
      workspace_ids: [org.workspaceId],
    });
    const path = `/registry/v1/service-accounts/${account.service_account_id}`;
    await owner.patch(path, { roles: ['editor'], status: 'suspended' });
    await owner.patch(path, { status: 'active' });
    const { body: key } = await owner.post(`${path}/keys`, { name: 'laptop' });
    const exchanged = await app.api().post('/registry/v1/tokens', {
      grant_type: 'client_credentials',
      client_id: account.service_account_id,
      client_secret: key.key,
    });
    await owner.post('/registry/v1/tokens/revoke', { token: exchanged.body.access_token });
    await owner.post(`${path}/keys/${key.key_id}/revoke`);
    await owner.post('/registry/v1/users', { user_id: 'grace', roles: ['viewer'] });
    await owner.patch('/registry/v1/users/grace', { roles: ['editor'], display_name: 'Grace' });
    const member = `/registry/v1/workspaces/${org.workspaceId}/members/grace`;
    await owner.put(member, { roles: ['viewer'] });
    await owner.put(member, { roles: ['editor'] });
    await owner.delete(member);
    await owner.post(`${path}/archive`);
    await owner.patch('/registry/v1/org', { name: 'Acme' });
    const entries = await entriesOf('?principal_id=ada&sort=created_at');
    const ofKey = [
      { member: 'service_account_id', after: account.service_account_id },
      { member: 'name', after: 'laptop' },
      { member: 'prefix', after: key.prefix },
    ];
    expect(entries.map(reported)).toEqual([
      [
        'create',
        'service_account',
        account.service_account_id,
        [
          { member: 'name', after: 'ci' },
          { member: 'roles', after: ['viewer'] },
          { member: 'workspace_ids', after: [org.workspaceId] },
        ],
      ],
      [
        'update',
        'service_account',
        account.service_account_id,
        [
          { member: 'status', before: 'active', after: 'suspended' },
          { member: 'roles', before: ['viewer'], after: ['editor'] },
        ],
      ],
      [
        'update',
        'service_account',
        account.service_account_id,
        [{ member: 'status', before: 'suspended', after: 'active' }],
      ],
      ['create', 'api_key', key.key_id, ofKey],
      ['revoke', 'token', expect.any(String), [{ member: 'issuer', after: expect.any(String) as string }]],
      ['revoke', 'api_key', key.key_id, ofKey],
      ['create', 'user', 'grace', [{ member: 'roles', after: ['viewer'] }]],
      [
        'update',
        'user',
        'grace',
        [
          { member: 'display_name', before: null, after: 'Grace' },
          { member: 'roles', before: ['viewer'], after: ['editor'] },
        ],
      ],
      ['create', 'member', 'grace', [{ member: 'roles', after: ['viewer'] }]],
      ['update', 'member', 'grace', [{ member: 'roles', before: ['viewer'], after: ['editor'] }]],
      ['delete', 'member', 'grace', [{ member: 'roles', before: ['editor'] }]],
      ['archive', 'service_account', account.service_account_id, []],
      ['update', 'org', org.orgId, [{ member: 'name', before: org.orgId, after: 'Acme' }]],
    ]);
    const everything = JSON.stringify(await entriesOf('?limit=500'));
    expect(everything).not.toContain(key.key);
    expect(everything).not.toContain(exchanged.body.access_token);
  });

  it('records changes of scorers and rules', async () => {
    const by = owner.in(org.workspaceId);
    const of = { workspace_id: org.workspaceId };
    const { body: dataset } = await by.post('/eval/v1/datasets', { ...of, name: 'cases' });
    await by.patch(`/eval/v1/datasets/${dataset.dataset_id}`, { name: 'questions', metadata: { a: 1 } });
    await by.patch(`/eval/v1/datasets/${dataset.dataset_id}`, { name: 'questions' });
    await by.post(`/eval/v1/datasets/${dataset.dataset_id}/records`, { ...of, input: 1 });
    await by.post(`/eval/v1/datasets/${dataset.dataset_id}/archive`);
    const { body: experiment } = await by.post('/eval/v1/experiments', { ...of, name: 'sums' });
    const path = `/eval/v1/experiments/${experiment.experiment_id}`;
    await by.post(`${path}/results`, { ...of, case_id: '1' });
    await by.patch(path, { config: { m: 1 }, experiment_status: 'completed', metrics: { cases: 1 } });
    await by.post(`${path}/archive`);
    const definition = { checks: [{ type: 'equals' }] };
    const code = { ...of, name: 'exact', scorer_kind: 'code', definition };
    const { body: scorer } = await by.post('/eval/v1/scorers', code);
    const rules = `/eval/v1/scorers/${scorer.scorer_id}/rules`;
    const { body: rule } = await by.post(rules, { ...of, sample_rate: 0.5 });
    await by.patch(`${rules}/${rule.rule_id}`, { sample_rate: 0.25 });
    await by.post(`${rules}/${rule.rule_id}/archive`);
    await by.patch(`/eval/v1/scorers/${scorer.scorer_id}`, { name: 'equal', description: 'of both' });
    await by.post(`/eval/v1/scorers/${scorer.scorer_id}/archive`);
    const entries = await entriesOf(
      `?workspace_id=${org.workspaceId}&sort=created_at&since=${dataset.created_at}`,
    );
    expect(entries.map(({ action, resource_type, changes }) => [action, resource_type, changes])).toEqual([
      ['create', 'dataset', [{ member: 'name', after: 'cases' }]],
      [
        'update',
        'dataset',
        [{ member: 'name', before: 'cases', after: 'questions' }, { member: 'metadata' }],
      ],
      ['archive', 'dataset', []],
      ['create', 'experiment', [{ member: 'name', after: 'sums' }]],
      [
        'update',
        'experiment',
        [
          { member: 'config' },
          { member: 'metrics' },
          { member: 'experiment_status', before: 'running', after: 'completed' },
        ],
      ],
      ['archive', 'experiment', []],
      ['create', 'scorer', [{ member: 'name', after: 'exact' }]],
      ['create', 'scoring_rule', [{ member: 'scorer_id', after: scorer.scorer_id }]],
      ['update', 'scoring_rule', [{ member: 'sample_rate', before: 0.5, after: 0.25 }]],
      ['archive', 'scoring_rule', []],
      ['update', 'scorer', [{ member: 'name', before: 'exact', after: 'equal' }, { member: 'description' }]],
      ['archive', 'scorer', []],
    ]);
  });

  it('records actions of platform principals', async () => {
    const claims = { sub: 'operator', org_id: undefined, user_id: undefined, principal_type: 'platform' };
    const platform = app.api(await app.issuer.issueToken(claims));
    await platform.patch(`/registry/v1/orgs/${org.orgId}`, { status: 'suspended' });
    await platform.patch(`/registry/v1/orgs/${org.orgId}`, { status: 'active' });
    const entries = await entriesOf('?principal_id=operator&sort=created_at');
    expect(entries.map((entry) => entry.changes)).toEqual([
      [{ member: 'status', before: 'active', after: 'suspended' }],
      [{ member: 'status', before: 'suspended', after: 'active' }],
    ]);
    const made = await platform.post('/registry/v1/orgs', { name: 'new', owner_user_id: 'grace' });
    const theirs = app.api(
      await app.issuer.issueToken({ sub: 'grace', org_id: made.body.org_id, user_id: 'grace' }),
    );
    expect((await entriesOf('?sort=created_at', theirs)).map(reported)).toEqual([
      ['create', 'org', made.body.org_id, [{ member: 'name', after: 'new' }]],
      ['create', 'user', 'grace', [{ member: 'roles', after: ['owner'] }]],
    ]);
  });

  it('is filtered by each member, and by time', async () => {
    const body = { workspace_id: org.workspaceId, url: 'https://git.example.com/a/b' };
    const { body: repo } = await owner.post('/registry/v1/repos', body);
    const path = `/registry/v1/repos/${repo.repo_id}`;
    await owner.patch(path, { name: 'c' });
    const [first, second] = await entriesOf('?resource_type=repo&sort=created_at');
    for (const [query, expected] of [
      [`resource_id=${repo.repo_id}`, [second, first]],
      ['resource_type=repo&action=update', [second]],
      ['resource_type=repo&principal_id=grace', []],
      [`resource_type=repo&workspace_id=${org.workspaceId}`, [second, first]],
      ['resource_type=repo&workspace_id=wsp_nope', []],
      [`resource_type=repo&since=${first!.created_at}`, [second, first]],
      [`resource_type=repo&until=${first!.created_at}`, []],
      ['resource_type=skill', []],
    ] as const) {
      expect([query, await entriesOf(`?${query}`)]).toEqual([query, expected]);
    }
    expect((await owner.get(`${LOG}?action=nothing`)).status).toBe(422);
    expect((await owner.get(`${LOG}?resource=x`)).status).toBe(400);
    expect((await owner.get(`${LOG}?sort=name`)).status).toBe(422);
    expect((await owner.get(`${LOG}?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z`)).status).toBe(
      400,
    );
  });

  it('shows admins only what they administer', async () => {
    const elsewhere = await org.newWorkspace('elsewhere');
    for (const workspace_id of [org.workspaceId, elsewhere]) {
      await owner.post('/registry/v1/repos', { workspace_id, url: 'https://git.example.com/a/b' });
    }
    expect((await (await org.member('publisher')).get(LOG)).status).toBe(403);
    const bound = app.api((await org.serviceAccount('admin')).key);
    const seen = await entriesOf('?limit=500', bound);
    expect(new Set(seen.map((entry) => entry.workspace_id))).toEqual(new Set([org.workspaceId]));
    expect(await entriesOf(`?workspace_id=${elsewhere}`, bound)).toEqual([]);
    const narrowed = await entriesOf(`?limit=500&workspace_id=${elsewhere}`);
    expect(new Set(narrowed.map((entry) => entry.workspace_id))).toEqual(new Set([elsewhere]));
    const stranger = await newOrganization(app);
    const theirs = await entriesOf('?limit=500', await stranger.member('owner'));
    expect(theirs.map((entry) => entry.resource_id)).not.toContain(org.workspaceId);
  });
});
