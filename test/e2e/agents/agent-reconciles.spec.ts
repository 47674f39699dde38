import { sharedApp, until } from '#testing';
import { agent, skill } from '../registry/apps.fixture';
import { type Agent, AgentAppFixture, server } from './agent-app.fixture';
import { registerServer, registerSkill } from './parts.fixture';

describe('reconciling an app with agents', () => {
  const app = sharedApp();
  let on: AgentAppFixture;

  beforeEach(async () => {
    on = await AgentAppFixture.create(app);
  });

  it('creates servers, skills, and agents that refer to them by name', async () => {
    const declared = await on.declare([
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
    const reconciled = await on.reconcile();
    expect([reconciled.status, reconciled.body]).toEqual([200, { app: 'support', live_count: 5 }]);
    const [planner, silent] = await on.agents('app=support');
    const { items: servers } = (await on.editor.get('/mcp/v1/servers')).body;
    const { items: skills } = (await on.editor.get('/skill/v1/skills?sort=name')).body;
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
    const search = await on.editor.post('/registry/v1/search', { query: 'planner', mode: 'keyword' });
    expect(search.body.items.map((one: { id: string }) => one.id)).toContain(planner!.agent_id);
  });

  it('writes one version per change, and nothing without a change', async () => {
    const skills = [{ skill: 'writing' }];
    await on.declare([skill('writing'), agent('one', { skills, metadata: { b: 1, a: 2 } }), agent('two')]);
    await on.reconcile();
    const before = await on.everything();
    const log = async () => (await on.admin.get('/registry/v1/audit-log?limit=0')).body.page.total as number;
    const entries = await log();
    expect((await on.reconcile()).body.live_count).toBe(3);
    expect([await on.everything(), await log()]).toEqual([before, entries]);

    await on.redeclare([skill('writing'), agent('one', { skills, metadata: { b: 1, a: 3 } }), agent('two')]);
    expect((await on.agents()).map(({ sync_state }) => sync_state)).toEqual(['pending', 'synced']);
    await on.reconcile();
    expect((await on.agents()).map((one) => [one.sync_state, one.version_ordinal])).toEqual([
      ['synced', 2],
      ['synced', 1],
    ]);
  });

  it('repairs drift, restores archived agents and archives undeclared ones', async () => {
    await on.declare([
      agent('drifting', { instructions: 'as declared' }),
      agent('gone'),
      agent('undeclared'),
    ]);
    await on.reconcile();
    const [drifting, archived, undeclared] = (await on.agents()) as [Agent, Agent, Agent];
    const patched = await on.editor.patch(`/agent/v1/agents/${drifting.agent_id}`, {
      instructions: 'by hand',
    });
    expect(patched.body).toMatchObject({ sync_state: 'drifted', version_ordinal: 2 });
    expect((await on.agents('sync_state=drifted')).map(({ name }) => name)).toEqual(['drifting']);
    await on.admin.post(`/agent/v1/agents/${archived.agent_id}/archive`);
    await on.redeclare([agent('drifting', { instructions: 'as declared' }), agent('gone')]);
    expect((await on.reconcile()).body.live_count).toBe(2);
    const now = await on.agents();
    expect(now).toMatchObject([
      { agent_id: drifting.agent_id, instructions: 'as declared', version_ordinal: 3, sync_state: 'synced' },
      { agent_id: archived.agent_id, name: 'gone', version_ordinal: 1, sync_state: 'synced' },
    ]);
    expect((await on.editor.get(`/agent/v1/agents/${undeclared.agent_id}`)).body.archived_at).not.toBeNull();
    const versions = await on.editor.get(`/agent/v1/agents/${drifting.agent_id}/versions`);
    expect(versions.body.items.map((one: Agent) => one.instructions)).toEqual([
      'as declared',
      'by hand',
      'as declared',
    ]);
    const log = await on.admin.get(
      `/registry/v1/audit-log?resource_id=${undeclared.agent_id}&action=archive`,
    );
    expect(log.body.page.total).toBe(1);
    const restored = await on.admin.post(`/agent/v1/agents/${undeclared.agent_id}/restore`);
    expect([restored.status, restored.body.detail]).toEqual([
      409,
      'The app support owns this agent. Declare it in the app. The next reconcile then restores it.',
    ]);
    await on.admin.post('/registry/v1/apps/support/archive');
    const released = await on.admin.post(`/agent/v1/agents/${undeclared.agent_id}/restore`);
    expect(released).toMatchObject({
      status: 200,
      body: { app: null, sync_state: 'unmanaged', archived_at: null },
    });
    expect((await on.admin.post('/registry/v1/apps/support/restore')).status).toBe(200);
    expect((await on.agents('sync_state=unmanaged')).map(({ name }) => name)).toEqual(['undeclared']);
  });

  it('resolves references to existing resources by name or id', async () => {
    const server_id = await registerServer(on.editor, on.org.workspaceId, ['fetch'], 'web');
    const skill_id = await registerSkill(on.editor, on.org.workspaceId, 'there');
    await on.declare([
      agent('one', {
        tools: [{ server_id, tool_name: 'fetch' }],
        skills: [{ skill: 'there' }],
      }),
    ]);
    await on.reconcile();
    expect((await on.agents())[0]).toMatchObject({ tools: [{ server_id }], skills: [{ skill_id }] });
    await on.admin.post(`/skill/v1/skills/${skill_id}/archive`);
    const again = await registerSkill(on.editor, on.org.workspaceId, 'there');
    await on.reconcile();
    expect((await on.agents())[0]).toMatchObject({ skills: [{ skill_id: again }], version_ordinal: 2 });
  });

  it('does not take over an agent that the app does not own', async () => {
    const of = { workspace_id: on.org.workspaceId };
    await on.editor.post('/agent/v1/agents', { ...of, name: 'theirs', instructions: 'mine' });
    await on.declare([agent('theirs', { instructions: 'ours' }), agent('new')]);
    const refused = await on.reconcile();
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, '/resources/0/name']);
    expect(await on.agents()).toMatchObject([
      { name: 'theirs', instructions: 'mine', sync_state: 'unmanaged' },
    ]);
  });

  it('releases its agents when the app is archived, with one audit entry each', async () => {
    const { body } = await on.declare([agent('one'), skill('two'), server('three')]);
    await on.reconcile();
    const lists = ['/agent/v1/agents', '/skill/v1/skills', '/mcp/v1/servers'];
    const all = async (query: string): Promise<any[]> =>
      (await Promise.all(lists.map((list) => on.editor.get(`${list}?${query}`)))).flatMap(
        (answer) => answer.body.items as unknown[],
      );
    expect((await all(`app=${body.app_id}`)).map(({ name }) => name as string)).toEqual([
      'one',
      'two',
      'three',
    ]);
    await on.admin.post('/registry/v1/apps/support/archive');
    expect(await all('')).toMatchObject(
      ['one', 'two', 'three'].map((name) => ({ name, app: null, sync_state: 'unmanaged' })),
    );
    const log = await on.admin.get('/registry/v1/audit-log?action=update');
    const reported = (log.body.items as any[]).map(({ resource_type, changes }) => [resource_type, changes]);
    const changes = [{ member: 'app', before: 'support', after: null }];
    expect(reported.sort()).toEqual([
      ['agent', changes],
      ['mcp_server', changes],
      ['skill', changes],
    ]);
  });

  it('clears the error of a corrected agent while others still fail', async () => {
    await on.declare([agent('one'), agent('two')]);
    await on.reconcile();
    await on.redeclare([
      agent('one', { skills: [{ skill: 'early' }] }),
      agent('two', { skills: [{ skill: 'late' }] }),
    ]);
    const states = async () => (await on.agents()).map(({ sync_state }) => sync_state);
    expect((await on.reconcile()).status).toBe(422);
    expect(await states()).toEqual(['failed', 'failed']);
    await registerSkill(on.editor, on.org.workspaceId, 'early');
    expect((await on.reconcile()).status).toBe(422);
    expect(await states()).toEqual(['pending', 'failed']);
    await registerSkill(on.editor, on.org.workspaceId, 'late');
    expect((await on.reconcile()).status).toBe(200);
    expect(await states()).toEqual(['synced', 'synced']);
  });

  it('waits for a concurrent change of an agent', async () => {
    await on.declare([agent('one', { instructions: 'as declared' })]);
    await on.reconcile();
    const [one] = (await on.agents()) as [Agent];
    const waiting = async (count: number): Promise<void> => {
      const blocked = `SELECT 1 FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await until(async () => (await app.database.query(blocked)).length >= count);
    };
    // the change is written and waits before its last statement
    const { patching, reconciling } = await app.database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM search_documents WHERE resource_id = $1 FOR UPDATE', [one.agent_id]);
      const patched = on.editor.patch(`/agent/v1/agents/${one.agent_id}`, { instructions: 'by hand' });
      await waiting(1);
      const reconciled = on.reconcile();
      await waiting(2);
      return { patching: patched, reconciling: reconciled };
    });
    expect([(await patching).status, (await reconciling).status]).toEqual([200, 200]);
    const versions = await on.editor.get(`/agent/v1/agents/${one.agent_id}/versions`);
    const reported = (versions.body.items as Agent[]).map((each) => [
      each.version_ordinal,
      each.instructions,
    ]);
    expect(reported.sort()).toEqual([
      [1, 'as declared'],
      [2, 'by hand'],
      [3, 'as declared'],
    ]);
    expect(await on.agents()).toMatchObject([{ sync_state: 'synced', version_ordinal: 3 }]);
  });
});
