import { bytesOf, SqlMigration } from './sql-migration';

/**
 * Returns the statement that creates the partitions of today and tomorrow (UTC). Workers create the later ones ahead, and
 * whoever finds one missing creates it.
 */
const firstPartitions = (table: string): string => `
    DO $$
    DECLARE
      today date := (now() AT TIME ZONE 'UTC')::date;
    BEGIN
      FOR ahead IN 0..1 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF ${table} FOR VALUES FROM (%L) TO (%L)',
          '${table}_' || to_char(today + ahead, 'YYYYMMDD'), today + ahead, today + ahead + 1);
      END LOOP;
    END $$;`;

/**
 * The trace store, log records and metrics. Spans, log records and data points are partitioned by the day (UTC) on which
 * they arrived, so that retention drops a day as a whole. Senders may have any clock, so their times do not decide it.
 */
export class Telemetry1795305600600 extends SqlMigration {
  protected readonly sql = `
    -- Resource and scope, which are bulky, and the same for all that one library in one process sends. What refers to a
    -- source has no foreign key, because it would be checked span by span.
    CREATE TABLE span_sources (
      workspace_id text COLLATE "C" NOT NULL,
      -- 128 bits of the SHA-256 of both texts
      source_id uuid NOT NULL,
      resource json NOT NULL,
      scope json NOT NULL,
      -- the last day on which anything arrived from it
      day date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
      size integer NOT NULL GENERATED ALWAYS AS (${bytesOf('resource', 'scope')}) STORED,
      PRIMARY KEY (workspace_id, source_id)
    );
    -- retention
    CREATE INDEX span_sources_by_day ON span_sources (day);

    -- One row for each trace, updated as its spans arrive.
    CREATE SEQUENCE trace_numbers;
    CREATE TABLE traces (
      workspace_id text COLLATE "C" NOT NULL,
      trace_id text COLLATE "C" NOT NULL,
      -- both are those of its spans; the day is that of the trace's first arrival, by the database's clock
      trace_no bigint NOT NULL DEFAULT nextval('trace_numbers'),
      day date NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'UTC')::date,
      started_at timestamptz NOT NULL,
      ended_at timestamptz NOT NULL,
      -- the last arrival of a span: scoring rules go through traces in this order
      arrived_at timestamptz DEFAULT clock_timestamp(),
      span_count integer NOT NULL,
      error_count integer NOT NULL,
      -- sums over model calls; numeric, so that the order of adding makes no difference
      input_tokens bigint,
      output_tokens bigint,
      cost_usd numeric,
      -- the largest among steps (agents, chains) that repeat what the model calls below them used
      step_input_tokens bigint,
      step_output_tokens bigint,
      step_cost_usd numeric,
      -- model calls, and steps, that used tokens without a known price
      unpriced_count bigint NOT NULL DEFAULT 0,
      step_unpriced_count bigint NOT NULL DEFAULT 0,
      -- the cost that the root span states itself
      root_cost_usd numeric,
      models text[] COLLATE "C" NOT NULL,
      -- Each key says which span the value comes from: 0 for the root and 1 for others, its start in nanoseconds, its
      -- id. Of two spans, the one with the smaller key gives the value.
      root_key text COLLATE "C",
      root_name text,
      input json,
      output json,
      session_key text COLLATE "C",
      session_id text COLLATE "C",
      service_key text COLLATE "C",
      service_name text COLLATE "C",
      -- of input and output; not generated, because every update of the row would decompress both to measure them
      content_size integer NOT NULL DEFAULT 0,
      PRIMARY KEY (workspace_id, trace_id)
    ) WITH (fillfactor = 80); -- room on the page for new versions of a row, because spans arrive late
    ALTER SEQUENCE trace_numbers OWNED BY traces.trace_no;
    -- GET /telemetry/v1/traces: sort started_at, and filters that find few among many: session_id (also the traces of a
    -- session), service_name, root_name, and errors
    CREATE INDEX traces_by_start ON traces (workspace_id, started_at, trace_id);
    CREATE INDEX traces_by_session ON traces (workspace_id, session_id, started_at, trace_id)
      WHERE session_id IS NOT NULL;
    CREATE INDEX traces_by_service ON traces (workspace_id, service_name, started_at, trace_id)
      WHERE service_name IS NOT NULL;
    CREATE INDEX traces_by_root ON traces (workspace_id, root_name, started_at, trace_id) WHERE root_name IS NOT NULL;
    CREATE INDEX traces_in_error ON traces (workspace_id, started_at, trace_id) WHERE error_count > 0;
    -- scoring rules: what arrived since, and whether more of a session arrived
    CREATE INDEX traces_by_arrival ON traces (workspace_id, arrived_at, trace_id) WHERE arrived_at IS NOT NULL;
    CREATE INDEX traces_session_arrivals ON traces (workspace_id, session_id, arrived_at, trace_id)
      WHERE session_id IS NOT NULL AND arrived_at IS NOT NULL;
    -- retention
    CREATE INDEX traces_by_day ON traces (day);

    -- What each model used in a trace; the columns are as of the trace.
    CREATE TABLE trace_models (
      workspace_id text COLLATE "C" NOT NULL,
      trace_id text COLLATE "C" NOT NULL,
      -- empty for spans that state what was used, but no model
      model text COLLATE "C" NOT NULL,
      input_tokens bigint,
      output_tokens bigint,
      cost_usd numeric,
      step_input_tokens bigint,
      step_output_tokens bigint,
      step_cost_usd numeric,
      unpriced_count bigint NOT NULL DEFAULT 0,
      PRIMARY KEY (workspace_id, trace_id, model)
    );
    -- GET /telemetry/v1/traces: filter model; also statistics by model
    CREATE INDEX trace_models_by_model ON trace_models (workspace_id, model, trace_id);

    -- One row for each session that traces name, with the start of its last trace.
    CREATE TABLE trace_sessions (
      workspace_id text NOT NULL,
      session_id text COLLATE "C" NOT NULL,
      last_started_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, session_id)
    );
    -- GET /telemetry/v1/sessions
    CREATE INDEX trace_sessions_by_start ON trace_sessions (workspace_id, last_started_at, session_id);

    -- All spans of a trace are in the partition of its day, so that a span that is sent again is found. They are keyed
    -- by numbers: an index over names is four times as large, and new traces would touch all of its pages.
    CREATE TABLE spans (
      workspace_id text COLLATE "C" NOT NULL,
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
      content_size integer NOT NULL GENERATED ALWAYS AS (${bytesOf('attributes', 'events', 'links')}) STORED,
      -- a span that is sent again is the one stored
      PRIMARY KEY (trace_no, span_id, day)
    ) PARTITION BY RANGE (day);
    -- GET /telemetry/v1/traces/{id}/spans, and the span tree
    CREATE INDEX spans_by_start ON spans (trace_no, started_at, span_id);
    ${firstPartitions('spans')}

    -- Exports of logs and metrics that are stored. OTLP gives neither an id, so a repeated export is known by this.
    CREATE TABLE telemetry_exports (
      workspace_id text COLLATE "C" NOT NULL,
      -- the first 128 bits of the SHA-256 of the kind and the body
      export_id uuid NOT NULL,
      day date NOT NULL,
      PRIMARY KEY (workspace_id, export_id)
    );
    -- retention
    CREATE INDEX telemetry_exports_by_day ON telemetry_exports (day);

    CREATE SEQUENCE log_numbers AS bigint;
    CREATE TABLE log_records (
      workspace_id text COLLATE "C" NOT NULL,
      -- breaks ties of logged_at
      log_no bigint NOT NULL DEFAULT nextval('log_numbers'),
      -- when it happened, else when it was observed, else when it arrived
      logged_at timestamptz NOT NULL,
      -- whether logged_at is when it happened
      is_timed boolean NOT NULL,
      observed_at timestamptz,
      trace_id uuid,
      -- 64 bits
      span_id bigint,
      flags bigint NOT NULL,
      source_id uuid NOT NULL,
      day date NOT NULL,
      severity_number smallint NOT NULL,
      severity_text text,
      event_name text,
      service_name text COLLATE "C",
      -- null for none
      body json,
      attributes json NOT NULL,
      -- JSON may write one character as six
      content_size integer NOT NULL GENERATED ALWAYS AS
        (coalesce(octet_length(body::text), 0) + octet_length(attributes::text)
        + 6 * (coalesce(octet_length(severity_text), 0) + coalesce(octet_length(event_name), 0))) STORED
    ) PARTITION BY RANGE (day);
    ALTER SEQUENCE log_numbers OWNED BY log_records.log_no;
    -- GET /telemetry/v1/logs: sort logged_at, filters service_name, trace_id and severity. Severity has an index from
    -- warnings (13) on, which are rare.
    CREATE INDEX log_records_by_time ON log_records (workspace_id, logged_at, log_no);
    CREATE INDEX log_records_by_service ON log_records (workspace_id, service_name, logged_at, log_no)
      WHERE service_name IS NOT NULL;
    CREATE INDEX log_records_by_trace ON log_records (workspace_id, trace_id, logged_at, log_no)
      WHERE trace_id IS NOT NULL;
    CREATE INDEX log_records_severe ON log_records (workspace_id, logged_at, log_no) WHERE severity_number >= 13;
    ${firstPartitions('log_records')}

    CREATE SEQUENCE metric_numbers AS bigint;
    CREATE TABLE metric_points (
      workspace_id text COLLATE "C" NOT NULL,
      -- breaks ties of measured_at
      point_no bigint NOT NULL DEFAULT nextval('metric_numbers'),
      -- when it was measured, or arrived when that was not sent
      measured_at timestamptz NOT NULL,
      started_at timestamptz,
      flags bigint NOT NULL,
      source_id uuid NOT NULL,
      day date NOT NULL,
      name text COLLATE "C" NOT NULL,
      type text NOT NULL,
      temporality text,
      is_monotonic boolean,
      unit text,
      description text,
      service_name text COLLATE "C",
      -- null when no value was recorded
      value json,
      attributes json NOT NULL,
      -- null for none
      exemplars json,
      metadata json,
      content_size integer NOT NULL GENERATED ALWAYS AS (coalesce(octet_length(value::text), 0)
        + octet_length(attributes::text) + coalesce(octet_length(exemplars::text), 0)
        + coalesce(octet_length(metadata::text), 0) + 6 * (octet_length(name) + coalesce(octet_length(unit), 0)
        + coalesce(octet_length(description), 0))) STORED
    ) PARTITION BY RANGE (day);
    ALTER SEQUENCE metric_numbers OWNED BY metric_points.point_no;
    -- GET /telemetry/v1/metrics: sort measured_at, filters name and service_name. A name may be too long for an index.
    CREATE INDEX metric_points_by_time ON metric_points (workspace_id, measured_at, point_no);
    CREATE INDEX metric_points_by_name ON metric_points (workspace_id, left(name, 255), measured_at, point_no);
    CREATE INDEX metric_points_by_service ON metric_points (workspace_id, service_name, measured_at, point_no)
      WHERE service_name IS NOT NULL;
    ${firstPartitions('metric_points')}
  `;
}
