import { newId } from '#platform/ids';
import type { Bench } from '../bench';
import { compare, percentiles, type Side, timeCalls } from '../measure';

const CLIENTS = [1, 16];
const CALLS_PER_CLIENT = 40;
const MIN_CALLS = 300;

/** A kind of resource to create: the route with its body, and a single INSERT of the same content. */
interface Kind {
  name: string;
  path: string;
  body: (n: string) => object;
  insert: string;
  values: (n: string) => unknown[];
}

const INPUT = { question: 'What is the sum of these numbers? '.repeat(8) };
const OUTPUT = { text: 'The sum is found step by step. '.repeat(13), tokens: 120 };

/** Creates one record, result, message or agent per request. The baseline inserts a row of the same content. */
export async function singleCreates(bench: Bench): Promise<void> {
  for (const kind of await kindsOf(bench)) {
    for (const clients of CLIENTS) await compareCreates(bench, kind, clients);
  }
}

/** Creates one resource per request, without and with an `Idempotency-Key`. */
export async function keyedCreates(bench: Bench): Promise<void> {
  for (const kind of await kindsOf(bench)) {
    for (const clients of CLIENTS) {
      const calls = Math.max(MIN_CALLS, clients * CALLS_PER_CLIENT);
      const side = (name: string, headersOf: () => Record<string, string>): Side => ({
        name,
        measure: async (round) => {
          const bodies = Array.from({ length: calls }, (_, call) =>
            JSON.stringify(kind.body(`${name} ${clients} ${round} ${call}`)),
          );
          const send = (call: number) =>
            bench.http.send('POST', kind.path, 201, bodies[call], 'application/json', headersOf());
          return (calls * 1000) / (await timeCalls(calls, clients, send));
        },
      });
      const sides = [
        side('without a key', () => ({})),
        side('with a key', () => ({ 'Idempotency-Key': newId('item') })),
      ];
      const label = `create one ${kind.name}, ${clients} ${clients === 1 ? 'client' : 'clients'}`;
      bench.report(
        label,
        'requests/s',
        await compare(sides),
        sides.map(({ name }) => name),
      );
    }
  }
}

async function compareCreates(bench: Bench, kind: Kind, clients: number): Promise<void> {
  const calls = Math.max(MIN_CALLS, clients * CALLS_PER_CLIENT);
  const latencies: number[] = [];
  const result = await compare([
    {
      name: 'direct',
      measure: async (round) => {
        const ms = await timeCalls(calls, clients, (call) =>
          bench.direct.query(kind.insert, kind.values(`${clients} ${round} ${call}`)),
        );
        return (calls * 1000) / ms;
      },
    },
    {
      name: 'service',
      measure: async (round) => {
        const bodies = Array.from({ length: calls }, (_, call) =>
          JSON.stringify(kind.body(`${clients} ${round} ${call}`)),
        );
        const times = round > 0 ? latencies : [];
        const send = (call: number) => bench.http.send('POST', kind.path, 201, bodies[call]);
        return (calls * 1000) / (await timeCalls(calls, clients, send, times));
      },
    },
  ]);
  bench.report(
    `create one ${kind.name}, ${clients} ${clients === 1 ? 'client' : 'clients'}`,
    'requests/s',
    result,
  );
  const [p50, p95, p99] = percentiles(latencies).map((ms) => ms.toFixed(1));
  bench.line(`  latency p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms`);
}

async function kindsOf(bench: Bench): Promise<Kind[]> {
  const { workspaceId: workspace_id, orgId, principalId } = bench.scope;
  const create = <Created>(path: string, body: object) =>
    bench.http.json<Created>('POST', path, 201, { workspace_id, ...body });
  const dataset = () => create<{ dataset_id: string }>('/eval/v1/datasets', { name: newId('ds') });
  const [servedDataset, directDataset] = [await dataset(), await dataset()];
  const [servedExperiment, directExperiment] = [await bench.newExperiment(), await bench.newExperiment()];
  const agentBody = (n: string) => ({
    workspace_id,
    name: `bench ${n}`,
    instructions: 'Answer briefly. '.repeat(20),
  });
  const { agent_id } = await create<{ agent_id: string }>('/agent/v1/agents', agentBody(newId('agt')));
  const session = () =>
    create<{ session_id: string }>(`/agent/v1/agents/${agent_id}/sessions`, { prompt: 'Hello' });
  const [servedSession, directSession] = [await session(), await session()];
  let ordinal = 1;
  return [
    {
      name: 'record',
      path: `/eval/v1/datasets/${servedDataset.dataset_id}/records`,
      body: (n) => ({ workspace_id, input: INPUT, expected: OUTPUT, metadata: { n }, external_id: n }),
      insert: `INSERT INTO records (dataset_record_id, dataset_id, workspace_id, version_id, input, expected, metadata,
                                    external_id, created_revision, created_by)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9)`,
      values: (n) => [
        ...[
          newId('rec'),
          directDataset.dataset_id,
          workspace_id,
          newId('ver'),
          INPUT,
          OUTPUT,
          { n },
          n,
          principalId,
        ],
      ],
    },
    {
      name: 'result',
      path: `/eval/v1/experiments/${servedExperiment}/results`,
      body: (n) => ({ workspace_id, case_id: n, input: INPUT, output: OUTPUT, scores: { correct: 1 } }),
      insert: `WITH result AS (
          INSERT INTO results (experiment_id, result_id, workspace_id, case_id, input, output, created_at, updated_at,
                               created_by)
          VALUES ($1, $2, $3, $4, $5, $6, now(), now(), $8) RETURNING *)
        INSERT INTO scores (score_id, workspace_id, scorer_name, source, target_kind, experiment_id, result_id,
                            result_version, case_id, score, is_current, created_at, created_by)
        SELECT $7, workspace_id, 'correct', 'client', 'result', experiment_id, result_id, version, case_id, 1, true, created_at,
               created_by FROM result`,
      values: (n) => [
        ...[directExperiment, newId('res'), workspace_id, n, INPUT, OUTPUT, newId('score'), principalId],
      ],
    },
    {
      name: 'message',
      path: `/agent/v1/sessions/${servedSession.session_id}/messages`,
      body: () => ({ role: 'assistant', content: OUTPUT }),
      insert: `INSERT INTO session_messages (session_id, ordinal, message_id, org_id, workspace_id, role, content,
                                             created_at, created_by)
        VALUES ($1, $2, $3, $4, $5, 'assistant', $6, now(), $7)`,
      values: () => [
        ...[directSession.session_id, ++ordinal, newId('msg'), orgId, workspace_id, OUTPUT, principalId],
      ],
    },
    {
      name: 'agent',
      path: '/agent/v1/agents',
      body: agentBody,
      insert: `INSERT INTO agents (agent_id, org_id, workspace_id, name, version_ordinal, version_id, instructions, tools,
                                   skills, required_permissions, max_step_count, metadata, sync_state, generation,
                                   created_at, updated_at, created_by)
        VALUES ($1, $2, $3, $4, 1, $5, $6, '[]', '[]', '{}', 10, '{}', 'unmanaged', 1, now(), now(), $7)`,
      values: (n) => [
        ...[
          newId('agt'),
          orgId,
          workspace_id,
          `direct ${n}`,
          newId('ver'),
          agentBody(n).instructions,
          principalId,
        ],
      ],
    },
  ];
}
