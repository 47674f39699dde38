import { sharedApp } from '#testing';
import { AppDeclarations } from '../../../src/registry/apps/app-declarations';
import { agent, skill } from '../registry/apps.fixture';
import { AgentAppFixture, server } from './agent-app.fixture';
import { registerServer, registerSkill } from './parts.fixture';

describe('declared agents', () => {
  const app = sharedApp();
  let on: AgentAppFixture;

  beforeEach(async () => {
    on = await AgentAppFixture.create(app);
  });

  it.each<[string, object, string]>([
    [
      'both the name and the id of a server',
      { tools: [{ server: 'a', server_id: 'b', tool_name: 't' }] },
      '/tools/0',
    ],
    ['neither the name nor the id of a skill', { skills: [{ version_ordinal: 1 }] }, '/skills/0'],
    ['a duplicate skill', { skills: [{ skill: 'a' }, { skill: 'a', version_ordinal: 2 }] }, '/skills/1'],
    [
      'a duplicate tool, once with a null',
      {
        tools: [
          { server: 'a', tool_name: 't' },
          { server: 'a', server_id: null, tool_name: 't' },
        ],
      },
      '/tools/1',
    ],
    ['a reference that is a string', { tools: ['t'] }, '/tools/0'],
    ['a tool without a name', { tools: [{ server: 'a' }] }, '/tools/0/tool_name'],
    ['version 0', { skills: [{ skill: 'a', version_ordinal: 0 }] }, '/skills/0/version_ordinal'],
    ['a misspelt member of a reference', { skills: [{ skill: 'a', 'x/y': 1 }] }, '/skills/0/x~1y'],
    ['too many tools', { tools: Array.from({ length: 501 }, () => null) }, '/tools'],
    ['a name', { name: 'other' }, '/name'],
    ['a misspelt member', { instruction: 'x' }, '/instruction'],
    ['a step count that is a string', { max_step_count: 'x' }, '/max_step_count'],
  ])('are rejected with %s', async (_, spec, pointer) => {
    const answer = await on.declare([agent('one', spec)]);
    expect([answer.status, answer.body.errors[0].pointer]).toEqual([400, `/resources/0/spec${pointer}`]);
  });

  it('have a limited number of references, which are checked without blocking other requests', async () => {
    const tools = Array.from({ length: 500 }, (_, n) => ({ server: 'tickets', tool_name: `tool-${n}` }));
    const many = Array.from({ length: 41 }, (_, n) => agent(`agent-${n}`, { tools }));
    const refused = await on.declare(many);
    expect([refused.status, refused.body.errors.length, refused.body.errors[0].pointer]).toEqual([
      400,
      1,
      '/resources/40/spec/tools',
    ]);
    let turns = 0;
    setImmediate(() => (turns += 1));
    await app.get(AppDeclarations).check(many.slice(1));
    expect(turns).toBe(1);
    expect((await on.declare(many.slice(1))).status).toBe(201);
  });

  it.each<[string, object, string]>([
    ['a server', { tools: [{ server: 'none', tool_name: 't' }] }, '/resources/1/spec/tools/0/server'],
    ['a tool', { tools: [{ server: 'tickets', tool_name: 'none' }] }, '/resources/1/spec/tools/0'],
    ['a skill', { skills: [{ skill: 'none' }] }, '/resources/1/spec/skills/0/skill'],
    ['a server’s id', { tools: [{ server_id: 'mcps_none', tool_name: 't' }] }, '/resources/1/spec/tools/0'],
    ['a version', { skills: [{ skill: 'writing', version_ordinal: 9 }] }, '/resources/1/spec/skills/0'],
  ])('change nothing if a reference cannot be resolved: %s', async (_, spec, pointer) => {
    await on.declare([server('tickets', 'search'), agent('one'), skill('writing'), agent('two')]);
    await on.reconcile();
    await on.redeclare([server('tickets', 'search'), agent('one', spec), skill('writing', 'Otherwise.')]);
    const states = (items: unknown) =>
      JSON.stringify(items, (key, value: unknown) =>
        ['sync_state', 'generation', 'updated_at'].includes(key) ? undefined : value,
      );
    const before = states(await on.everything());
    const refused = await on.reconcile();
    expect([refused.status, refused.body.code, refused.body.errors[0].pointer]).toEqual([
      422,
      'validation_failed',
      pointer,
    ]);
    expect(states(await on.everything())).toBe(before);
    expect((await on.editor.get('/registry/v1/apps/support')).body).toMatchObject({
      sync_state: 'failed',
      sync_error: { code: 'validation_failed', errors: [{ pointer }] },
    });
    expect((await on.agents('sync_state=failed')).map(({ name }) => name)).toEqual(['one']);
    await on.redeclare([server('tickets', 'search'), agent('one'), skill('writing'), agent('two')]);
    expect((await on.reconcile()).status).toBe(200);
    expect((await on.editor.get('/registry/v1/apps/support')).body.sync_error).toBeNull();
    expect(await on.agents('sync_state=failed')).toEqual([]);
  });

  it('are rejected if they name the same tool or skill by name and by id', async () => {
    const server_id = await registerServer(on.editor, on.org.workspaceId, ['fetch', 'find'], 'web');
    const skill_id = await registerSkill(on.editor, on.org.workspaceId, 'there');
    await on.declare([
      agent('one', {
        tools: [
          { server: 'web', tool_name: 'fetch' },
          { server_id, tool_name: 'find' },
          { server_id, tool_name: 'fetch' },
        ],
        skills: [{ skill_id }, { skill: 'there', version_ordinal: 1 }],
      }),
    ]);
    const refused = await on.reconcile();
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      ['tools/2', 'skills/1'].map((place) => ({
        pointer: `/resources/0/spec/${place}`,
        detail: 'repeats an earlier element',
      })),
    ]);
  });
});
