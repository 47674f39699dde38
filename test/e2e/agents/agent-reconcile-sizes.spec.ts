import { sharedApp } from '#testing';
import { expandRoles, workspaceScope } from '#platform/auth';
import { AgentRepository, type ComparedAgent, digestOf } from '../../../src/agents/agents/agent.repository';
import { type Declared, ReconcileSteps, type ReconcileResult } from '../../../src/resources';
import { agent, skill } from '../registry/apps.fixture';
import { AgentAppFixture } from './agent-app.fixture';
import { registerServer } from './parts.fixture';

describe('reconciling many or large agents', () => {
  const app = sharedApp();
  let on: AgentAppFixture;

  beforeEach(async () => {
    on = await AgentAppFixture.create(app);
  });

  it('reads a few MiB at a time, however large the agents are', async () => {
    const count = 20;
    const resources = Array.from({ length: count }, (_, n) => agent(`agent-${n}`));
    const { body } = await on.declare(resources);
    await on.reconcile();
    await app.database.query(
      `UPDATE agents SET instructions = repeat('x', 1000000), sync_state = 'drifted' WHERE org_id = $1`,
      [on.org.orgId],
    );
    const scope = workspaceScope(on.org.orgId, on.org.workspaceId, 'test', expandRoles(['admin']));
    const reconciled = async (
      declared: Declared[],
    ): Promise<{ read: number; reconciled: ReconcileResult }> => {
      let read = 0;
      const result = await app.database.transaction((tx) => {
        const counted = new Proxy(tx, {
          get: (target, member, receiver) => {
            if (member !== 'query') return Reflect.get(target, member, receiver) as unknown;
            return async (...args: Parameters<typeof tx.query>) => {
              const rows = await target.query(...args);
              read = Math.max(read, JSON.stringify(rows).length);
              return rows;
            };
          },
        });
        const owner = { appId: body.app_id as string, app: 'support' };
        return app.get(ReconcileSteps).of('agent').apply(counted, scope, owner, declared);
      });
      return { read, reconciled: result };
    };
    const all = resources.map(({ name }, n) => ({ name, spec: {}, pointer: `/resources/${n}` }));
    const drifted = await reconciled(all);
    expect(drifted.reconciled.updated.length).toBe(count);
    expect(drifted.read).toBeLessThan(5 * 1024 * 1024);
    expect((await on.agents('limit=100')).every(({ instructions }) => instructions === '')).toBe(true);
    await app.database.query(`UPDATE agents SET instructions = repeat('x', 1000000) WHERE org_id = $1`, [
      on.org.orgId,
    ]);
    const undeclared = await reconciled([]);
    expect(undeclared.reconciled.archived.length).toBe(count);
    expect(undeclared.read).toBeLessThan(100_000);
  });

  it('compares agents with their declarations by digest', async () => {
    const odd = 'é\u2028\u007f\u0001 "\\/\b\f\n\r\t😀';
    const server_id = await registerServer(on.editor, on.org.workspaceId, ['fetch'], 'web');
    await on.declare([
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
    expect((await on.reconcile()).status).toBe(200);
    const scope = workspaceScope(on.org.orgId, on.org.workspaceId, 'test', expandRoles(['admin']));
    const agents = app.get(AgentRepository);
    await app.database.transaction(async (tx) => {
      const [owned] = await agents.lockDeclared<ComparedAgent>(tx, scope, { appId: '', app: '' }, ['one']);
      const [row] = await agents.findMany(tx, scope, [owned!.id]);
      expect(row!.instructions).toBe(odd);
      expect(owned!.content_sha256).toBe(digestOf(row!));
    });
  });

  it('creates many agents, and archives them', async () => {
    const count = 200;
    await on.declare([
      skill('writing'),
      ...Array.from({ length: count }, (_, n) => agent(`agent-${n}`, { skills: [{ skill: 'writing' }] })),
    ]);
    expect((await on.reconcile()).body.live_count).toBe(count + 1);
    expect((await on.editor.get('/agent/v1/agents?limit=0')).body.page.total).toBe(count);
    await on.redeclare([]);
    expect((await on.reconcile()).body.live_count).toBe(0);
    expect((await on.editor.get('/agent/v1/agents?limit=0')).body.page.total).toBe(0);
  });
});
