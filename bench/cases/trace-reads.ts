import type { Bench } from '../bench';
import { median } from '../measure';

const PER_TRACE = 25;
/** Traces in the small store, and how many times as many the large store has. */
const TRACES = 40_000;
const GROWTH = 10;
const DAYS = 10;
const NAMED = 1_000;
const CALLS = 40;

/** The attributes of a model call, about 0.7 KB, different for each call. */
const ATTRIBUTES = `json_build_object('gen_ai.operation.name', 'chat', 'gen_ai.request.model', 'model ' || i % 5,
  'gen_ai.usage.input_tokens', n % 2000, 'gen_ai.usage.output_tokens', i * 7, 'customer', n % 100000,
  'gen_ai.input.messages', repeat(md5(n::text || i), 10), 'gen_ai.output.messages', repeat(md5(i::text || n), 8))`;

/**
 * Fills the store with the traces numbered `from` up to, but without, `to`: agent runs of 25 spans, with four children per
 * span, in the last ten days. Every second trace is in the benchmark's workspace, the others are in ten more. The large
 * store has 50 services and 40,000 sessions.
 */
async function fillTo(bench: Bench, from: number, to: number): Promise<void> {
  const { direct, scope } = bench;
  for (let day = 0; day < DAYS; day++) {
    await direct.query(`DO $$ DECLARE day date := (now() AT TIME ZONE 'UTC')::date - ${day}; BEGIN
      EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF spans FOR VALUES FROM (%L) TO (%L)',
        'spans_' || to_char(day, 'YYYYMMDD'), day, day + 1); END $$`);
  }
  await direct.query(
    `INSERT INTO traces (workspace_id, trace_id, day, started_at, ended_at, span_count, error_count, input_tokens,
                         output_tokens, cost_usd, models, root_name, session_id, service_name, input, output, content_size)
     SELECT CASE WHEN n % 2 = 0 THEN $1 ELSE 'wsp_other' || n % 20 END, lpad(to_hex(n), 32, '0'),
            (now() AT TIME ZONE 'UTC')::date - (n % ${DAYS})::int,
            now() - (n % ${DAYS}) * interval '1 day' - (n * 7919 % 86400) * interval '1 second',
            now() - (n % ${DAYS}) * interval '1 day' - (n * 7919 % 86400) * interval '1 second'
              + (n % 9000) * interval '1 millisecond', ${PER_TRACE}, (n % 10 = 0)::int, 1000 + n % 500, 100 + n % 50,
            0.01, ARRAY['model ' || n % 5], 'answer', 'ses_' || n / 10, 'service ' || n % 50,
            to_json(repeat(md5(n::text), 8)), to_json(repeat(md5(n::text), 8)), 512
     FROM generate_series($2::int8, $3::int8) n`,
    [scope.workspaceId, from, to - 1],
  );
  await direct.query(
    `INSERT INTO spans (workspace_id, day, trace_no, span_id, parent_span_id, started_at, ended_at, input_tokens,
                        output_tokens, source_id, name, kind, status_code, model, attributes)
     SELECT workspace_id, day, trace_no, i + 1, nullif((i + 3) / 4, 0), started_at + i * interval '10 ms',
            started_at + (i + 20) * interval '10 ms', n % 2000, i * 7, '00000000-0000-0000-0000-000000000001',
            'chat ' || i % 5, 'client', 'ok', 'model ' || i % 5, ${ATTRIBUTES}
     FROM (SELECT *, ('x' || right(trace_id, 8))::bit(32)::int AS n FROM traces) t, generate_series(0, ${PER_TRACE - 1}) i
     WHERE n >= $1 AND n < $2`,
    [from, to],
  );
  await direct.query(
    `INSERT INTO trace_sessions (workspace_id, session_id, last_started_at)
     SELECT workspace_id, session_id, max(started_at) FROM traces WHERE session_id IS NOT NULL GROUP BY 1, 2
     ON CONFLICT (workspace_id, session_id) DO UPDATE SET last_started_at = excluded.last_started_at`,
  );
  await direct.query('VACUUM (ANALYZE) traces, trace_sessions');
  await direct.query('ANALYZE spans');
}

/** Spreads numbers over a range, identically in every run. */
const spread = (call: number, below: number): number => (call * 7919 + 13) % below;

/** Reads among one million and among ten million spans, in milliseconds, and reports the ratio. */
export async function readTraces(bench: Bench): Promise<void> {
  const { direct, http, scope } = bench;
  await direct.query(
    `INSERT INTO span_sources (workspace_id, source_id, resource, scope) SELECT workspace_id,
       '00000000-0000-0000-0000-000000000001'::uuid, '{"attributes":{"service.name":"shop"},"dropped_attributes_count":0,"schema_url":""}'::json,
       '{"name":"bench","version":"1","attributes":{},"dropped_attributes_count":0,"schema_url":""}'::json
     FROM (SELECT $1 UNION SELECT 'wsp_other' || n FROM generate_series(1, 19, 2) n) AS w(workspace_id)`,
    [scope.workspaceId],
  );
  await fillTo(bench, 1, TRACES);
  const experimentId = await bench.newExperiment();
  await bench.fillResults(experimentId, NAMED, 1);
  await direct.query(
    `UPDATE results SET trace_id = lpad(to_hex(right(case_id, -5)::int * 2), 32, '0') WHERE experiment_id = $1`,
    [experimentId],
  );
  const traceId = (call: number): string =>
    (2 + 2 * spread(call, TRACES / 2 - 2)).toString(16).padStart(32, '0');
  const get = (path: string) => http.send('GET', `/telemetry/v1${path}`, 200);
  const stats = JSON.stringify({ group_by: ['model'] });
  const reads: Record<string, (call: number) => Promise<unknown>> = {
    'list of 50': () => get('/traces?limit=50'),
    'list of one service, with errors': (call) =>
      get(`/traces?service_name=service%20${(call % 25) * 2}&status=error`),
    'list by an attribute, of the last two hours': (call) =>
      get(
        `/traces?attribute=customer:${2 * spread(call, 1000)}&limit=1&since=${new Date(Date.now() - 7_200_000).toISOString()}`,
      ),
    'one trace, with its tree': (call) => get(`/traces/${traceId(call)}`),
    'spans of one trace': (call) => get(`/traces/${traceId(call)}/spans`),
    'list of 50 sessions': () => get('/sessions'),
    [`stats over ${NAMED} traces of an experiment`]: () =>
      http.send('POST', `/eval/v1/experiments/${experimentId}/traces/stats/query`, 200, stats),
  };
  const measure = async (): Promise<Record<string, number>> => {
    const medians: Record<string, number> = {};
    for (const [name, read] of Object.entries(reads)) {
      const times: number[] = [];
      for (let call = 0; call < CALLS; call++) {
        const startedAt = performance.now();
        await read(call);
        if (call > 0) times.push(performance.now() - startedAt);
      }
      medians[name] = median(times);
    }
    return medians;
  };
  const small = await measure();
  await fillTo(bench, TRACES, TRACES * GROWTH);
  const large = await measure();
  for (const name of Object.keys(reads)) {
    const [before, after] = [small[name]!, large[name]!];
    bench.line(
      `${name}: ${before.toFixed(1)} ms among ${(TRACES * PER_TRACE) / 1e6} million spans, ${after.toFixed(1)} ms among ${(TRACES * GROWTH * PER_TRACE) / 1e6}; growth ${(after / before).toFixed(2)}`,
    );
  }
  const [size] = await direct.query<{ spans: number; traces: number }>(
    `SELECT sum(pg_total_relation_size(inhrelid)) AS spans, pg_total_relation_size('traces') AS traces
     FROM pg_inherits WHERE inhparent = 'spans'::regclass`,
  );
  const count = TRACES * GROWTH * PER_TRACE;
  bench.line(
    `on disk: ${(size!.spans / count).toFixed(0)} bytes a span with its indexes, ${(size!.traces / (TRACES * GROWTH)).toFixed(0)} bytes a trace`,
  );
}
