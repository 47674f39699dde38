import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Spans as they were sent, and a row per trace that is kept up to date as its spans arrive. */
export class TelemetryTraces1795132800500 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Resource and scope of spans: the same for all that one library in one process makes, and bulky. Without a
      -- foreign key, which would be checked span by span.
      CREATE TABLE span_sources (
        workspace_id text COLLATE "C" NOT NULL,
        -- 128 bits of the SHA-256 of both texts
        source_id uuid NOT NULL,
        resource json NOT NULL,
        scope json NOT NULL,
        PRIMARY KEY (workspace_id, source_id)
      );

      CREATE TABLE spans (
        workspace_id text COLLATE "C" NOT NULL,
        trace_id text COLLATE "C" NOT NULL,
        span_id text COLLATE "C" NOT NULL,
        parent_span_id text COLLATE "C",
        name text NOT NULL,
        kind text NOT NULL,
        status_code text NOT NULL,
        status_message text,
        started_at timestamptz NOT NULL,
        ended_at timestamptz NOT NULL,
        model text COLLATE "C",
        input_tokens bigint,
        output_tokens bigint,
        cost_usd double precision,
        source_id uuid NOT NULL,
        attributes json NOT NULL,
        -- null for none
        events json,
        links json,
        -- what makes a span that is sent again the one that is stored
        PRIMARY KEY (workspace_id, trace_id, span_id)
      );
      CREATE INDEX spans_by_start ON spans (workspace_id, trace_id, started_at, span_id);

      CREATE TABLE traces (
        workspace_id text COLLATE "C" NOT NULL,
        trace_id text COLLATE "C" NOT NULL,
        started_at timestamptz NOT NULL,
        ended_at timestamptz NOT NULL,
        span_count integer NOT NULL,
        error_count integer NOT NULL,
        -- added up over calls of models
        input_tokens bigint,
        output_tokens bigint,
        -- numeric, so that a sum is the same in whatever order it is added up
        cost_usd numeric,
        -- the largest of those steps that repeat what calls below them used
        step_input_tokens bigint,
        step_output_tokens bigint,
        step_cost_usd numeric,
        models text[] COLLATE "C" NOT NULL,
        -- Which span a name comes from: 0 for the root and 1 for others, nanoseconds of its start, its id. Of two
        -- spans, the one with the lesser key names the trace.
        root_key text COLLATE "C",
        root_name text,
        input json,
        output json,
        session_key text COLLATE "C",
        session_id text COLLATE "C",
        service_key text COLLATE "C",
        service_name text COLLATE "C",
        PRIMARY KEY (workspace_id, trace_id)
      ) WITH (fillfactor = 80); -- room for new versions of a row beside the old ones, as spans arrive late
      CREATE INDEX traces_by_start ON traces (workspace_id, started_at, trace_id);
      CREATE INDEX traces_by_session ON traces (workspace_id, session_id, started_at, trace_id)
        WHERE session_id IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE traces, spans, span_sources');
  }
}
