import { SUMMARY } from '../../src/telemetry/traces/trace-columns.sql';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';

const TRACES = 1_000_000;
const CALLS = 20;
const LIMIT = 50;

/** Fills the workspace with a million traces of the last ten days, each with a duration and a score, most with a cost. */
async function fill({ direct, scope }: Bench): Promise<void> {
  await direct.query(
    `WITH new_trace AS (
     INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, input_tokens,
                         output_tokens, cost_usd, models, root_name, service_name, session_id)
     SELECT $1, 'f' || lpad(to_hex(n), 31, '0'), now() - n * interval '0.8 second',
            now() - n * interval '0.8 second' + (n * 7919 % 100003) * interval '1 millisecond', 25, (n % 10 = 0)::int,
            1000 + n % 500, 100 + n % 50, CASE WHEN n % 3 > 0 THEN (n * 104729 % 99991) / 1e5 END, ARRAY['model ' || n % 5],
            'answer', 'service ' || n % 50, 'ses_' || n / 10
     FROM generate_series(1, $2::int8) n RETURNING *)
     INSERT INTO trace_models (workspace_id, trace_id, model, input_tokens, output_tokens, cost_usd)
     SELECT workspace_id, trace_id, models[1], input_tokens, output_tokens, cost_usd FROM new_trace`,
    [scope.workspaceId, TRACES],
  );
  await direct.query(
    `INSERT INTO scores (score_id, workspace_id, scorer_name, source, target_kind, trace_id, score, created_at, created_by)
     SELECT 'score_' || lpad(n::text, 26, '0'), $1, 'good', 'client', 'trace', 'f' || lpad(to_hex(n), 31, '0'),
            (n * 15485863 % 1000003) / 1e6, now(), 'bench'
     FROM generate_series(1, $2::int8) n`,
    [scope.workspaceId, TRACES],
  );
  await direct.query('VACUUM (ANALYZE) traces, trace_models, scores');
}

/** Lists a million traces and computes statistics of them, in milliseconds. The baselines are plain SQL statements. */
export async function traceSorts(bench: Bench): Promise<void> {
  await fill(bench);
  const { direct, http, scope } = bench;
  const id = scope.workspaceId;
  const page = `SELECT ${SUMMARY.text} FROM traces t WHERE workspace_id = $1 ORDER BY started_at DESC, trace_id DESC LIMIT ${LIMIT}`;
  const paths: [name: string, path: string][] = [
    ['newest first', ''],
    ['by duration', '&sort=-duration_ms'],
    ['by cost', '&sort=-cost_usd'],
    ['by cost, of one service', '&sort=-cost_usd&service_name=service%207'],
    ['by score', '&sort=score:good'],
    ['by score, of a day', `&sort=score:good&since=${new Date(Date.now() - 86_400_000).toISOString()}`],
    ['a score that every second trace has', '&score=good:gte:0.5'],
    ['a score that few traces have', '&score=good:gte:0.9995'],
  ];
  for (const [name, query] of paths) {
    const result = await compare([
      {
        name: 'direct',
        measure: async () => (await timeCalls(CALLS, 1, () => direct.query(page, [id]))) / CALLS,
      },
      {
        name: 'service',
        measure: async () =>
          (await timeCalls(CALLS, 1, () =>
            http.send('GET', `/telemetry/v1/traces?limit=${LIMIT}${query}`, 200),
          )) / CALLS,
      },
    ]);
    bench.report(
      `list of ${LIMIT} of ${TRACES} traces, ${name}, compared with reading the newest directly`,
      'ms',
      result,
    );
  }
  const since = new Date(Date.now() - 30 * 86_400_000).toISOString();
  const statement = `SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - started_at)),
      percentile_cont(0.95) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - started_at)), sum(input_tokens),
      sum(output_tokens), sum(cost_usd), sum(error_count)
    FROM traces WHERE workspace_id = $1`;
  for (const group_by of [[], ['day'], ['model']]) {
    const body = JSON.stringify({ since, group_by });
    const result = await compare([
      { name: 'direct', measure: () => timeCalls(1, 1, () => direct.query(statement, [id])) },
      {
        name: 'service',
        measure: () =>
          timeCalls(1, 1, () => http.send('POST', '/telemetry/v1/traces/stats/query', 200, body)),
      },
    ]);
    bench.report(`stats of ${TRACES} traces by ${group_by.join() || 'nothing'}`, 'ms', result);
  }
}
