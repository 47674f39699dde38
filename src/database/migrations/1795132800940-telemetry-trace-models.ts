import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The attributes that tell what kind of step a span is, in the order in which they are looked for. */
const OPERATION = [
  'gen_ai.operation.name',
  'openinference.span.kind',
  'traceloop.span.kind',
  'llm.request.type',
  'ai.operationId',
];
/** Steps that repeat what the calls of models below them used, in lower case. */
const STEPS = [
  ...['invoke_agent', 'create_agent', 'invoke_workflow', 'agent', 'chain', 'workflow', 'task'],
  ...['ai.generatetext', 'ai.streamtext', 'ai.generateobject', 'ai.streamobject', 'ai.embed', 'ai.embedmany'],
];

/** What each model used in a trace, kept up to date as the trace is, and told for the spans that are there already. */
export class TelemetryTraceModels1795132800940 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const operation = OPERATION.map((name) => `nullif(attributes->>'${name}', '')`).join(', ');
    const steps = STEPS.map((step) => `'${step}'`).join(', ');
    await runner.query(`
      CREATE TABLE trace_models (
        workspace_id text COLLATE "C" NOT NULL,
        trace_id text COLLATE "C" NOT NULL,
        -- empty for spans that tell what was used, but not by which model
        model text COLLATE "C" NOT NULL,
        -- as of the trace: added up over calls of the model
        input_tokens bigint,
        output_tokens bigint,
        cost_usd numeric,
        -- the largest of those steps that repeat what calls below them used
        step_input_tokens bigint,
        step_output_tokens bigint,
        step_cost_usd numeric,
        PRIMARY KEY (workspace_id, trace_id, model)
      );
      INSERT INTO trace_models
      SELECT workspace_id, trace_id, coalesce(model, ''),
             sum(input_tokens) FILTER (WHERE NOT is_step), sum(output_tokens) FILTER (WHERE NOT is_step),
             sum(cost_usd::numeric) FILTER (WHERE NOT is_step),
             max(input_tokens) FILTER (WHERE is_step), max(output_tokens) FILTER (WHERE is_step),
             max(cost_usd::numeric) FILTER (WHERE is_step)
      FROM (
        SELECT *, coalesce(lower(coalesce(${operation})) IN (${steps}), false) AS is_step
        FROM spans WHERE num_nonnulls(model, input_tokens, output_tokens, cost_usd) > 0
      ) telling
      GROUP BY workspace_id, trace_id, coalesce(model, '');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE trace_models');
  }
}
