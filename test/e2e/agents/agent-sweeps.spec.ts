import {
  type Answer,
  type ApiClient,
  createTestApp,
  newOrganization,
  type TestApp,
  type TestOrganization,
} from '#testing';
import { AgentSweepRepository, digestOf } from '../../../src/agents/reconcile/agent-sweep.repository';
import { AppDeclarations } from '../../../src/registry/apps/app-declarations';
import { type Declared, ReconcileSteps, type Swept } from '../../../src/registry';
import { expandRoles, workspaceScope } from '#platform/auth';
import { registerServer, registerSkill } from './parts.fixture';

interface Agent {
  agent_id: string;
  name: string;
  version_ordinal: number;
  generation: number;
  sync_state: string;
  app: string | null;
  instructions: string;
  tools: { server_id: string; tool_name: string }[];
  skills: { skill_id: string; version_ordinal: number | null }[];
  archived_at: string | null;
}

const server = (name: string, ...tools: string[]) => ({
  kind: 'mcp_server',
  name,
  spec: {
    url: 'https://mcp.example.com/mcp',
    tools: tools.map((tool) => ({ name: tool, input_schema: { type: 'object' } })),
  },
});
const skill = (name: string, instructions = 'Do it.') => ({
  kind: 'skill',
  name,
  spec: { description: 'Does it.', instructions },
});
const agent = (name: string, spec: object = {}) => ({ kind: 'agent', name, spec });

describe('a sweep of an app with agents', () => {
  let app: TestApp;
  let org: TestOrganization;
  let editor: ApiClient;
  let admin: ApiClient;

  beforeAll(async () => {
    app = await createTestApp();
  });
  beforeEach(async () => {
    org = await newOrganization(app);
    editor = await org.member('editor');
    admin = await org.member('admin');
  });
  afterAll(() => app.close());

  const declare = (resources: object[]): Promise<Answer> =>
    editor.post('/registry/v1/apps', { workspace_id: org.workspaceId, app: 'support', resources });
  const redeclare = (resources: object[]): Promise<Answer> =>
    editor.patch('/registry/v1/apps/support', { resources });
  const sweep = (): Promise<Answer> => admin.post('/registry/v1/apps/support/reconcile');
  const agents = async (query = ''): Promise<Agent[]> =>
    (await editor.get<{ items: Agent[] }>(`/agent/v1/agents?sort=name&${query}`)).body.items;
  const everything = async (): Promise<unknown[]> => {
    const lists = ['/agent/v1/agents', '/skill/v1/skills', '/mcp/v1/servers'];
    const answers = await Promise.all(lists.map((list) => editor.get(`${list}?include_archived=true`)));
    return answers.map(({ body }) => body.items as unknown);
  };

  it('makes servers, skills, and agents that refer to both by their names, at once', async () => {
    const declared = await declare([
      agent('planner', {
        instructions: 'Plan.\nThen act.',
        model: 'gpt-5',
        tools: [{ server: 'tickets', tool_name: 'search' }],
        skills: [{ skill: 'writing' }, { skill: 'reading', version_ordinal: 1 }],
        max_step_count: 7,
        metadata: { z: 1, a: 2 },
      }),
      agent('silent'),
      skill('writing'),
      skill('reading'),
      server('tickets', 'search'),
    ]);
    expect(declared.status).toBe(201);
    const swept = await sweep();
    expect([swept.status, swept.body]).toEqual([200, { app: 'support', live_count: 5 }]);
    const [planner, silent] = await agents('app=support');
    const { items: servers } = (await editor.get('/mcp/v1/servers')).body;
    const { items: skills } = (await editor.get('/skill/v1/skills?sort=name')).body;
    expect(planner).toMatchObject({
      name: 'planner',
      instructions: 'Plan.\nThen act.',
      tools: [{ server_id: servers[0].server_id, tool_name: 'search' }],
      skills: [
        { skill_id: skills[1].skill_id, version_ordinal: null },
        { skill_id: skills[0].skill_id, version_ordinal: 1 },
      ],
      max_step_count: 7,
      metadata: { z: 1, a: 2 },
      app: 'support',
      sync_state: 'synced',
      version_ordinal: 1,
    });
    expect(silent).toMatchObject({
      name: 'silent',
      instructions: '',
      max_step_count: 50,
      sync_state: 'synced',
    });
    const found = await editor.post('/registry/v1/search', { query: 'planner', mode: 'keyword' });
    expect(found.body.items.map((one: { id: string }) => one.id)).toContain(planner!.agent_id);
  });

  it('writes nothing where nothing differs, and one version where something does', async () => {
    const skills = [{ skill: 'writing' }];
    await declare([skill('writing'), agent('one', { skills, metadata: { b: 1, a: 2 } }), agent('two')]);
    await sweep();
    const before = await everything();
    const log = async () => (await admin.get('/registry/v1/audit-log?limit=0')).body.page.total as number;
    const entries = await log();
    expect((await sweep()).body.live_count).toBe(3);
    expect([await everything(), await log()]).toEqual([before, entries]);

    await redeclare([skill('writing'), agent('one', { skills, metadata: { b: 1, a: 3 } }), agent('two')]);
    expect((await agents()).map(({ sync_state }) => sync_state)).toEqual(['pending', 'synced']);
    await sweep();
    expect((await agents()).map((one) => [one.sync_state, one.version_ordinal])).toEqual([
      ['synced', 2],
      ['synced', 1],
    ]);
  });

  it('brings back what drifted, makes anew what was archived, and archives what is declared no longer', async () => {
    await declare([agent('drifting', { instructions: 'as declared' }), agent('gone'), agent('undeclared')]);
    await sweep();
    const [drifting, gone, undeclared] = (await agents()) as [Agent, Agent, Agent];
    const patched = await editor.patch(`/agent/v1/agents/${drifting.agent_id}`, { instructions: 'by hand' });
    expect(patched.body).toMatchObject({ sync_state: 'drifted', version_ordinal: 2 });
    expect((await agents('sync_state=drifted')).map(({ name }) => name)).toEqual(['drifting']);
    await admin.post(`/agent/v1/agents/${gone.agent_id}/archive`);
    await redeclare([agent('drifting', { instructions: 'as declared' }), agent('gone')]);
    expect((await sweep()).body.live_count).toBe(2);
    const now = await agents();
    expect(now).toMatchObject([
      { agent_id: drifting.agent_id, instructions: 'as declared', version_ordinal: 3, sync_state: 'synced' },
      { name: 'gone', version_ordinal: 1 },
    ]);
    expect(now[1]!.agent_id).not.toBe(gone.agent_id);
    expect((await editor.get(`/agent/v1/agents/${undeclared.agent_id}`)).body.archived_at).not.toBeNull();
    const versions = await editor.get(`/agent/v1/agents/${drifting.agent_id}/versions`);
    expect(versions.body.items.map((one: Agent) => one.instructions)).toEqual([
      'as declared',
      'by hand',
      'as declared',
    ]);
    const log = await admin.get(`/registry/v1/audit-log?resource_id=${undeclared.agent_id}&action=archive`);
    expect(log.body.page.total).toBe(1);
  });

  it('refers to what is there already, by names or ids, and follows a name to what has it now', async () => {
    const server_id = await registerServer(editor, org.workspaceId, ['fetch'], 'web');
    const skill_id = await registerSkill(editor, org.workspaceId, 'there');
    await declare([
      agent('one', {
        tools: [{ server_id, tool_name: 'fetch' }],
        skills: [{ skill: 'there' }],
      }),
    ]);
    await sweep();
    expect((await agents())[0]).toMatchObject({ tools: [{ server_id }], skills: [{ skill_id }] });
    await admin.post(`/skill/v1/skills/${skill_id}/archive`);
    const again = await registerSkill(editor, org.workspaceId, 'there');
    await sweep();
    expect((await agents())[0]).toMatchObject({ skills: [{ skill_id: again }], version_ordinal: 2 });
  });

  it.each<[string, object, string]>([
    ['a server', { tools: [{ server: 'none', tool_name: 't' }] }, '/resources/1/spec/tools/0/server'],
    ['a tool', { tools: [{ server: 'tickets', tool_name: 'none' }] }, '/resources/1/spec/tools/0'],
    ['a skill', { skills: [{ skill: 'none' }] }, '/resources/1/spec/skills/0/skill'],
    ['a server’s id', { tools: [{ server_id: 'mcps_none', tool_name: 't' }] }, '/resources/1/spec/tools/0'],
    ['a version', { skills: [{ skill: 'writing', version_ordinal: 9 }] }, '/resources/1/spec/skills/0'],
  ])('changes nothing where a reference names nothing: %s', async (_, spec, pointer) => {
    await declare([server('tickets', 'search'), agent('one'), skill('writing'), agent('two')]);
    await sweep();
    await redeclare([server('tickets', 'search'), agent('one', spec), skill('writing', 'Otherwise.')]);
    const states = (items: unknown) =>
      JSON.stringify(items, (key, value: unknown) =>
        ['sync_state', 'generation', 'updated_at'].includes(key) ? undefined : value,
      );
    const before = states(await everything());
    const refused = await sweep();
    expect([refused.status, refused.body.code, refused.body.errors[0].pointer]).toEqual([
      422,
      'validation_failed',
      pointer,
    ]);
    expect(states(await everything())).toBe(before);
    expect((await editor.get('/registry/v1/apps/support')).body).toMatchObject({
      sync_state: 'failed',
      sync_error: { code: 'validation_failed', errors: [{ pointer }] },
    });
    expect((await agents('sync_state=failed')).map(({ name }) => name)).toEqual(['one']);
    await redeclare([server('tickets', 'search'), agent('one'), skill('writing'), agent('two')]);
    expect((await sweep()).status).toBe(200);
    expect((await editor.get('/registry/v1/apps/support')).body.sync_error).toBeNull();
    expect(await agents('sync_state=failed')).toEqual([]);
  });

  it('takes no agent over that is not the app’s', async () => {
    const of = { workspace_id: org.workspaceId };
    await editor.post('/agent/v1/agents', { ...of, name: 'theirs', instructions: 'mine' });
    await declare([agent('theirs', { instructions: 'ours' }), agent('new')]);
    const refused = await sweep();
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, '/resources/0/name']);
    expect(await agents()).toMatchObject([{ name: 'theirs', instructions: 'mine', sync_state: 'unmanaged' }]);
  });

  it('lets what it declares go when the app is archived, and the audit log tells so of each', async () => {
    const { body } = await declare([agent('one'), skill('two'), server('three')]);
    await sweep();
    const lists = ['/agent/v1/agents', '/skill/v1/skills', '/mcp/v1/servers'];
    const all = async (query: string): Promise<any[]> =>
      (await Promise.all(lists.map((list) => editor.get(`${list}?${query}`)))).flatMap(
        (answer) => answer.body.items as unknown[],
      );
    expect((await all(`app=${body.app_id}`)).map(({ name }) => name as string)).toEqual([
      'one',
      'two',
      'three',
    ]);
    await admin.post('/registry/v1/apps/support/archive');
    expect(await all('')).toMatchObject(
      ['one', 'two', 'three'].map((name) => ({ name, app: null, sync_state: 'unmanaged' })),
    );
    const log = await admin.get('/registry/v1/audit-log?action=update');
    const told = (log.body.items as any[]).map(({ resource_type, changes }) => [resource_type, changes]);
    const changes = [{ member: 'app', before: 'support', after: null }];
    expect(told.sort()).toEqual([
      ['agent', changes],
      ['mcp_server', changes],
      ['skill', changes],
    ]);
  });

  it('refuses what is named twice, in two ways', async () => {
    const server_id = await registerServer(editor, org.workspaceId, ['fetch', 'find'], 'web');
    const skill_id = await registerSkill(editor, org.workspaceId, 'there');
    await declare([
      agent('one', {
        tools: [
          { server: 'web', tool_name: 'fetch' },
          { server_id, tool_name: 'find' },
          { server_id, tool_name: 'fetch' },
        ],
        skills: [{ skill_id }, { skill: 'there', version_ordinal: 1 }],
      }),
    ]);
    const refused = await sweep();
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      ['tools/2', 'skills/1'].map((place) => ({
        pointer: `/resources/0/spec/${place}`,
        detail: 'is there twice',
      })),
    ]);
  });

  it('leaves no agent failed whose fault is mended, while others are', async () => {
    await declare([agent('one'), agent('two')]);
    await sweep();
    await redeclare([
      agent('one', { skills: [{ skill: 'early' }] }),
      agent('two', { skills: [{ skill: 'late' }] }),
    ]);
    const states = async () => (await agents()).map(({ sync_state }) => sync_state);
    expect((await sweep()).status).toBe(422);
    expect(await states()).toEqual(['failed', 'failed']);
    await registerSkill(editor, org.workspaceId, 'early');
    expect((await sweep()).status).toBe(422);
    expect(await states()).toEqual(['pending', 'failed']);
    await registerSkill(editor, org.workspaceId, 'late');
    expect((await sweep()).status).toBe(200);
    expect(await states()).toEqual(['synced', 'synced']);
  });

  it('that begins while somebody changes an agent comes after the change', async () => {
    await declare([agent('one', { instructions: 'as declared' })]);
    await sweep();
    const [one] = (await agents()) as [Agent];
    const waiting = async (count: number): Promise<void> => {
      const blocked = `SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      while ((await app.database.query(blocked)).length < count);
    };
    // the change is made, and waits with its last statement
    const { patching, sweeping } = await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM search_documents WHERE resource_id = $1 FOR UPDATE', [one.agent_id]);
      const patched = editor.patch(`/agent/v1/agents/${one.agent_id}`, { instructions: 'by hand' });
      await waiting(1);
      const swept = sweep();
      await waiting(2);
      return { patching: patched, sweeping: swept };
    });
    expect([(await patching).status, (await sweeping).status]).toEqual([200, 200]);
    const versions = await editor.get(`/agent/v1/agents/${one.agent_id}/versions`);
    const told = (versions.body.items as Agent[]).map((each) => [each.version_ordinal, each.instructions]);
    expect(told.sort()).toEqual([
      [1, 'as declared'],
      [2, 'by hand'],
      [3, 'as declared'],
    ]);
    expect(await agents()).toMatchObject([{ sync_state: 'synced', version_ordinal: 3 }]);
  });

  it('reads no more than some MiB at a time, however large people have made its agents', async () => {
    const count = 20;
    const resources = Array.from({ length: count }, (_, n) => agent(`agent-${n}`));
    const { body } = await declare(resources);
    await sweep();
    await app.database.query(
      `UPDATE agents SET instructions = repeat('x', 1000000), sync_state = 'drifted' WHERE org_id = $1`,
      [org.orgId],
    );
    const scope = workspaceScope(org.orgId, org.workspaceId, 'test', expandRoles(['admin']));
    const swept = async (declared: Declared[]): Promise<{ read: number; swept: Swept }> => {
      let read = 0;
      const result = await app.database.transaction((tx) => {
        const counted = new Proxy(tx, {
          get: (target, member, receiver) => {
            if (member !== 'query') return Reflect.get(target, member, receiver) as unknown;
            return async (...given: Parameters<typeof tx.query>) => {
              const rows = await target.query(...given);
              read = Math.max(read, JSON.stringify(rows).length);
              return rows;
            };
          },
        });
        const owner = { appId: body.app_id as string, app: 'support' };
        return app.get(ReconcileSteps).of('agent').apply(counted, scope, owner, declared);
      });
      return { read, swept: result };
    };
    const all = resources.map(({ name }, n) => ({ name, spec: {}, pointer: `/resources/${n}` }));
    const drifted = await swept(all);
    expect(drifted.swept.updated.length).toBe(count);
    expect(drifted.read).toBeLessThan(5 * 1024 * 1024);
    expect((await agents('limit=100')).every(({ instructions }) => instructions === '')).toBe(true);
    await app.database.query(`UPDATE agents SET instructions = repeat('x', 1000000) WHERE org_id = $1`, [
      org.orgId,
    ]);
    const undeclared = await swept([]);
    expect(undeclared.swept.archived.length).toBe(count);
    expect(undeclared.read).toBeLessThan(100_000);
  });

  it('sees by a digest alone that an agent is as declared, whatever the texts', async () => {
    const odd = 'é\u2028\u007f\u0001 "\\/\b\f\n\r\t😀';
    const server_id = await registerServer(editor, org.workspaceId, ['fetch'], 'web');
    await declare([
      skill('writing'),
      agent('one', {
        instructions: odd,
        description: odd,
        required_permissions: [odd, 'b'],
        metadata: { [odd]: [odd, 1.5, 1e30, null] },
        tools: [{ server_id, tool_name: 'fetch' }],
        skills: [{ skill: 'writing', version_ordinal: 1 }],
      }),
    ]);
    expect((await sweep()).status).toBe(200);
    const scope = workspaceScope(org.orgId, org.workspaceId, 'test', expandRoles(['admin']));
    const sweeps = app.get(AgentSweepRepository);
    await app.database.transaction(async (tx) => {
      const [owned] = await sweeps.lockDeclared(tx, scope, { appId: '', app: '' }, ['one']);
      const [row] = await sweeps.read(tx, scope, [owned!.agent_id]);
      expect(row!.instructions).toBe(odd);
      expect(owned!.content_sha256).toBe(digestOf(row!));
    });
  });

  it('declares a bounded number of references, and lets others have their turn while they are checked', async () => {
    const tools = Array.from({ length: 500 }, (_, n) => ({ server: 'tickets', tool_name: `tool-${n}` }));
    const many = Array.from({ length: 41 }, (_, n) => agent(`agent-${n}`, { tools }));
    const refused = await declare(many);
    expect([refused.status, refused.body.errors.length, refused.body.errors[0].pointer]).toEqual([
      400,
      1,
      '/resources/40/spec/tools',
    ]);
    let turns = 0;
    setImmediate(() => (turns += 1));
    await app.get(AppDeclarations).check(many.slice(1));
    expect(turns).toBe(1);
    expect((await declare(many.slice(1))).status).toBe(201);
  });

  it.each<[string, object, string]>([
    ['both ways to name a server', { tools: [{ server: 'a', server_id: 'b', tool_name: 't' }] }, '/tools/0'],
    ['no way to name a skill', { skills: [{ version_ordinal: 1 }] }, '/skills/0'],
    ['a skill twice', { skills: [{ skill: 'a' }, { skill: 'a', version_ordinal: 2 }] }, '/skills/1'],
    [
      'a tool twice, once with a null',
      {
        tools: [
          { server: 'a', tool_name: 't' },
          { server: 'a', server_id: null, tool_name: 't' },
        ],
      },
      '/tools/1',
    ],
    ['a reference that is none', { tools: ['t'] }, '/tools/0'],
    ['a tool without a name', { tools: [{ server: 'a' }] }, '/tools/0/tool_name'],
    ['a version that is none', { skills: [{ skill: 'a', version_ordinal: 0 }] }, '/skills/0/version_ordinal'],
    ['a misspelt member of a reference', { skills: [{ skill: 'a', 'x/y': 1 }] }, '/skills/0/x~1y'],
    ['too many tools', { tools: Array.from({ length: 501 }, () => null) }, '/tools'],
    ['a name', { name: 'other' }, '/name'],
    ['a misspelt member', { instruction: 'x' }, '/instruction'],
    ['steps that are none', { max_step_count: 'x' }, '/max_step_count'],
  ])('is not declared with %s', async (_, spec, pointer) => {
    const answer = await declare([agent('one', spec)]);
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, `/resources/0/spec${pointer}`]);
  });

  it('makes a thousand agents, and archives them again', async () => {
    const count = 1000;
    await declare([
      skill('writing'),
      ...Array.from({ length: count }, (_, n) => agent(`agent-${n}`, { skills: [{ skill: 'writing' }] })),
    ]);
    expect((await sweep()).body.live_count).toBe(count + 1);
    expect((await editor.get('/agent/v1/agents?limit=0')).body.page.total).toBe(count);
    await redeclare([]);
    expect((await sweep()).body.live_count).toBe(0);
    expect((await editor.get('/agent/v1/agents?limit=0')).body.page.total).toBe(0);
  });
});
