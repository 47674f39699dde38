import { SqlMigration } from './sql-migration';

/**
 * Indexes of the trace list by duration and by cost. Rows of traces already change with every arrival (`arrived_at` is
 * indexed), so these indexes prevent no in-page update.
 */
export class TelemetryTraceSorts1795459400000 extends SqlMigration {
  protected readonly sql = `
    -- GET /telemetry/v1/traces: sort duration_ms
    CREATE INDEX traces_by_duration ON traces
      (workspace_id, (greatest(extract(epoch FROM ended_at - started_at) * 1000, 0)::float8), trace_id);
    -- GET /telemetry/v1/traces: sort cost_usd
    CREATE INDEX traces_by_cost ON traces (workspace_id, (coalesce(
        CASE WHEN unpriced_count = 0 THEN cost_usd END,
        CASE WHEN num_nonnulls(input_tokens, output_tokens, cost_usd) = 0
             THEN CASE WHEN step_unpriced_count = 0 THEN step_cost_usd END
             WHEN root_cost_usd >= coalesce(cost_usd, 0) THEN root_cost_usd END)::float8), trace_id);
  `;
}
