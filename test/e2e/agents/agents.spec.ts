import { type Answer, type ApiClient, sharedApp, newOrganization, type TestOrganization } from '#testing';
import { registerServer, registerSkill } from './parts.fixture';

const AGENTS = '/agent/v1/agents';

interface Agent {
  agent_id: string;
  name: string;
  version_ordinal: number;
  version_id: string;
  instructions: string;
  sync_state: string;
  generation: number;
  archived_at: string | null;
}

describe('agents', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;
  let admin: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await org.member('editor');
    admin = await org.member('admin');
  });

  let made = 0;
  const create = (
    body: Record<string, unknown> = {},
    by: ApiClient = editor,
  ): Promise<Answer<Agent & { errors?: { pointer: string }[]; code?: string }>> =>
    by.post(AGENTS, { workspace_id: org.workspaceId, name: `agent-${(made += 1)}`, ...body });

  it('are created with a Location and an ETag', async () => {
    const server = await registerServer(editor, org.workspaceId, ['search', 'fetch']);
    const skill = await registerSkill(editor, org.workspaceId);
    const body = {
      name: 'Planner',
      display_name: 'The planner',
      description: 'plans',
      model: 'gpt-5',
      instructions: 'Plan.\n\nThen act.\r\n\tTwice.',
      tools: [{ server_id: server, tool_name: 'search' }],
      skills: [{ skill_id: skill, version_ordinal: 1 }],
      required_permissions: ['mail.read'],
      max_step_count: 7,
      metadata: { b: 1, a: [null] },
    };
    const answer = await create(body);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`${AGENTS}/${answer.body.agent_id}`);
    expect(answer.body).toMatchObject({
      ...body,
      agent_id: expect.stringMatching(/^agt_[0-9a-z]{26}$/) as string,
      version_id: expect.stringMatching(/^ver_[0-9a-z]{26}$/) as string,
      version_ordinal: 1,
      app: null,
      sync_state: 'unmanaged',
      generation: 1,
      archived_at: null,
    });
    const read = await editor.get(answer.headers.get('location')!);
    expect([read.body, read.headers.get('etag')]).toEqual([answer.body, '"1"']);
    expect((await editor.get(`${AGENTS}/${answer.body.agent_id}`, { 'if-none-match': '"1"' })).status).toBe(
      304,
    );
  });

  it('default to 50 steps, no tools and no skills', async () => {
    expect((await create()).body).toMatchObject({
      display_name: null,
      description: null,
      model: null,
      instructions: '',
      tools: [],
      skills: [],
      required_permissions: [],
      max_step_count: 50,
      metadata: {},
    });
  });

  it('may share a name across workspaces', async () => {
    const answers = [
      await create({ name: 'taken' }),
      await create({ name: 'taken', workspace_id: await org.newWorkspace() }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  });

  it('return immutable_field for a new name', async () => {
    const { body: agent } = await create();
    const path = `${AGENTS}/${agent.agent_id}`;
    const other = await editor.patch(path, { name: 'other', description: 'd' });
    expect([other.status, other.body.code]).toEqual([422, 'immutable_field']);
    const id = await editor.patch(path, { agent_id: 'agt_other' });
    expect([id.status, id.body.code]).toEqual([422, 'immutable_field']);
    const moved = await editor.patch(path, { workspace_id: await org.newWorkspace() });
    expect([moved.status, moved.body.code]).toEqual([422, 'validation_failed']);
    expect((await editor.get(path)).body).toEqual(agent);
    const same = await editor.patch(path, { name: agent.name, description: 'd' });
    expect([same.status, same.body.description]).toEqual([200, 'd']);
  });

  describe('with versions', () => {
    it('store a version with each change', async () => {
      const { body: agent } = await create({ instructions: 'one', metadata: { a: 1, b: 2 } });
      const path = `${AGENTS}/${agent.agent_id}`;
      await editor.patch(path, { instructions: 'two', metadata: { a: null } });
      await editor.patch(path, { instructions: 'two', tools: [], skills: null });
      const { body: now } = await editor.patch(path, { max_step_count: null, model: 'm' });
      expect(now).toMatchObject({
        version_ordinal: 3,
        generation: 3,
        instructions: 'two',
        metadata: { b: 2 },
      });
      const versions = await editor.get(`${path}/versions`);
      const reported = (versions.body.items as Agent[]).map((one) => [one.version_ordinal, one.instructions]);
      expect(reported).toEqual([
        [3, 'two'],
        [2, 'two'],
        [1, 'one'],
      ]);
      const first = await editor.get(`${path}/versions/1`);
      expect(first.body).toMatchObject({ version_id: agent.version_id, metadata: { a: 1, b: 2 } });
      expect(first.headers.get('etag')).toBe('"1"');
      expect((await editor.get(`${path}/versions?limit=1&sort=created_at`)).body.items[0]).toEqual(
        first.body,
      );
      for (const missing of ['4', '0', 'x', '01', '99999999999']) {
        expect((await editor.get(`${path}/versions/${missing}`)).status).toBe(404);
      }
    });

    it('store one version at a time for concurrent writers, and return 412 for a stale If-Match', async () => {
      const { body: agent } = await create();
      const path = `${AGENTS}/${agent.agent_id}`;
      const answers = await Promise.all(
        ['x', 'y', 'z'].map((model) => editor.patch(path, { model }, { 'if-match': '"1"' })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
      const blind = await Promise.all(
        ['x', 'y', 'z'].map((model) => editor.patch(path, { model: `b${model}` })),
      );
      expect(blind.map(({ body }) => body.version_ordinal as number).sort()).toEqual([3, 4, 5]);
    });
  });

  describe('with references', () => {
    it.each([
      ['an unknown server', { tools: [{ server_id: 'mcps_none', tool_name: 'search' }] }, '/tools/0'],
      ['an unknown skill', { skills: [{ skill_id: 'skl_none' }] }, '/skills/0'],
    ])('return 400 for %s', async (_, members, pointer) => {
      const answer = await create(members);
      expect([answer.status, answer.body.errors?.[0]?.pointer]).toEqual([400, pointer]);
      const { body: agent } = await create();
      const patched = await editor.patch(`${AGENTS}/${agent.agent_id}`, members);
      expect([patched.status, patched.body.errors[0].pointer]).toEqual([400, pointer]);
    });

    it('return 400 for a tool that the server lacks and a version that the skill lacks', async () => {
      const server_id = await registerServer(editor, org.workspaceId, ['search']);
      const skill_id = await registerSkill(editor, org.workspaceId);
      const answer = await create({
        tools: [
          { server_id, tool_name: 'search' },
          { server_id, tool_name: 'other' },
        ],
        skills: [{ skill_id, version_ordinal: 2 }],
      });
      expect([answer.status, answer.body.errors?.map(({ pointer }) => pointer)]).toEqual([
        400,
        ['/tools/1', '/skills/0'],
      ]);
    });

    it('return 400 if the target is in another workspace or organization, or is archived', async () => {
      const elsewhere = await org.newWorkspace();
      const stranger = await newOrganization(app);
      const theirs = await stranger.member('editor');
      const archived = await registerSkill(editor, org.workspaceId);
      await admin.post(`/skill/v1/skills/${archived}/archive`);
      const answer = await create({
        tools: [{ server_id: await registerServer(editor, elsewhere, ['search']), tool_name: 'search' }],
        skills: [{ skill_id: await registerSkill(theirs, stranger.workspaceId) }, { skill_id: archived }],
      });
      expect(answer.body.errors?.map(({ pointer }) => pointer)).toEqual([
        '/tools/0',
        '/skills/0',
        '/skills/1',
      ]);
    });

    it('can be changed while an unchanged reference is archived', async () => {
      const skill_id = await registerSkill(editor, org.workspaceId);
      const { body: agent } = await create({ skills: [{ skill_id }] });
      await admin.post(`/skill/v1/skills/${skill_id}/archive`);
      const path = `${AGENTS}/${agent.agent_id}`;
      expect((await editor.patch(path, { model: 'm', skills: [{ skill_id }] })).status).toBe(200);
      expect((await editor.patch(path, { skills: [{ skill_id, version_ordinal: 1 }] })).status).toBe(400);
    });
  });

  it('can be listed by workspace, state, app, name and words', async () => {
    const workspace_id = await org.newWorkspace();
    const of = (names: string[]) => names.map((name) => expect.objectContaining({ name }) as object);
    for (const name of ['alpha', 'beta', 'gamma']) {
      await create({ name, workspace_id, description: name === 'beta' ? 'the planner' : 'none' });
    }
    const listed = async (query: string) =>
      (await editor.get<{ items: Agent[] }>(`${AGENTS}?workspace_id=${workspace_id}${query}`)).body.items;
    expect(await listed('')).toEqual(of(['gamma', 'beta', 'alpha']));
    expect(await listed('&sync_state=unmanaged&sort=name')).toEqual(of(['alpha', 'beta', 'gamma']));
    expect(await listed('&sync_state=drifted')).toEqual([]);
    expect(await listed('&app=none')).toEqual([]);
    expect(await listed('&q=plan')).toEqual(of(['beta']));
    expect(await listed('&name=alpha')).toEqual(of(['alpha']));
    const state = await editor.get(`${AGENTS}?sync_state=lost`);
    expect([state.status, state.body.code]).toEqual([422, 'validation_failed']);
    expect((await editor.get(`${AGENTS}?state=synced`)).status).toBe(400);
    expect((await editor.get(`${AGENTS}?workspace_id=wsp_none`)).body.items).toEqual([]);
  });

  it('are audited without their instructions', async () => {
    const { body: agent } = await create({ instructions: 'a secret of the trade' });
    const path = `${AGENTS}/${agent.agent_id}`;
    await editor.patch(path, { instructions: 'another secret', model: 'm' });
    await admin.post(`${path}/archive`);
    const log = await admin.get(`/registry/v1/audit-log?resource_id=${agent.agent_id}&sort=created_at`);
    expect((log.body.items as any[]).map(({ action, changes }) => [action, changes])).toEqual([
      ['create', [{ member: 'name', after: agent.name }]],
      ['update', [{ member: 'model', before: null, after: 'm' }, { member: 'instructions' }]],
      ['archive', []],
    ]);
  });

  it('are visible only to callers with access to their workspace', async () => {
    const elsewhere = await org.newWorkspace();
    const { body: agent } = await create({ workspace_id: elsewhere });
    const path = `${AGENTS}/${agent.agent_id}`;
    const bound = app.api((await org.serviceAccount('admin')).key);
    const stranger = await (await newOrganization(app)).member('owner');
    for (const outsider of [bound, stranger]) {
      const answers = [
        await outsider.get(path),
        await outsider.get(`${path}/versions`),
        await outsider.get(`${path}/versions/1`),
        await outsider.patch(path, { model: 'm' }),
        await outsider.post(`${path}/archive`),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
      const listed = await outsider.get(`${AGENTS}?workspace_id=${elsewhere}`);
      expect(listed.body).toMatchObject({ items: [], page: { total: 0 } });
      expect((await create({ workspace_id: elsewhere }, outsider)).status).toBe(400);
    }
  });
});
