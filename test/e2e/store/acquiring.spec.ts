import { sharedApp } from '#testing';
import {
  type Acquisition,
  ACQUISITIONS,
  ITEMS,
  OPEN,
  outcome,
  places,
  PUBLISHER,
  StoreOrg,
} from './store.fixture';

describe('acquiring', () => {
  const app = sharedApp();
  let publisher: StoreOrg;

  beforeAll(async () => {
    publisher = await StoreOrg.open(app);
  });

  /** Publishes an agent that everyone may acquire. */
  async function openAgent() {
    const made = await publisher.agent({ name: `agent ${Date.now()} ${Math.random()}` });
    const item = await publisher.publish('agent', made.agent_id, { category: 'agents' });
    return { ...made, item: await publisher.setPolicy(item.store_item_id, OPEN) };
  }

  const stateOf = (org: StoreOrg) =>
    app.database.query(
      `SELECT (SELECT count(*) FROM agents WHERE org_id = $1) AS agents, (SELECT count(*) FROM skills WHERE org_id = $1) AS skills,
         (SELECT count(*) FROM mcp_servers WHERE org_id = $1) AS servers,
         (SELECT count(*) FROM store_acquisitions WHERE org_id = $1) AS acquisitions`,
      [org.id],
    );

  it('installs copies of all components, which refer to each other', async () => {
    const org = await StoreOrg.open(app);
    const { item, agent_id } = await openAgent();
    const answer = await org.acquire(item.store_item_id);
    expect(answer.status).toBe(201);
    const { body } = answer;
    expect(answer.headers.get('location')).toBe(`${ACQUISITIONS}/${body.acquisition_id}`);
    expect(body.acquisition_id).toMatch(/^acq_/);
    expect(body).toMatchObject({ store_item_id: item.store_item_id, release_id: item.source.release_id, workspace_id: org.workspace, is_upgradable: false, latest_release_id: item.source.release_id });
    expect(body.copies.map(({ key, source }) => [key, source])).toEqual(item.manifest.components.map(({ key, source }) => [key, source]));
    expect(body.copies.map(({ change }) => change)).toEqual(['created', 'created', 'created']);
    const copyOf = (kind: string) => body.copies.find((copy) => copy.kind === kind)!;
    const agent = (await org.admin.get(`/agent/v1/agents/${copyOf('agent').artifact_id}`)).body;
    expect(agent.skills).toEqual([{ skill_id: copyOf('skill').artifact_id, version_ordinal: 1 }]);
    expect(agent.tools).toEqual([{ server_id: copyOf('mcp_server').artifact_id, tool_name: 'search' }]);
    expect(agent.acquired_from).toEqual({ store_item_id: item.store_item_id, release_id: item.source.release_id, artifact_id: agent_id, version_id: item.manifest.root.version_id, version_ordinal: 1 });
    expect((await org.admin.get(answer.headers.get('location')!)).body).toEqual(body);
  }); // oxfmt-ignore

  it('returns the same acquisition when repeated, even for concurrent requests', async () => {
    const org = await StoreOrg.open(app);
    const { item } = await openAgent();
    const answers = await Promise.all([1, 2, 3].map(() => org.acquire(item.store_item_id)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect((await org.acquire(item.store_item_id)).status).toBe(200);
    expect(await stateOf(org)).toEqual([{ agents: 1, skills: 1, servers: 1, acquisitions: 1 }]);
  });

  it('installs all or nothing', async () => {
    const org = await StoreOrg.open(app);
    const { item } = await openAgent();
    const name = item.manifest.components.at(-1)!.key;
    const { body: agent } = await publisher.admin.get(`/agent/v1/agents/${item.source.artifact_id}`);
    await org.make('/agent/v1/agents', { name: agent.name });
    const before = await stateOf(org);
    const answer = await org.acquire(item.store_item_id);
    expect([name, ...outcome(answer)]).toEqual([name, 409, 'conflict']);
    expect(await stateOf(org)).toEqual(before);
  });

  it('is rejected unless the publisher offers the item for it', async () => {
    const org = await StoreOrg.open(app);
    const closed = await publisher.item({}, { ...OPEN, can_acquire: false });
    const unoffered = await publisher.item({ actions: ['download', 'run'] }, OPEN);
    const hidden = await publisher.item({}, { ...OPEN, audience: { is_public: false } });
    const answers = [];
    for (const item of [closed, unoffered, hidden]) answers.push(await org.acquire(item.store_item_id));
    expect(answers.map(outcome)).toEqual([
      [403, 'forbidden'],
      [403, 'forbidden'],
      [404, 'not_found'],
    ]);
  });

  it('requires the role editor in the workspace, and validates its body', async () => {
    const org = await StoreOrg.open(app);
    const item = await publisher.item({}, OPEN);
    const path = `${ITEMS}/${item.store_item_id}/acquire`;
    const viewer = await org.org.member('viewer');
    const workspace_id = org.workspace;
    expect(outcome(await viewer.post(path, { workspace_id }))).toEqual([403, 'access_denied']);
    const refused: [object, string][] = [
      [{}, '/workspace_id'],
      [{ workspace_id: publisher.workspace }, '/workspace_id'],
      [{ workspace_id, release_id: 'rel_x' }, '/release_id'],
      [{ workspace_id, release_id: 1 }, '/release_id'],
      [{ workspace_id, release: 'x' }, '/release'],
    ];
    for (const [body, pointer] of refused) {
      const answer = await org.admin.post(path, body);
      expect([...outcome(answer), places(answer)]).toEqual([400, 'invalid_request', [pointer]]);
    }
    const editor = await org.org.member('editor');
    expect((await editor.post(path, { workspace_id })).status).toBe(201);
  });

  it('upgrades to the newest release, and reports what changed', async () => {
    const org = await StoreOrg.open(app);
    const { item, agent_id, skill_id } = await openAgent();
    const { body: first } = await org.acquire(item.store_item_id);
    await publisher.admin.patch(`/skill/v1/skills/${skill_id}`, { instructions: '# Better' });
    const added = await publisher.skill();
    await publisher.admin.patch(`/agent/v1/agents/${agent_id}`, { tools: [], skills: [{ skill_id }, { skill_id: added.skill_id }] });
    const released = await publisher.release(item.store_item_id);
    const path = `${ACQUISITIONS}/${first.acquisition_id}`;
    expect((await org.admin.get(path)).body).toMatchObject({ is_upgradable: true, release_id: item.source.release_id, latest_release_id: released.source.release_id });
    const upgraded = await org.admin.post<Acquisition>(`${path}/upgrade`);
    expect(upgraded.status).toBe(200);
    expect(upgraded.body).toMatchObject({ release_id: released.source.release_id, is_upgradable: false });
    const copies = new Map(first.copies.map((copy) => [copy.kind, copy.artifact_id]));
    const changes = upgraded.body.changes!.map(({ kind, artifact_id, change }) => [kind, change, artifact_id === copies.get(kind)]);
    expect(changes).toEqual([
      ['skill', 'updated', true],
      ['skill', 'created', false],
      ['agent', 'updated', true],
      ['mcp_server', 'removed', true],
    ]);
    expect((await org.admin.get(`/mcp/v1/servers/${copies.get('mcp_server')}`)).body.archived_at).toBeNull();
    const { changes: unchanged, ...again } = (await org.admin.post<Acquisition>(`${path}/upgrade`, {})).body;
    expect(new Set(unchanged!.map(({ change }) => change))).toEqual(new Set(['unchanged']));
    const { changes: _, ...known } = upgraded.body;
    expect(again).toEqual(known);
    const back = await org.admin.post<Acquisition>(`${path}/upgrade`, { release_id: item.source.release_id });
    expect(back.body).toMatchObject({ release_id: item.source.release_id, is_upgradable: true });
  }); // oxfmt-ignore

  it('keeps edits of copies until there is a new release, and then reports the replaced version', async () => {
    const org = await StoreOrg.open(app);
    const { skill_id } = await publisher.skill();
    const item = await publisher.publish('skill', skill_id);
    await publisher.setPolicy(item.store_item_id, OPEN);
    const { body } = await org.acquire(item.store_item_id);
    const path = `${ACQUISITIONS}/${body.acquisition_id}/upgrade`;
    const copy = `/skill/v1/skills/${body.copies[0]!.artifact_id}`;
    await org.admin.patch(copy, { instructions: 'ours' });
    const same = await org.admin.post<Acquisition>(path);
    expect(same.body.changes).toMatchObject([{ change: 'unchanged', replaced_version_ordinal: null }]);
    expect((await org.admin.get(copy)).body.instructions).toContain('ours');
    await publisher.admin.patch(`/skill/v1/skills/${skill_id}`, { instructions: 'theirs' });
    await publisher.release(item.store_item_id);
    const upgraded = await org.admin.post<Acquisition>(path);
    expect(upgraded.body.changes).toMatchObject([{ change: 'updated', replaced_version_ordinal: 2 }]);
    expect((await org.admin.get(copy)).body.instructions).toContain('theirs');
    expect((await org.admin.get(`${copy}/versions/2`)).body.instructions).toContain('ours');
  });

  it('creates archived copies again, and undoes edits if the request names the release', async () => {
    const org = await StoreOrg.open(app);
    const item = await publisher.item({}, OPEN);
    const { body } = await org.acquire(item.store_item_id);
    const path = `${ACQUISITIONS}/${body.acquisition_id}/upgrade`;
    const [copy] = body.copies;
    await org.admin.patch(`/skill/v1/skills/${copy!.artifact_id}`, { instructions: 'ours' });
    const undone = await org.admin.post<Acquisition>(path, { release_id: item.source.release_id });
    expect(undone.body.changes).toMatchObject([{ change: 'updated', replaced_version_ordinal: 2 }]);
    await org.admin.post(`/skill/v1/skills/${copy!.artifact_id}/archive`);
    const again = await org.admin.post<Acquisition>(path);
    expect(again.body.changes).toMatchObject([{ change: 'created', replaced_version_ordinal: null }]);
  });

  it('does not upgrade an item that is no longer offered, and keeps the copies', async () => {
    const org = await StoreOrg.open(app);
    const item = await publisher.item({}, OPEN);
    const { body } = await org.acquire(item.store_item_id);
    const path = `${ACQUISITIONS}/${body.acquisition_id}`;
    expect(places(await org.admin.post(`${path}/upgrade`, { release_id: 'rel_x' }))).toEqual(['/release_id']);
    await publisher.setPolicy(item.store_item_id, { ...OPEN, can_acquire: false });
    expect(outcome(await org.admin.post(`${path}/upgrade`))).toEqual([403, 'forbidden']);
    await publisher.admin.post(`${PUBLISHER}/${item.store_item_id}/withdraw`);
    expect(outcome(await org.admin.post(`${path}/upgrade`))).toEqual([403, 'forbidden']);
    expect((await org.admin.get(path)).body).toMatchObject({ latest_release_id: null, is_upgradable: false });
    const [copy] = body.copies;
    expect((await org.admin.get(`/skill/v1/skills/${copy!.artifact_id}`)).status).toBe(200);
  });

  it('lists acquisitions by workspace and item, for callers who may read there', async () => {
    const org = await StoreOrg.open(app);
    const otherWorkspace = await org.org.newWorkspace();
    const items = [await publisher.item({}, OPEN), await publisher.item({}, OPEN)];
    await org.acquire(items[0]!.store_item_id);
    await org.acquire(items[0]!.store_item_id, { workspace_id: otherWorkspace });
    await org.acquire(items[1]!.store_item_id);
    const list = async (query: string) => {
      const { body } = await org.admin.get<{ items: Acquisition[] }>(`${ACQUISITIONS}?${query}`);
      return body.items.map(({ store_item_id, workspace_id }) => [
        items.findIndex((item) => item.store_item_id === store_item_id),
        workspace_id === otherWorkspace,
      ]);
    };
    expect(await list('')).toEqual([[1, false], [0, true], [0, false]]); // oxfmt-ignore
    expect(await list(`workspace_id=${otherWorkspace}`)).toEqual([[0, true]]);
    expect(await list(`store_item_id=${items[0]!.store_item_id}&limit=1`)).toEqual([[0, true]]);
    expect(await list('workspace_id=wsp_x')).toEqual([]);
    const others = await publisher.admin.get<{ items: Acquisition[] }>(
      `${ACQUISITIONS}?workspace_id=${otherWorkspace}`,
    );
    expect(others.body.items).toEqual([]);
  });

  it('pins acquired resources that are published again to their original release', async () => {
    const org = await StoreOrg.open(app);
    const item = await publisher.item({}, OPEN);
    const { body } = await org.acquire(item.store_item_id);
    const again = await org.publish('skill', body.copies[0]!.artifact_id);
    expect(again.manifest.root.release_id).toBe(item.source.release_id);
    expect(again.sha256).toBe(item.sha256);
  });

  it('is recorded in the audit log of the workspace', async () => {
    const org = await StoreOrg.open(app);
    const item = await publisher.item({}, OPEN);
    const { body } = await org.acquire(item.store_item_id);
    const path = `/registry/v1/audit-log?resource_type=acquisition&resource_id=${body.acquisition_id}`;
    const log = await org.admin.get<{ items: { action: string }[] }>(path);
    expect(log.body.items.map(({ action }) => action)).toEqual(['create']);
  });

  describe('an item', () => {
    let buyer: StoreOrg;

    beforeEach(async () => {
      buyer = await StoreOrg.open(app);
    });

    const acquire = (item: string) => buyer.acquire(item);

    it('is not blocked by an upload of the same bytes', async () => {
      const path = `/file/v1/files?workspace_id=${publisher.workspace}`;
      const file = await publisher.admin.post<{ file_id: string }>(path, Buffer.alloc(0));
      const answers = await Promise.all(
        ['one', 'two', 'three'].map((name) => publisher.admin.post(`${path}&name=${name}`, Buffer.alloc(0))),
      );
      expect([file.status, ...answers.map(({ status }) => status)]).toEqual([201, 201, 201, 201]);
    });

    it('returns the same acquisition when repeated, even if the item is no longer offered', async () => {
      const item = await publisher.item({}, OPEN);
      const first = await acquire(item.store_item_id);
      await publisher.setPolicy(item.store_item_id, { ...OPEN, can_acquire: false });
      const again = await acquire(item.store_item_id);
      expect([again.status, again.body.acquisition_id]).toEqual([200, first.body.acquisition_id]);
      await publisher.admin.post(`${PUBLISHER}/${item.store_item_id}/withdraw`);
      const withdrawn = await acquire(item.store_item_id);
      expect([withdrawn.status, withdrawn.body.acquisition_id, withdrawn.body.latest_release_id]).toEqual([
        200,
        first.body.acquisition_id,
        null,
      ]);
    });

    it('returns 409 if a repeat names a release other than the installed one', async () => {
      const item = await publisher.item({}, OPEN);
      const path = `${ITEMS}/${item.store_item_id}/acquire`;
      const first = item.source.release_id;
      await publisher.release(item.store_item_id);
      await acquire(item.store_item_id);
      const body = { workspace_id: buyer.workspace, release_id: first };
      expect(await buyer.admin.post(path, body)).toMatchObject({ status: 409, body: { code: 'conflict' } });
    });

    it('names the component whose name is taken', async () => {
      const { skill_id, name } = await publisher.skill();
      const item = await publisher.publish('skill', skill_id);
      await publisher.setPolicy(item.store_item_id, OPEN);
      await buyer.skill({ name });
      const { status, body } = await acquire(item.store_item_id);
      expect([status, (body as unknown as { detail: string }).detail]).toEqual([
        409,
        expect.stringContaining(`The skill "${name}" of the package cannot be installed.`),
      ]);
    });

    it('can choose among the releases in the catalogue, which do not show who created them', async () => {
      const item = await publisher.item({ version_label: '1', release_notes: 'first' }, OPEN);
      await publisher.release(item.store_item_id);
      const { status, body } = await buyer.admin.get(`${ITEMS}/${item.store_item_id}/releases`);
      expect([status, body.page.total]).toEqual([200, 2]);
      expect(body.items[0]).toMatchObject({ version_label: null, release_notes: null });
      expect(body.items[1]).toMatchObject({ version_label: '1', release_notes: 'first' });
      expect(body.items[1].release_id).toBe(item.source.release_id);
      expect(body.items[1]).not.toHaveProperty('created_by');
      await publisher.setPolicy(item.store_item_id, { ...OPEN, audience: { is_public: false } });
      expect((await buyer.admin.get(`${ITEMS}/${item.store_item_id}/releases`)).status).toBe(404);
    });

    it('keeps the name and metadata that were set on a copy, because they have no versions', async () => {
      const path = `/file/v1/files?workspace_id=${publisher.workspace}&name=theirs`;
      const { body: file } = await publisher.admin.post<{ file_id: string }>(path, Buffer.from('1'));
      const item = await publisher.publish('file', file.file_id);
      await publisher.setPolicy(item.store_item_id, OPEN);
      const { body } = await acquire(item.store_item_id);
      const copy = `/file/v1/files/${body.copies[0]!.artifact_id}`;
      await buyer.admin.patch(copy, { name: 'ours', metadata: { by: 'us' } });
      await publisher.admin.post(`/file/v1/files/${file.file_id}/versions`, Buffer.from('2'));
      await publisher.release(item.store_item_id);
      const upgraded = await buyer.admin.post(`${ACQUISITIONS}/${body.acquisition_id}/upgrade`);
      expect(upgraded.body.changes).toMatchObject([{ change: 'updated' }]);
      expect((await buyer.admin.get(copy)).body).toMatchObject({
        name: 'ours',
        metadata: { by: 'us' },
        version_ordinal: 2,
      });
    });
  });
});
