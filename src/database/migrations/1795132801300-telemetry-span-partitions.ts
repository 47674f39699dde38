import type { MigrationInterface, QueryRunner } from 'typeorm';

/** 64 bits of the hexadecimal digits of a span's id. */
const bitsOf = (id: string): string => `('x' || lpad(${id}, 16, '0'))::bit(64)::bigint`;

/**
 * Spans by day, so that a day can be dropped as a whole. The day is the one on which the trace first arrived, by the
 * clock of the database: senders may have any clock, and all spans of a trace lie together, so that one of them that is
 * sent again is found. Within it they are keyed by numbers: an index over names is four times as large, and new traces
 * would go into all of its pages. All that is there already counts as arrived today. It is written anew, at about a
 * minute for each million spans.
 */
export class TelemetrySpanPartitions1795132801300 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SEQUENCE trace_numbers;
      ALTER TABLE traces
        ADD COLUMN trace_no bigint NOT NULL DEFAULT nextval('trace_numbers'),
        ADD COLUMN day date NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'UTC')::date;
      ALTER SEQUENCE trace_numbers OWNED BY traces.trace_no;
      CREATE INDEX traces_by_day ON traces (day);

      -- the last day on which spans came from it
      ALTER TABLE span_sources ADD COLUMN day date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date;
      CREATE INDEX span_sources_by_day ON span_sources (day);

      ALTER TABLE spans RENAME TO spans_without_days;
      ALTER TABLE spans_without_days RENAME CONSTRAINT spans_pkey TO spans_without_days_pkey;
      ALTER INDEX spans_by_start RENAME TO spans_without_days_by_start;
      CREATE TABLE spans (
        workspace_id text COLLATE "C" NOT NULL,
        -- both those of the trace
        day date NOT NULL,
        trace_no bigint NOT NULL,
        -- 64 bits
        span_id bigint NOT NULL,
        parent_span_id bigint,
        started_at timestamptz NOT NULL,
        ended_at timestamptz NOT NULL,
        input_tokens bigint,
        output_tokens bigint,
        -- of the input, and of the output
        cached_input_tokens bigint,
        reasoning_tokens bigint,
        cost_usd double precision,
        source_id uuid NOT NULL,
        name text NOT NULL,
        kind text NOT NULL,
        status_code text NOT NULL,
        status_message text,
        operation text COLLATE "C",
        provider text COLLATE "C",
        model text COLLATE "C",
        agent_name text COLLATE "C",
        tool_name text COLLATE "C",
        attributes json NOT NULL,
        -- null for none
        events json,
        links json,
        content_size integer NOT NULL GENERATED ALWAYS AS (coalesce(octet_length(attributes::text), 0)
          + coalesce(octet_length(events::text), 0) + coalesce(octet_length(links::text), 0)) STORED,
        -- what makes a span that is sent again the one that is stored
        PRIMARY KEY (trace_no, span_id, day)
      ) PARTITION BY RANGE (day);
      CREATE INDEX spans_by_start ON spans (trace_no, started_at, span_id);
      DO $$
      DECLARE
        today date := (now() AT TIME ZONE 'UTC')::date;
      BEGIN
        FOR ahead IN 0..1 LOOP
          EXECUTE format('CREATE TABLE %I PARTITION OF spans FOR VALUES FROM (%L) TO (%L)',
            'spans_' || to_char(today + ahead, 'YYYYMMDD'), today + ahead, today + ahead + 1);
        END LOOP;
        UPDATE traces SET day = today WHERE day <> today;
        INSERT INTO spans (workspace_id, day, trace_no, span_id, parent_span_id, started_at, ended_at, input_tokens,
                           output_tokens, cost_usd, source_id, name, kind, status_code, status_message, model,
                           attributes, events, links)
          SELECT s.workspace_id, today, t.trace_no, ${bitsOf('s.span_id')}, ${bitsOf('s.parent_span_id')},
                 s.started_at, s.ended_at, s.input_tokens, s.output_tokens, s.cost_usd, s.source_id, s.name, s.kind,
                 s.status_code, s.status_message, s.model, s.attributes, s.events, s.links
          FROM spans_without_days s JOIN traces t USING (workspace_id, trace_id)
          ORDER BY t.trace_no;
      END $$;
      DROP TABLE spans_without_days;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE spans_without_days (
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
        events json,
        links json,
        content_size integer NOT NULL GENERATED ALWAYS AS (coalesce(octet_length(attributes::text), 0)
          + coalesce(octet_length(events::text), 0) + coalesce(octet_length(links::text), 0)) STORED
      );
      INSERT INTO spans_without_days
        SELECT s.workspace_id, t.trace_id, lpad(to_hex(s.span_id), 16, '0'), lpad(to_hex(s.parent_span_id), 16, '0'),
               s.name, s.kind, s.status_code, s.status_message, s.started_at, s.ended_at, s.model, s.input_tokens,
               s.output_tokens, s.cost_usd, s.source_id, s.attributes, s.events, s.links
        FROM spans s JOIN traces t USING (workspace_id, day, trace_no);
      DROP TABLE spans;
      ALTER TABLE spans_without_days RENAME TO spans;
      ALTER TABLE spans ADD PRIMARY KEY (workspace_id, trace_id, span_id);
      CREATE INDEX spans_by_start ON spans (workspace_id, trace_id, started_at, span_id);
      ALTER TABLE span_sources DROP COLUMN day;
      ALTER TABLE traces DROP COLUMN day, DROP COLUMN trace_no;
    `);
  }
}
