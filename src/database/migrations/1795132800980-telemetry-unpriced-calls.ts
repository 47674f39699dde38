import type { MigrationInterface, QueryRunner } from 'typeorm';

/** As in the migration before, by which steps that repeat what calls used are told from the calls. */
const OPERATION = [
  'gen_ai.operation.name',
  'openinference.span.kind',
  'traceloop.span.kind',
  'llm.request.type',
  'ai.operationId',
];
const STEPS = [
  ...['invoke_agent', 'create_agent', 'invoke_workflow', 'agent', 'chain', 'workflow', 'task'],
  ...['ai.generatetext', 'ai.streamtext', 'ai.generateobject', 'ai.streamobject', 'ai.embed', 'ai.embedmany'],
];

/** Attributes by which a span tells its cost itself. */
const COSTS = ['gen_ai.usage.cost', 'llm.cost.total', 'operation.cost'];
/** A number as it is written in JSON, or as a text that instrumentations send; of an exponent that can be computed with. */
const NUMBER = String.raw`^\s*[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,3})?\s*$`;

/** Whether an attribute is an amount that is told: 0 to 10^6 US dollars. */
const tells = (name: string): string => {
  const value = `attributes->>'${name}'`;
  const isNumber = `json_typeof(attributes->'${name}') IN ('number', 'string') AND ${value} ~ '${NUMBER}'`;
  return `CASE WHEN ${isNumber} THEN (${value})::numeric <= 1000000 ELSE false END`;
};

/**
 * Tells of traces, and of what models used in them, how many calls used tokens that have no price; of traces also how
 * many steps did, and what their root tells that they cost.
 */
export class TelemetryUnpricedCalls1795132800980 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const operation = OPERATION.map((name) => `nullif(attributes->>'${name}', '')`).join(', ');
    const steps = STEPS.map((step) => `'${step}'`).join(', ');
    const isStep = `coalesce(lower(coalesce(${operation})) IN (${steps}), false)`;
    const tellsCost = COSTS.map(tells).join(' OR ');
    await runner.query(`
      ALTER TABLE traces ADD COLUMN unpriced_count bigint NOT NULL DEFAULT 0,
        ADD COLUMN step_unpriced_count bigint NOT NULL DEFAULT 0, ADD COLUMN root_cost_usd numeric;
      ALTER TABLE trace_models ADD COLUMN unpriced_count bigint NOT NULL DEFAULT 0;
      CREATE TEMPORARY TABLE unpriced ON COMMIT DROP AS
        SELECT workspace_id, trace_id, coalesce(model, '') AS model, count(*) FILTER (WHERE NOT is_step) AS calls,
               count(*) FILTER (WHERE is_step) AS steps
        FROM (SELECT *, ${isStep} AS is_step FROM spans
              WHERE cost_usd IS NULL AND coalesce(input_tokens, 0) + coalesce(output_tokens, 0) > 0) telling
        GROUP BY workspace_id, trace_id, coalesce(model, '');
      UPDATE trace_models m SET unpriced_count = u.calls FROM unpriced u
      WHERE m.workspace_id = u.workspace_id AND m.trace_id = u.trace_id AND m.model = u.model AND u.calls > 0;
      UPDATE traces t SET unpriced_count = u.calls, step_unpriced_count = u.steps
      FROM (SELECT workspace_id, trace_id, sum(calls) AS calls, sum(steps) AS steps FROM unpriced
            GROUP BY workspace_id, trace_id) u
      WHERE t.workspace_id = u.workspace_id AND t.trace_id = u.trace_id;
      UPDATE traces t SET root_cost_usd = root.cost_usd
      FROM (SELECT DISTINCT ON (workspace_id, trace_id) workspace_id, trace_id, cost_usd,
                   ${isStep} AND (${tellsCost}) AS tells_cost
            FROM spans WHERE parent_span_id IS NULL ORDER BY workspace_id, trace_id, started_at, span_id) root
      WHERE root.tells_cost AND t.workspace_id = root.workspace_id AND t.trace_id = root.trace_id;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE trace_models DROP COLUMN unpriced_count;
      ALTER TABLE traces DROP COLUMN unpriced_count, DROP COLUMN step_unpriced_count, DROP COLUMN root_cost_usd;
    `);
  }
}
