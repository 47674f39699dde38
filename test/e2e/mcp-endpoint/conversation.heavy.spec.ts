import { setTimeout as delay } from 'node:timers/promises';
import {
  type ApiClient,
  ApiProcess,
  sharedApp,
  HttpForwarder,
  newOrganization,
  newTraceId,
  type TestOrganization,
  WorkerProcess,
} from '#testing';
import { EXACT } from '../evaluation/scoring.fixture';
import { type ClientMode, connect, type TestMcpClient } from './clients.fixture';
import { OrdersServer } from './orders.server';

const RUN_TIMEOUT_MS = 60_000;

/** An agent's complete conversation through two API processes that share nothing but the database. */
describe('an MCP conversation that alternates between two API processes', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let processes: ApiProcess[];
  let worker: WorkerProcess;
  let proxy: HttpForwarder;
  let orders: OrdersServer;
  let org: TestOrganization;
  let evaluator: ApiClient;
  const clients: TestMcpClient[] = [];

  beforeAll(async () => {
    [processes, worker, orders] = await Promise.all([
      Promise.all([ApiProcess.start(app), ApiProcess.start(app)]),
      WorkerProcess.start(app, { MCP_CHECK_INTERVAL_SECONDS: '0' }), // a check could add the tools before the test does
      OrdersServer.listen('token-of-the-orders'),
    ]);
    proxy = await HttpForwarder.to(processes.map(({ url }) => url));
    org = await newOrganization(app);
    evaluator = await org.as('evaluator');
  }, 120_000);
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
  });
  afterAll(async () => {
    await Promise.all([proxy.close(), orders.close(), worker.stop(), ...processes.map((one) => one.stop())]);
  });

  async function create(path: string, body: object): Promise<any> {
    const answer = await evaluator.post(path, { workspace_id: org.workspaceId, ...body });
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** Registers a skill, a server with its tools, and an experiment with a scorer. */
  async function populate(name: string): Promise<{ scorerId: string; experimentId: string }> {
    await create('/skill/v1/skills', {
      name: `refunds-${name}`,
      description: `Answers questions about ${name} refunds.`,
      instructions: `Look up the order of a ${name} refund, then its payment.`,
      files: [{ path: 'policy.md', content: 'Refunds take five days.' }],
    });
    const { server_id } = await create('/mcp/v1/servers', {
      name: `orders ${name}`,
      url: orders.url,
      auth: { type: 'bearer', value: orders.token },
    });
    const refreshed = await evaluator.post(`/mcp/v1/servers/${server_id}/refresh`);
    expect(refreshed.body).toMatchObject({ added: ['refund_status'] });
    const { scorer_id: scorerId } = await create('/eval/v1/scorers', {
      name: `exact ${name}`,
      scorer_kind: 'code',
      definition: EXACT,
    });
    const { experiment_id: experimentId } = await create('/eval/v1/experiments', { name });
    const items = [
      { case_id: 'right', trace_id: newTraceId(), output: 'paid', expected: 'paid' },
      { case_id: 'wrong', trace_id: newTraceId(), output: 'open', expected: 'paid' },
    ];
    await create(`/eval/v1/experiments/${experimentId}/results/bulk`, { items });
    return { scorerId, experimentId };
  }

  it.each<ClientMode>(['auto', 'v1'])(
    'searches, reads a skill, runs a tool and scores an experiment (client %s)',
    async (mode) => {
      const { scorerId, experimentId } = await populate(mode);
      const before = proxy.forwarded.length;
      const client = await connect(proxy.url, await org.token('evaluator'), mode);
      clients.push(client);
      const call = async (name: string, args: Record<string, unknown> = {}): Promise<any> => {
        const result = await client.callTool({ name, arguments: args });
        if (result.isError) throw new Error(JSON.stringify(result.content));
        return result.structuredContent;
      };

      await client.listTools(); // from now on, the client validates results against their schemas
      const { session_handle, workspace_id } = await call('mcp__initialise');
      expect(workspace_id).toBe(org.workspaceId);

      const search = await call('search_registry', {
        session_handle,
        query: `${mode} refunds`,
        types: ['skill'],
      });
      const [hit] = search.items;
      expect(hit.name).toBe(`refunds-${mode}`);
      const skill = await call('get_skill', { session_handle, skill_id: hit.id });
      expect(skill.instructions).toBe(`Look up the order of a ${mode} refund, then its payment.`);
      const file = await call('read_skill_file', { session_handle, skill_id: hit.id, path: 'policy.md' });
      expect(JSON.stringify(file)).toContain('Refunds take five days.');

      const tools = await call('search_registry', {
        session_handle,
        query: 'refund is paid',
        types: ['tool'],
      });
      const tool_id = tools.items.find(({ name }: any) => name.includes('refund_status')).id;
      const status = await call('call_mcp_tool', { session_handle, tool_id, arguments: { order_id: 'A-1' } });
      expect(JSON.stringify(status)).toContain('"is_paid":true');

      const run = await call('start_scoring_run', {
        session_handle,
        scorer_id: scorerId,
        experiment_id: experimentId,
      });
      const ended = await endOf(() =>
        call('get_scoring_run', { session_handle, score_run_id: run.score_run_id }),
      );
      expect(ended).toMatchObject({ run_status: 'succeeded', total: 2 });
      const { body } = await evaluator.get(`/eval/v1/experiments/${experimentId}/results`);
      const scores = body.items.map(({ case_id, scores: own }: any) => [case_id, own[`exact ${mode}`]]);
      expect(Object.fromEntries(scores)).toMatchObject({
        right: expect.anything(),
        wrong: expect.anything(),
      });

      const origins = proxy.forwarded.slice(before).map(({ to }) => to);
      expect(new Set(origins)).toEqual(new Set(processes.map(({ url }) => new URL(url).origin)));
    },
    120_000,
  );
});

/** Polls a run until it ends. */
async function endOf(ask: () => Promise<any>): Promise<any> {
  const until = Date.now() + RUN_TIMEOUT_MS;
  for (;;) {
    const run = await ask();
    if (run.run_status === 'succeeded' || run.run_status === 'failed') return run;
    if (Date.now() > until) throw new Error(`The run is still ${run.run_status}.`);
    await delay(100);
  }
}
