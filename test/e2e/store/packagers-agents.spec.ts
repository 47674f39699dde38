import { sharedApp } from '#testing';
import { formOf, skillMd } from '../skills/skills.fixture';
import { bytesOf, contentsOf, type Packed, PackagesFixture } from './packages.fixture';

const SECRET = 'sk-the-secret-of-the-publisher';

describe('agent packages', () => {
  const app = sharedApp();
  let publisher: PackagesFixture;
  let buyer: PackagesFixture;
  let packed: Packed;
  let agentId: string;
  let skillId: string;
  let serverId: string;

  /** Creates an agent with a server and a skill. */
  beforeEach(async () => {
    publisher = await PackagesFixture.of(app);
    buyer = await PackagesFixture.of(app);
    const tools = [
      {
        name: 'search',
        title: 'Search',
        description: 'Finds ü.',
        input_schema: { type: 'object', b: 1, a: [null] },
      },
      { name: 'fetch', input_schema: { type: 'object' }, annotations: { readOnlyHint: true } },
    ];
    const auth = { type: 'header', header: 'X-Key', value: SECRET };
    serverId = await publisher.server({ tools, auth, description: 'The desk', metadata: { internal: 1 } });
    const files = [
      ['sums/SKILL.md', skillMd('sums')],
      ['sums/scripts/run.py', Buffer.from([0, 255, 10, 13])],
      ['sums/empty', ''],
    ] as const;
    const form = formOf([...files], publisher.org.workspaceId);
    const type = { 'content-type': 'multipart/form-data; boundary=b' };
    const uploaded = await publisher.editor.post('/skill/v1/skills', form, type);
    expect(uploaded.status).toBe(201);
    skillId = uploaded.body.skill_id;
    agentId = await publisher.agent({
      display_name: 'The planner',
      description: 'plans',
      model: 'gpt-5',
      instructions: 'Plan.\r\n\tThen "act" — twice.',
      tools: [
        { server_id: serverId, tool_name: 'search' },
        { server_id: serverId, tool_name: 'fetch' },
      ],
      skills: [{ skill_id: skillId }],
      required_permissions: ['mail.read', 'mail.send'],
      max_step_count: 7,
      metadata: { b: 1.5, 10: 'ten', 9: 'nine', a: { __proto__x: [null] } },
    });
    packed = await publisher.pack('agent', agentId);
  });

  const agentOf = (id: string, by = buyer) => by.read(`/agent/v1/agents/${id}`);
  const patchAgent = (body: object) => publisher.editor.patch(`/agent/v1/agents/${agentId}`, body);

  it('are installed in another organization with equal content', async () => {
    const [server, skill, agent] = await buyer.install(packed);
    expect([server, skill, agent].map((one) => [one!.kind, one!.name, one!.change])).toEqual([
      ['mcp_server', 'desk', 'created'],
      ['skill', 'sums', 'created'],
      ['agent', 'planner', 'created'],
    ]);
    expect(server!.setup).toBe(
      `Send the server's secret as \`auth.value\` with PATCH /mcp/v1/servers/${server!.artifact_id}.`,
    );
    const original = await agentOf(agentId, publisher);
    const copy = await agentOf(agent!.artifact_id);
    const own = [
      'agent_id',
      'org_id',
      'workspace_id',
      'version_id',
      'created_at',
      'updated_at',
      'created_by',
    ];
    const ownMembers = new Set([...own, 'tools', 'skills', 'acquired_from']);
    const contentOf = (view: object) => Object.entries(view).filter(([member]) => !ownMembers.has(member));
    expect(contentOf(copy)).toEqual(contentOf(original));
    expect(copy.tools).toEqual([
      { server_id: server!.artifact_id, tool_name: 'search' },
      { server_id: server!.artifact_id, tool_name: 'fetch' },
    ]);
    expect(copy.skills).toEqual([{ skill_id: skill!.artifact_id, version_ordinal: 1 }]);

    const names = ['name', 'description', 'url', 'transport', 'is_system'];
    const servers = await Promise.all([
      publisher.read(`/mcp/v1/servers/${serverId}`),
      buyer.read(`/mcp/v1/servers/${server!.artifact_id}`),
    ]);
    const [ofPublisher, ofBuyer] = servers.map((one) => names.map((name) => one[name]));
    expect(ofBuyer).toEqual(ofPublisher);
    expect(servers[1].auth).toMatchObject({ type: 'header', header: 'X-Key', has_value: false });
    expect(servers[1].metadata).toEqual({});
    const toolsOf = async (by: PackagesFixture, id: string) =>
      (await by.read(`/mcp/v1/servers/${id}/tools`)).items.map((tool: any) => [
        tool.name,
        tool.title,
        tool.digest,
      ]);
    expect(await toolsOf(buyer, server!.artifact_id)).toEqual(await toolsOf(publisher, serverId));

    const versionOf = (by: PackagesFixture, id: string) => by.read(`/skill/v1/skills/${id}/versions/1`);
    const [skillThere, skillHere] = [
      await versionOf(publisher, skillId),
      await versionOf(buyer, skill!.artifact_id),
    ];
    expect([skillHere.files, skillHere.source_digest]).toEqual([skillThere.files, skillThere.source_digest]);
    const zip = (by: PackagesFixture, id: string) =>
      by.editor.get(`/skill/v1/skills/${id}/versions/1/content`);
    const zips = [await zip(publisher, skillId), await zip(buyer, skill!.artifact_id)];
    expect(zips[1]!.headers.get('repr-digest')).toBe(zips[0]!.headers.get('repr-digest'));
  });

  it('are installed as agents that can have sessions and are found by search', async () => {
    const { artifact_id } = (await buyer.install(packed)).at(-1)!;
    const session = await buyer.editor.post(`/agent/v1/agents/${artifact_id}/sessions`, { prompt: 'Plan.' });
    expect([session.status, session.body.version_ordinal]).toEqual([201, 1]);
    const search = await buyer.editor.post('/registry/v1/search', { query: 'planner' });
    expect(search.body.items.map((one: any) => one.id)).toContain(artifact_id);
  });

  it('record the release and the version that each copy came from', async () => {
    const copies = await buyer.install(packed, 'rel_1');
    const skill = await buyer.read(`/skill/v1/skills/${copies[1]!.artifact_id}`);
    const { version_id, version_ordinal } = await publisher.read(`/skill/v1/skills/${skillId}`);
    expect(skill.acquired_from).toEqual({
      store_item_id: 'item_1',
      release_id: 'rel_1',
      artifact_id: skillId,
      version_id,
      version_ordinal,
    });
    expect((await publisher.read(`/skill/v1/skills/${skillId}`)).acquired_from).toBeNull();
  });

  it('have the same bytes each time, even when a copy is packed', async () => {
    expect(contentsOf(await publisher.pack('agent', agentId))).toEqual(contentsOf(packed));
    const { artifact_id } = (await buyer.install(packed)).at(-1)!;
    expect(contentsOf(await buyer.pack('agent', artifact_id))).toEqual(contentsOf(packed));
    const { source_digest } = await publisher.read(`/skill/v1/skills/${skillId}`);
    expect(packed[1]!.component.digest).toBe(source_digest);
  });

  it('contain no secrets, ids or other data of the organization', () => {
    const text = bytesOf(packed).toString('latin1');
    const { orgId, workspaceId } = publisher.org;
    for (const secret of [SECRET, agentId, skillId, serverId, orgId, workspaceId, 'ver_', 'internal']) {
      expect(text).not.toContain(secret);
    }
  });

  it('have a profile for the listing', () => {
    expect(packed.at(-1)!.component.profile).toEqual({
      tool_names: ['search', 'fetch'],
      required_permissions: ['mail.read', 'mail.send'],
      max_step_count: 7,
    });
  });

  it('change nothing when they are installed twice', async () => {
    const first = await buyer.install(packed, 'rel_1');
    const paths = ['mcp/v1/servers', 'skill/v1/skills', 'agent/v1/agents'].map(
      (path, index) => `/${path}/${first[index]!.artifact_id}`,
    );
    const before = await Promise.all(paths.map((path) => buyer.read(path)));
    const second = await buyer.install(packed, 'rel_1');
    expect(second.map(({ change }) => change)).toEqual(['unchanged', 'unchanged', 'unchanged']);
    expect(second.map(({ version_id }) => version_id)).toEqual(first.map(({ version_id }) => version_id));
    expect(await Promise.all(paths.map((path) => buyer.read(path)))).toEqual(before);
  });

  it('change the ETag but create no version if the content is the same', async () => {
    const copies = await buyer.install(packed, 'rel_1');
    const again = await buyer.install(packed, 'rel_2');
    expect(again.map(({ change }) => change)).toEqual(['unchanged', 'unchanged', 'unchanged']);
    for (const [index, path] of ['mcp/v1/servers', 'skill/v1/skills', 'agent/v1/agents'].entries()) {
      const copy = await buyer.read(`/${path}/${copies[index]!.artifact_id}`);
      expect([copy.acquired_from.release_id, copy.generation, copy.version_ordinal]).toEqual(['rel_2', 2, 1]);
      const audit = await buyer.admin.get(`/registry/v1/audit-log?resource_id=${copies[index]!.artifact_id}`);
      expect(audit.body.items[0].changes).toMatchObject([
        { member: 'acquired_from', before: { release_id: 'rel_1' }, after: { release_id: 'rel_2' } },
      ]);
    }
  });

  it('create one version of each changed resource on upgrade', async () => {
    const first = await buyer.install(packed);
    await patchAgent({ instructions: 'Plan better.' });
    const upgrade = await publisher.pack('agent', agentId);
    const second = await buyer.install(upgrade);
    expect(second.map(({ change, version_ordinal }) => [change, version_ordinal])).toEqual([
      ['unchanged', 1],
      ['unchanged', 1],
      ['updated', 2],
    ]);
    const copy = await agentOf(first[2]!.artifact_id);
    expect([copy.instructions, copy.acquired_from.version_ordinal]).toEqual(['Plan better.', 2]);
    const { items } = await buyer.read(`/agent/v1/agents/${copy.agent_id}/versions`);
    expect(items.map((one: any) => one.instructions)).toEqual(['Plan better.', expect.any(String)]);
  });

  it('restore the content of an earlier version', async () => {
    const [, , first] = await buyer.install(packed);
    await patchAgent({ instructions: 'Worse.' });
    await buyer.install(await publisher.pack('agent', agentId));
    const earlier = await publisher.pack('agent', agentId, { version_ordinal: 1 });
    expect(contentsOf(earlier)).toEqual(contentsOf(packed));
    expect((await buyer.install(earlier)).at(-1)).toMatchObject({ change: 'updated', version_ordinal: 3 });
    expect((await agentOf(first!.artifact_id)).instructions).toContain('twice');
  });

  it('can share a skill, and each agent stays pinned to its own version of it', async () => {
    await publisher.editor.patch(`/skill/v1/skills/${skillId}`, { instructions: 'Second.' });
    const skills = [{ skill_id: skillId, version_ordinal: 1 }];
    await patchAgent({ skills });
    const other = await publisher.agent({ name: 'other', skills: [{ skill_id: skillId }] });
    const [pinned, newest] = [await publisher.pack('agent', agentId), await publisher.pack('agent', other)];
    const [, skill, first] = await buyer.install(pinned, 'rel_1');
    const [again, second] = await buyer.install(newest, 'rel_2');
    expect([again!.artifact_id, again!.version_ordinal]).toEqual([skill!.artifact_id, 2]);
    const pinsOf = async (id: string) => (await agentOf(id)).skills[0].version_ordinal;
    expect([await pinsOf(first!.artifact_id), await pinsOf(second!.artifact_id)]).toEqual([1, 2]);
    const repeated = await buyer.install(pinned, 'rel_1');
    expect(repeated.map(({ change, version_ordinal }) => [change, version_ordinal])).toEqual([
      ['unchanged', 1],
      ['unchanged', 1],
      ['unchanged', 1],
    ]);
    const { acquired_from, version_ordinal } = await buyer.read(`/skill/v1/skills/${skill!.artifact_id}`);
    expect([acquired_from.release_id, version_ordinal]).toEqual(['rel_2', 2]);
  });

  it.each([
    ['server', 'mcp/v1/servers'],
    ['skill', 'skill/v1/skills'],
    ['agent', 'agent/v1/agents'],
  ] as const)('are rejected if another %s has the name, and leave nothing behind', async (kind, path) => {
    const names = { server: 'desk', skill: 'sums', agent: 'planner' };
    const existingId = await buyer[kind]({ name: names[kind] });
    await expect(buyer.install(packed)).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining(existingId) as string,
    });
    const lists = await Promise.all(
      ['mcp/v1/servers', 'skill/v1/skills', 'agent/v1/agents'].map((one) => buyer.read(`/${one}`)),
    );
    expect(lists.flatMap(({ items }) => items)).toEqual([await buyer.read(`/${path}/${existingId}`)]);
  });

  it('are installed as new copies after the first copies were archived', async () => {
    const [, , agent] = await buyer.install(packed);
    await buyer.admin.post(`/agent/v1/agents/${agent!.artifact_id}/archive`);
    const again = await buyer.install(packed);
    expect(again.map(({ change }) => change)).toEqual(['unchanged', 'unchanged', 'created']);
  });
});
