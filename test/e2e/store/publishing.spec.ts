import { type ApiClient, sharedApp } from '#testing';
import {
  ALL_ACTIONS,
  type Fields,
  ITEMS,
  OPEN,
  outcome,
  places,
  PUBLISHER,
  sha256,
  type StoreItem,
  StoreOrg,
  unpacked,
} from './store.fixture';

describe('publishing', () => {
  const app = sharedApp();
  let org: StoreOrg;

  beforeAll(async () => {
    org = await StoreOrg.open(app);
  });

  it('packs an agent with the current versions of its skills and servers', async () => {
    const { agent_id, skill_id, server_id } = await org.agent({ max_step_count: 7 });
    const item = await org.publish('agent', agent_id, { category: 'agents' });
    const [first, second, root] = item.manifest.components;
    expect(item.manifest.components).toHaveLength(3);
    expect(new Set([first!.source.artifact_id, second!.source.artifact_id])).toEqual(new Set([skill_id, server_id]));
    expect(root).toEqual({ key: expect.stringMatching(/^agents\/planner-\d+@sha256:[0-9a-f]{64}$/), source: item.manifest.root, parent_key: null });
    expect([first!.parent_key, second!.parent_key]).toEqual([root!.key, root!.key]);
    expect(item.manifest.root).toMatchObject({ kind: 'agent', artifact_id: agent_id, version_ordinal: 1, release_id: null });
    const skill = item.manifest.components.find(({ source }) => source.kind === 'skill')!;
    const { source_digest, name } = (await org.admin.get<{ source_digest: string; name: string }>(`/skill/v1/skills/${skill_id}`)).body;
    expect(skill.key).toBe(`skills/${name}@sha256:${source_digest}`);
    expect(item.agent_profile).toEqual({
      capabilities: [{ kind: 'tool', name: 'search' }, { kind: 'skill', name }],
      required_permissions: ['files.read'],
      dependencies: [{ skill_id, version_ordinal: 1, source_digest }],
      has_pinned_skills: true,
      max_step_count: 7,
    });
  }); // oxfmt-ignore

  it('creates an item that is private, not listed and not acquirable, with policy generation 1', async () => {
    const item = await org.item();
    expect(item.policy).toEqual({
      generation: 1,
      audience: { is_public: false, org_ids: [] },
      is_listed: false,
      can_acquire: false,
    });
    expect([item.is_reviewed, item.agent_profile, item.publisher_org_id]).toEqual([false, null, org.id]);
  });

  it('shows the publisher who created the item, where and when, but not in the list of all items', async () => {
    const item = await org.item();
    const path = `${PUBLISHER}/${item.store_item_id}`;
    const created = (await org.admin.get<Fields>(path)).body;
    expect(created).toEqual({
      ...item,
      workspace_id: org.workspace,
      signature: null,
      created_at: expect.stringMatching(/Z$/),
      updated_at: created.created_at,
      created_by: expect.any(String),
      archived_at: null,
    });
    const answers = [
      await org.admin.patch<Fields>(path, { name: 'Other' }),
      await org.admin.put<Fields>(`${path}/policy`, OPEN),
      await org.admin.post<Fields>(`${path}/releases`, {}),
      await org.admin.post<Fields>(`${path}/withdraw`),
    ];
    for (const { body } of answers) expect(Object.keys(body).sort()).toEqual(Object.keys(created).sort());
    const withdrawn = answers.at(-1)!.body;
    expect(withdrawn.archived_at).toBe(withdrawn.updated_at);
    const { items } = (await org.admin.get<{ items: Fields[] }>(`${PUBLISHER}?limit=1`)).body;
    expect(items.map((one) => one.store_item_id)).toEqual([item.store_item_id]);
    expect(items[0]).not.toHaveProperty('workspace_id');
    expect(items[0]).not.toHaveProperty('archived_at');
  });

  it('stores the bytes that the item describes', async () => {
    const { agent_id } = await org.agent();
    const item = await org.publish('agent', agent_id);
    const bytes = await org.download(item.store_item_id);
    expect([sha256(bytes), bytes.length]).toEqual([item.sha256, item.size_bytes]);
    const components = await unpacked(bytes);
    expect(components.map(({ key }) => key)).toEqual(item.manifest.components.map(({ key }) => key));
    expect(components.reduce((sum, { files }) => sum + Object.keys(files).length, 1)).toBe(item.file_count);
    const text = JSON.stringify(components);
    expect(text).not.toMatch(/(agt|skl|mcps|ver|wsp|org)_[0-9a-z]{26}/);
  });

  it('produces the same bytes for the same content, even in another organization', async () => {
    const other = await StoreOrg.open(app);
    const skill = { name: 'sums', description: 'Adds.', instructions: '# How' };
    const made = [await org.skill(skill), await other.skill(skill)];
    const items = [
      await org.publish('skill', made[0]!.skill_id),
      await org.publish('skill', made[0]!.skill_id),
      await other.publish('skill', made[1]!.skill_id),
    ];
    expect(new Set(items.map((item) => item.sha256)).size).toBe(1);
    expect(new Set(items.map((item) => item.store_item_id)).size).toBe(3);
  });

  it('releases new content under the same item, and keeps the policy and the texts', async () => {
    const { skill_id } = await org.skill();
    const first = await org.publish('skill', skill_id, { tagline: 'Adds up', topics: ['sums', 'sums', 'pdf'], version_label: '1' });
    await org.admin.patch(`/skill/v1/skills/${skill_id}`, { instructions: '# Better' });
    const released = await org.admin.post<StoreItem>(`${PUBLISHER}/${first.store_item_id}/releases`, { version_label: '2' });
    expect([released.status, released.headers.get('location')]).toEqual([201, `${PUBLISHER}/${first.store_item_id}`]);
    const second = released.body;
    expect(second).toMatchObject({ store_item_id: first.store_item_id, policy: first.policy, tagline: 'Adds up', topics: ['sums', 'pdf'], version_label: '2' });
    expect([second.publication_id === first.publication_id, second.source.release_id === first.source.release_id, second.sha256 === first.sha256]).toEqual([false, false, false]);
    const { body } = await org.admin.get<{ items: { release_id: string; version_label: string; sha256: string }[] }>(`${PUBLISHER}/${first.store_item_id}/releases`);
    expect(body.items.map(({ release_id, version_label, sha256 }) => [release_id, version_label, sha256])).toEqual([
      [second.source.release_id, '2', second.sha256],
      [first.source.release_id, '1', first.sha256],
    ]);
    expect(sha256(await org.download(first.store_item_id, `?release_id=${first.source.release_id}`))).toBe(first.sha256);
  }); // oxfmt-ignore

  it('publishes the requested version', async () => {
    const { skill_id, version_id } = await org.skill();
    await org.admin.patch(`/skill/v1/skills/${skill_id}`, { instructions: '# Better' });
    const item = await org.publish('skill', skill_id, {
      artifact: { kind: 'skill', artifact_id: skill_id, version_id },
    });
    expect(item.manifest.root).toMatchObject({ version_id, version_ordinal: 1 });
  });

  it('replays the response for an Idempotency-Key instead of publishing twice', async () => {
    const { skill_id } = await org.skill();
    const key = { 'idempotency-key': 'once' };
    const send = (): Promise<{ status: number; body: StoreItem }> =>
      org.admin.post<StoreItem>(PUBLISHER, org.bodyOf('skill', skill_id), key);
    const [first, second] = [await send(), await send()];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
  });

  it.each<[string, object, number, string[]]>([
    ['an unknown category', { category: 'x' }, 422, ['/category']],
    ['an unknown action', { actions: ['install', 'x'] }, 422, ['/actions/1']],
    ['no action', { actions: [] }, 400, ['/actions']],
    ['an action twice', { actions: ['run', 'run'] }, 400, ['/actions']],
    ['an unknown kind', { artifact: { kind: 'x', artifact_id: 'skl_x' } }, 422, ['/artifact/kind']],
    ['an unknown resource', { artifact: { kind: 'skill', artifact_id: 'skl_x' } }, 400, ['/artifact/artifact_id']],
    ['a missing artifact', { artifact: undefined }, 400, ['/artifact']],
    ['an artifact that is null', { artifact: null }, 400, ['/artifact']],
    ['an artifact with an unknown member', { artifact: { kind: 'skill', artifact_id: 'x', id: 1 } }, 400, ['/artifact/id']],
    ['an unknown workspace', { workspace_id: 'wsp_x' }, 400, ['/workspace_id']],
    ['a name that is too long', { name: 'n'.repeat(256) }, 400, ['/name']],
    ['an empty license', { license: '' }, 400, ['/license']],
    ['an artwork that is not https', { artwork: 'http://example.com/a.png' }, 400, ['/artwork']],
    ['an artwork that is a script', { artwork: 'javascript:alert(1)' }, 400, ['/artwork']],
    ['too many topics', { topics: Array.from({ length: 21 }, (_, i) => `t${i}`) }, 400, ['/topics']],
    ['an empty topic', { topics: [''] }, 400, ['/topics']],
    ['a highlight that is too long', { highlights: ['h'.repeat(256)] }, 400, ['/highlights']],
    ['release notes that are too long', { release_notes: 'n'.repeat(10_001) }, 400, ['/release_notes']],
    ['a version label that is too long', { version_label: 'v'.repeat(65) }, 400, ['/version_label']],
    ['an unknown organization', { audience: { is_public: false, org_ids: ['org_x'] } }, 400, ['/audience/org_ids/0']],
    ['an audience without is_public', { audience: {} }, 400, ['/audience/is_public']],
    ['an unknown member', { licence: 'MIT' }, 400, ['/licence']],
  ])('rejects %s, and names it', async (_, body, status, pointers) => {
    const { skill_id } = await org.skill();
    const answer = await org.admin.post(PUBLISHER, org.bodyOf('skill', skill_id, body as Record<string, unknown>));
    expect([answer.status, places(answer)]).toEqual([status, pointers]);
  }); // oxfmt-ignore

  it('rejects a version of another resource, and names the member', async () => {
    const [one, other] = [await org.skill(), await org.skill()];
    const artifact = { kind: 'skill', artifact_id: one.skill_id, version_id: other.version_id };
    const answer = await org.admin.post(PUBLISHER, org.bodyOf('skill', one.skill_id, { artifact }));
    expect([...outcome(answer), places(answer)]).toEqual([400, 'invalid_request', ['/artifact/version_id']]);
  });

  it('rejects another resource, workspace or audience for a release', async () => {
    const { store_item_id } = await org.item();
    const other = await org.skill();
    const otherWorkspace = await org.org.newWorkspace();
    const bodies: [object, string][] = [
      [{ artifact: { kind: 'skill', artifact_id: other.skill_id } }, '/artifact/artifact_id'],
      [{ workspace_id: otherWorkspace }, '/workspace_id'],
      [{ audience: { is_public: true } }, '/audience'],
    ];
    for (const [body, pointer] of bodies) {
      const answer = await org.admin.post(`${PUBLISHER}/${store_item_id}/releases`, body);
      expect([...outcome(answer), places(answer)]).toEqual([422, 'validation_failed', [pointer]]);
    }
  });

  it('changes texts by a merge patch, with the ETag of the item', async () => {
    const { store_item_id } = await org.item({ tagline: 'old', topics: ['a'] });
    const path = `${PUBLISHER}/${store_item_id}`;
    const { headers } = await org.admin.get(path);
    const patched = await org.admin.patch(
      path,
      { name: 'New', tagline: null, topics: null, release_notes: 'Notes' },
      { 'if-match': headers.get('etag')! },
    );
    expect(patched.body).toMatchObject({ name: 'New', tagline: null, topics: [], release_notes: 'Notes' });
    const stale = await org.admin.patch(path, { name: 'x' }, { 'if-match': headers.get('etag')! });
    expect(outcome(stale)).toEqual([412, 'precondition_failed']);
    const same = await org.admin.patch(path, patched.body as object);
    expect([same.status, same.headers.get('etag')]).toEqual([200, patched.headers.get('etag')]);
    const { body } = await org.admin.get<{ items: { release_notes: string }[] }>(`${path}/releases`);
    expect(body.items[0]!.release_notes).toBe('Notes');
  });

  it('requires the role publisher in the workspace of the resource', async () => {
    const item = await org.item();
    const editor = await org.org.member('editor');
    const path = `${PUBLISHER}/${item.store_item_id}`;
    const refused = (by: ApiClient) =>
      Promise.all([
        by.post(PUBLISHER, org.bodyOf('skill', item.source.artifact_id)),
        by.patch(path, { name: 'x' }),
        by.put(`${path}/policy`, { audience: { is_public: true }, is_listed: true, can_acquire: true }),
        by.post(`${path}/withdraw`),
        by.post(`${path}/releases`, {}),
      ]);
    for (const answer of await refused(editor)) expect(outcome(answer)).toEqual([403, 'access_denied']);
    const otherWorkspace = await org.org.newWorkspace();
    const account = await org.admin.post<{ service_account_id: string }>('/registry/v1/service-accounts', {
      name: 'beside',
      roles: ['publisher'],
      workspace_ids: [otherWorkspace],
    });
    const keys = `/registry/v1/service-accounts/${account.body.service_account_id}/keys`;
    const key = await org.admin.post<{ key: string }>(keys, { name: 'k' });
    const elsewhere = app.api(key.body.key);
    const [created, ...changes] = await refused(elsewhere);
    expect(outcome(created!)).toEqual([400, 'invalid_request']);
    for (const answer of changes) expect(outcome(answer)).toEqual([403, 'access_denied']);
    const publisher = await org.org.member('publisher');
    expect((await publisher.patch(path, { name: 'x' })).status).toBe(200);
    const viewer = await org.org.member('viewer');
    expect((await viewer.get(path)).status).toBe(200);
    const runtime = await org.org.member('runtime');
    expect(outcome(await runtime.get(path))).toEqual([403, 'access_denied']);
    expect(outcome(await runtime.get(ITEMS))).toEqual([403, 'access_denied']);
  });

  it('makes the item searchable in the registry until it is withdrawn', async () => {
    const item = await org.item({ name: 'Zeppelin', tagline: 'flies' });
    const search = async () => {
      const body = { query: 'zeppelin', types: ['store_item'] };
      const answer = await org.admin.post<{ items: { id: string }[] }>('/registry/v1/search', body);
      return answer.body.items.map(({ id }) => id);
    };
    expect(await search()).toEqual([item.store_item_id]);
    await org.admin.post(`${PUBLISHER}/${item.store_item_id}/withdraw`);
    expect(await search()).toEqual([]);
  });

  it('is recorded in the audit log', async () => {
    const item = await org.item({ actions: ALL_ACTIONS });
    await org.setPolicy(item.store_item_id, {
      audience: { is_public: true },
      is_listed: true,
      can_acquire: false,
    });
    await org.admin.post(`${PUBLISHER}/${item.store_item_id}/withdraw`);
    const path = `/registry/v1/audit-log?resource_type=store_item&resource_id=${item.store_item_id}`;
    const { body } = await org.admin.get<{ items: { action: string }[] }>(path);
    expect(body.items.map(({ action }) => action)).toEqual(['archive', 'update', 'create']);
  });
});
