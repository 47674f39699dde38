import {
  ExperimentTraceRepository,
  TRACE_LABELS,
} from '../../src/evaluation/experiments/traces/experiment-trace.repository';
import { DEFAULT_METRICS } from '../../src/telemetry/traces/trace-stats.types';
import type { Environment } from '#platform/config';
import { ModelPrices } from '../../src/telemetry/span-mapping/model-prices';
import { TraceStatsRepository } from '../../src/telemetry/traces/trace-stats.repository';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';

const TRACES = 10_000;
const CALLS = 5;

const QUERIES: readonly [name: string, groupBy: string[]][] = [
  ['ungrouped', []],
  ['by model', ['model']],
  ['by case', ['case_id']],
];

/** Creates traces of 25 spans with calls of two of five models, each referenced by a result, among ten times as many. */
async function fill(bench: Bench, experimentId: string): Promise<void> {
  const { workspaceId } = bench.scope;
  await bench.fillResults(experimentId, TRACES, 1);
  await bench.direct.query(
    `WITH new_trace AS (
     INSERT INTO traces (workspace_id, trace_id, started_at, ended_at, span_count, error_count, input_tokens,
                         output_tokens, cost_usd, models, root_name, service_name)
     SELECT $1, 'b' || lpad(to_hex(n), 31, '0'), timestamptz '2026-11-20' + n * interval '1 second',
            timestamptz '2026-11-20' + n * interval '1 second' + (n * 7919 % 10007) * interval '1 millisecond', 25,
            (n % 10 = 0)::int, 1000 + n % 500, 100 + n % 50, 0.01 + (n % 100) / 10000.0,
            ARRAY['model ' || n % 5, 'model ' || (n + 1) % 5], 'answer', 'shop'
     FROM generate_series(1, $2::int) n RETURNING *)
     INSERT INTO trace_models (workspace_id, trace_id, model, input_tokens, output_tokens, cost_usd)
     SELECT workspace_id, trace_id, model, input_tokens / 2, output_tokens / 2, cost_usd / 2
     FROM new_trace, unnest(models) model`,
    [workspaceId, TRACES * 11],
  );
  await bench.direct.query(
    `UPDATE results SET trace_id = 'b' || lpad(to_hex(right(case_id, -5)::int * 11), 31, '0') WHERE experiment_id = $1`,
    [experimentId],
  );
  await bench.direct.query('VACUUM (ANALYZE) results, traces, trace_models');
}

/** Computes statistics over 10,000 traces, one query at a time, in milliseconds (a ratio above 1 is slower). */
export async function traceStats(bench: Bench): Promise<void> {
  const experimentId = await bench.newExperiment();
  await fill(bench, experimentId);
  const stored = new TraceStatsRepository(
    bench.direct.database,
    new ModelPrices({ MODEL_PRICES: {} } as Environment),
  );
  const references = new ExperimentTraceRepository(bench.direct.database);
  for (const [name, groupBy] of QUERIES) {
    const labels = TRACE_LABELS.filter((label) => groupBy.includes(label));
    const stats = async () => {
      const traces = await references.readLabels(bench.scope, experimentId, labels);
      return stored.stats(bench.scope, {
        among: { labels, traces },
        metrics: DEFAULT_METRICS,
        groupBy,
        filters: [],
      });
    };
    const body = JSON.stringify({ group_by: groupBy });
    const path = `/eval/v1/experiments/${experimentId}/traces/stats/query`;
    const result = await compare([
      {
        name: 'direct',
        measure: async () => (await timeCalls(CALLS, 1, stats)) / CALLS,
      },
      {
        name: 'service',
        measure: async () =>
          (await timeCalls(CALLS, 1, () => bench.http.send('POST', path, 200, body))) / CALLS,
      },
    ]);
    bench.report(`trace stats over ${TRACES} traces, ${name}`, 'ms', result);
  }
}
