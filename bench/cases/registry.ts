import { newId } from '#platform/ids';
import { AgentRepository } from '../../src/agents/agents/agent.repository';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';

const AGENTS = 100_000;
const RESOURCES = 1_000;
const CLIENTS = 4;
const PAGES = 60;
const PAGE_SIZE = 50;

/** A page of 50 of 100,000 agents: the first, one by state, one by words, and one from the middle by its cursor. */
export async function listAgents(bench: Bench): Promise<void> {
  await fillAgents(bench);
  const agents = new AgentRepository(bench.direct.database);
  const cursor = await deepCursor(bench);
  const pages: [string, Record<string, string>][] = [
    ['first page', {}],
    ['page by state', { sync_state: 'drifted' }],
    ['page by words', { q: 'plann 777' }],
    ['page in the middle by cursor', { cursor }],
  ];
  for (const [title, query] of pages) {
    const asked = { limit: PAGE_SIZE, workspace_id: bench.scope.workspaceId, ...query };
    const parameters = Object.entries(asked).map(([name, value]): [string, string] => [name, String(value)]);
    const path = `/agent/v1/agents?${new URLSearchParams(parameters).toString()}`;
    const perSecond = (call: () => Promise<unknown>) => async () =>
      (PAGES * 1000) / (await timeCalls(PAGES, CLIENTS, call));
    const result = await compare([
      { name: 'direct', measure: perSecond(() => agents.list(bench.scope, asked as never)) },
      { name: 'service', measure: perSecond(() => bench.http.send('GET', path, 200)) },
    ]);
    bench.report(`${title} of ${AGENTS} agents, ${CLIENTS} clients`, 'requests/s', result);
  }
}

async function deepCursor(bench: Bench): Promise<string> {
  const path = `/agent/v1/agents?limit=1&offset=${AGENTS / 2}`;
  return (await bench.http.json<{ page: { next_cursor: string } }>('GET', path, 200)).page.next_cursor;
}

/** Agents of about 1 KB, made by PostgreSQL itself. */
async function fillAgents({ direct, scope }: Bench): Promise<void> {
  await direct.query(
    `INSERT INTO agents (agent_id, org_id, workspace_id, name, version_ordinal, version_id, description, instructions,
       tools, skills, required_permissions, max_step_count, metadata, app_id, app, sync_state, generation, created_at,
       updated_at, created_by)
     SELECT 'agt_' || lpad(n::text, 26, '0'), $1, $2, 'agent ' || n, 1, 'ver_' || n, 'a planner of kind ' || n % 1000,
       repeat('Plan, then act. ', 50), '[]', '[]', '{}', 50, '{}', CASE n % 10 WHEN 0 THEN 'app_bench' END,
       CASE n % 10 WHEN 0 THEN 'bench' END, CASE n % 10 WHEN 0 THEN 'drifted' ELSE 'unmanaged' END, 1, now(), now(), 'bench'
     FROM generate_series(1, $3::int) n`,
    [scope.orgId, scope.workspaceId, AGENTS],
  );
  await direct.query('VACUUM (ANALYZE) agents');
}

/**
 * Sweeps of an app with 1,000 resources, of which a third each are servers, skills and agents that refer to these: the
 * first, one when nothing changed, and one when one of them drifted. Milliseconds, against the first sweep.
 */
export async function reconcile(bench: Bench): Promise<void> {
  const { workspaceId: workspace_id } = bench.scope;
  let app = '';
  const sweep = async (): Promise<number> => {
    const startedAt = performance.now();
    await bench.http.send('POST', `/registry/v1/apps/${app}/reconcile`, 200);
    return performance.now() - startedAt;
  };
  const result = await compare([
    {
      name: 'first',
      measure: async () => {
        app = `bench-${newId('app').slice(-12)}`;
        await bench.http.json('POST', '/registry/v1/apps', 201, {
          workspace_id,
          app,
          resources: resourcesOf(app),
        });
        return sweep();
      },
    },
    { name: 'unchanged', measure: sweep },
    {
      name: 'drifted',
      measure: async () => {
        const { items } = await bench.http.json<{ items: { agent_id: string }[] }>(
          'GET',
          `/agent/v1/agents?app=${app}&limit=1`,
          200,
        );
        const body = { instructions: 'Otherwise.' };
        await bench.http.json('PATCH', `/agent/v1/agents/${items[0]!.agent_id}`, 200, body);
        return sweep();
      },
    },
  ]);
  bench.report(`sweep of ${RESOURCES} resources`, 'ms', result, ['first', 'unchanged', 'drifted']);
}

function resourcesOf(app: string): unknown[] {
  return Array.from({ length: RESOURCES }, (_, n) => {
    const third = Math.floor(n / 3);
    const names = { server: `${app} server ${third}`, skill: `${app}-skill-${third}` };
    const tool = { name: 'search', description: 'finds', input_schema: { type: 'object' } };
    switch (n % 3) {
      case 0:
        return {
          kind: 'mcp_server',
          name: names.server,
          spec: { url: `https://s${third}.example.com/mcp`, tools: [tool] },
        };
      case 1:
        return {
          kind: 'skill',
          name: names.skill,
          spec: { description: `Does ${third}.`, instructions: 'Do it. '.repeat(50) },
        };
      default:
        return {
          kind: 'agent',
          name: `${app} agent ${third}`,
          spec: {
            instructions: 'Plan, then act. '.repeat(50),
            tools: [{ server: names.server, tool_name: 'search' }],
            skills: [{ skill: names.skill }],
          },
        };
    }
  });
}
