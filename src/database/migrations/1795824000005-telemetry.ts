import { bytesOf, SqlMigration } from './sql-migration';

/**
 * Returns the statement that creates the partitions of today and tomorrow (UTC). Workers create later partitions in
 * advance; a writer creates a partition that is missing.
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

const hasNoCalls = 'num_nonnulls(input_tokens, output_tokens, cost_usd) = 0';

const KNOWN_COST = `CASE WHEN gap_count = 0 OR ${hasNoCalls}
  THEN CASE WHEN num_nonnulls(cost_usd, step_cost_usd) > 0 THEN coalesce(cost_usd, 0) + coalesce(step_cost_usd, 0) END
  ELSE cost_usd END`;

/** The cost of a trace, as lists compute it. */
const TRACE_COST = `(CASE WHEN unpriced_count + CASE WHEN gap_count = 0 OR ${hasNoCalls} THEN step_unpriced_count ELSE 0 END = 0
    THEN ${KNOWN_COST}
  WHEN root_cost_usd >= coalesce(${KNOWN_COST}, 0) THEN root_cost_usd END)`;

/**
 * Traces, log records and metrics. Spans, log records and data points are partitioned by the day of arrival (UTC), so that
 * retention drops a whole day at once. Partitions do not depend on the times in the records, because a sender's clock may be
 * wrong.
 */
export class Telemetry1795824000005 extends SqlMigration {
  protected readonly sql = `
    -- The resource and scope of records. They are large, and the same for all records of one library in one process. Records
    -- have no foreign key to their source, because it would be checked for every span.
    CREATE TABLE span_sources (
      workspace_id text COLLATE "C" NOT NULL,
      -- the first 128 bits of the SHA-256 of both texts
      source_id uuid NOT NULL,
      resource json NOT NULL,
      scope json NOT NULL,
      -- the last day on which a record of this source arrived
      day date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
      size integer NOT NULL GENERATED ALWAYS AS (${bytesOf('resource', 'scope')}) STORED,
      PRIMARY KEY (workspace_id, source_id)
    );
    -- retention, of the installation and of a workspace
    CREATE INDEX span_sources_by_day ON span_sources (day);
    CREATE INDEX span_sources_of_workspace ON span_sources (workspace_id, day);

    CREATE SEQUENCE trace_numbers;
    -- One row for each trace, updated as its spans arrive.
    CREATE TABLE traces (
      workspace_id text COLLATE "C" NOT NULL,
      trace_id text COLLATE "C" NOT NULL,
      -- number and partition of the spans; the day is that of the first arrival, by the clock of the database
      trace_no bigint NOT NULL DEFAULT nextval('trace_numbers'),
      day date NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'UTC')::date,
      started_at timestamptz NOT NULL,
      ended_at timestamptz NOT NULL,
      -- when the last span arrived; scoring rules process traces in this order
      arrived_at timestamptz DEFAULT clock_timestamp(),
      span_count integer NOT NULL,
      error_count integer NOT NULL,
      -- number of values that were masked in its spans
      masked_count bigint NOT NULL DEFAULT 0,
      -- sums over model calls, each of which counts once; numeric, so that the order of additions does not matter
      input_tokens bigint,
      output_tokens bigint,
      cost_usd numeric,
      -- sums over other steps (agents, tools) with no usage below them
      step_input_tokens bigint,
      step_output_tokens bigint,
      step_cost_usd numeric,
      -- number of model calls, and of steps, that used tokens without a known price
      unpriced_count bigint NOT NULL DEFAULT 0,
      step_unpriced_count bigint NOT NULL DEFAULT 0,
      -- number of its span_gaps
      gap_count bigint NOT NULL DEFAULT 0,
      -- the cost that the root span reports
      root_cost_usd numeric,
      models text[] COLLATE "C" NOT NULL,
      -- Each key identifies the span that the value comes from: 0 for the root or 1 for others, its start in nanoseconds,
      -- its id. The span with the smallest key gives the value.
      root_key text COLLATE "C",
      root_name text,
      input json,
      output json,
      -- their first characters, for lists
      input_preview text,
      output_preview text,
      session_key text COLLATE "C",
      session_id text COLLATE "C",
      service_key text COLLATE "C",
      service_name text COLLATE "C",
      -- the version of the agent that produced the trace; its key is prefixed with the origin: 'agent' or 'service'
      version_key text COLLATE "C",
      agent_version text COLLATE "C",
      user_key text COLLATE "C",
      user_id text COLLATE "C",
      environment_key text COLLATE "C",
      environment text COLLATE "C",
      -- name and version come from the same span
      prompt_key text COLLATE "C",
      prompt_name text COLLATE "C",
      prompt_version text COLLATE "C",
      -- of all spans: the first by name
      tags text[] COLLATE "C" NOT NULL DEFAULT '{}',
      -- size of input and output; not a generated column, because every update of the row would decompress both
      content_size integer NOT NULL DEFAULT 0,
      PRIMARY KEY (workspace_id, trace_id)
    ) WITH (fillfactor = 80); -- leaves room for new row versions on the page, because spans arrive late
    ALTER SEQUENCE trace_numbers OWNED BY traces.trace_no;
    -- GET /telemetry/v1/traces: sort started_at, and the selective filters session_id (also for the traces of a session),
    -- user_id, prompt_name, service_name, root_name, environment and status error
    CREATE INDEX traces_by_start ON traces (workspace_id, started_at, trace_id);
    CREATE INDEX traces_by_session ON traces (workspace_id, session_id, started_at, trace_id)
      WHERE session_id IS NOT NULL;
    CREATE INDEX traces_by_service ON traces (workspace_id, service_name, started_at, trace_id)
      WHERE service_name IS NOT NULL;
    CREATE INDEX traces_by_root ON traces (workspace_id, root_name, started_at, trace_id) WHERE root_name IS NOT NULL;
    CREATE INDEX traces_by_user ON traces (workspace_id, user_id, started_at, trace_id) WHERE user_id IS NOT NULL;
    CREATE INDEX traces_by_prompt ON traces (workspace_id, prompt_name, started_at, trace_id)
      WHERE prompt_name IS NOT NULL;
    CREATE INDEX traces_by_environment ON traces (workspace_id, environment, started_at, trace_id)
      WHERE environment IS NOT NULL;
    CREATE INDEX traces_in_error ON traces (workspace_id, started_at, trace_id) WHERE error_count > 0;
    -- Its sorts duration_ms and cost_usd. Updates of a trace are not heap-only anyway, because arrived_at is indexed.
    CREATE INDEX traces_by_duration ON traces
      (workspace_id, (greatest(extract(epoch FROM ended_at - started_at) * 1000, 0)::float8), trace_id);
    CREATE INDEX traces_by_cost ON traces (workspace_id, (${TRACE_COST}::float8), trace_id);
    -- scoring rules: traces that arrived after a position, and later arrivals of a session
    CREATE INDEX traces_by_arrival ON traces (workspace_id, arrived_at, trace_id) WHERE arrived_at IS NOT NULL;
    CREATE INDEX traces_session_arrivals ON traces (workspace_id, session_id, arrived_at, trace_id)
      WHERE session_id IS NOT NULL AND arrived_at IS NOT NULL;
    -- retention, of all workspaces and of one
    CREATE INDEX traces_by_day ON traces (day, workspace_id);

    -- Traces that were deleted, so that a late span does not create one again. Kept forever, because a span may arrive at any
    -- time. Holds no ids: the first 128 bits of an HMAC-SHA-256 of workspace and trace id.
    CREATE TABLE deleted_traces (
      workspace_id text COLLATE "C" NOT NULL,
      trace_hash uuid NOT NULL,
      deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      PRIMARY KEY (workspace_id, trace_hash)
    );

    -- Users that were erased, so that spans from before the erasure are not stored again. Hashes as in deleted_traces.
    CREATE TABLE erased_users (
      workspace_id text COLLATE "C" NOT NULL,
      user_hash uuid NOT NULL,
      erased_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, user_hash)
    );

    -- What is known about the usage below parents that have not arrived. Empty once the spans of a trace are complete.
    CREATE TABLE span_gaps (
      workspace_id text COLLATE "C" NOT NULL,
      trace_no bigint NOT NULL,
      -- the missing parent
      span_id bigint NOT NULL,
      -- as in spans
      usage_flags integer NOT NULL,
      unpriced_calls integer NOT NULL,
      unpriced_steps integer NOT NULL,
      estimated_steps integer NOT NULL,
      PRIMARY KEY (trace_no, span_id)
    );

    -- The usage of each model in a trace, in the same columns as in traces.
    CREATE TABLE trace_models (
      workspace_id text COLLATE "C" NOT NULL,
      trace_id text COLLATE "C" NOT NULL,
      -- empty for spans that report usage but no model
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
    -- GET /telemetry/v1/traces: filter model. Also serves statistics by model
    CREATE INDEX trace_models_by_model ON trace_models (workspace_id, model, trace_id);

    -- The sessions of traces, with the start of the last trace of each.
    CREATE TABLE trace_sessions (
      workspace_id text NOT NULL,
      session_id text COLLATE "C" NOT NULL,
      last_started_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, session_id)
    );
    -- GET /telemetry/v1/sessions
    CREATE INDEX trace_sessions_by_start ON trace_sessions (workspace_id, last_started_at, session_id);

    -- All spans of a trace are in the partition of the trace's day, so that a span that is sent again is detected. Keys are
    -- numbers, because an index on text ids would be four times as large, and new traces would touch all of its pages.
    CREATE TABLE spans (
      workspace_id text COLLATE "C" NOT NULL,
      day date NOT NULL,
      trace_no bigint NOT NULL,
      -- 64 bits
      span_id bigint NOT NULL,
      parent_span_id bigint,
      started_at timestamptz NOT NULL,
      ended_at timestamptz NOT NULL,
      -- whether the sender sent no start; null for false
      start_unknown boolean,
      input_tokens bigint,
      output_tokens bigint,
      -- parts of input_tokens and of output_tokens
      cached_input_tokens bigint,
      cache_write_tokens bigint,
      reasoning_tokens bigint,
      time_to_first_token_ms double precision,
      cost_usd double precision,
      -- Of a span with usage: the measures that spans below it report (bits: 1 input tokens, 2 output tokens, 4 cost), 8 if its
      -- cost is only the price of its tokens, and 16 if that of a step below is. Its own measures do not count if they are
      -- reported below. Null for 0.
      usage_flags integer,
      -- number of spans below, calls and others, whose cost is unknown and part of this span's cost
      unpriced_calls integer,
      unpriced_steps integer,
      -- number of steps below whose cost is only the price of their tokens, and counts instead of this span's cost
      estimated_steps integer,
      source_id uuid NOT NULL,
      name text NOT NULL,
      kind text NOT NULL,
      status_code text NOT NULL,
      status_message text,
      operation text COLLATE "C",
      provider text COLLATE "C",
      model text COLLATE "C",
      -- the model that was asked for, if no model answered because the call failed
      requested_model text COLLATE "C",
      agent_name text COLLATE "C",
      tool_name text COLLATE "C",
      attributes json NOT NULL,
      -- null if empty
      events json,
      links json,
      -- by the sender or by the limits of the service; null if none were dropped, as for nearly all spans
      dropped_attributes_count bigint,
      dropped_events_count bigint,
      dropped_links_count bigint,
      content_size integer NOT NULL GENERATED ALWAYS AS (${bytesOf('attributes', 'events', 'links')}) STORED,
      -- a span that is sent again is stored once
      PRIMARY KEY (trace_no, span_id, day)
    ) PARTITION BY RANGE (day);
    -- GET /telemetry/v1/traces/{id}/spans, and the span tree
    CREATE INDEX spans_by_start ON spans (trace_no, started_at, span_id);
    ${firstPartitions('spans')}

    -- The stored exports of logs and metrics, to detect an export that is sent again: OTLP gives its records no ids.
    CREATE TABLE telemetry_exports (
      workspace_id text COLLATE "C" NOT NULL,
      -- the first 128 bits of the SHA-256 of signal, encoding and body
      export_id uuid NOT NULL,
      day date NOT NULL,
      PRIMARY KEY (workspace_id, export_id)
    );
    -- retention
    CREATE INDEX telemetry_exports_by_day ON telemetry_exports (day);

    CREATE SEQUENCE log_numbers AS bigint;
    -- Log records, with the trace and the span that they belong to.
    CREATE TABLE log_records (
      workspace_id text COLLATE "C" NOT NULL,
      -- breaks ties of logged_at
      log_no bigint NOT NULL DEFAULT nextval('log_numbers'),
      -- when the event happened, else when it was observed, else when it arrived
      logged_at timestamptz NOT NULL,
      -- whether logged_at is the time of the event
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
      -- null if absent
      body json,
      attributes json NOT NULL,
      -- JSON may escape one character as six
      content_size integer NOT NULL GENERATED ALWAYS AS
        (coalesce(octet_length(body::text), 0) + octet_length(attributes::text)
        + 6 * (coalesce(octet_length(severity_text), 0) + coalesce(octet_length(event_name), 0))) STORED
    ) PARTITION BY RANGE (day);
    ALTER SEQUENCE log_numbers OWNED BY log_records.log_no;
    -- GET /telemetry/v1/logs: sort logged_at, filters service_name, trace_id and severity. Only severities from warn (13) on
    -- have an index, because they are rare.
    CREATE INDEX log_records_by_time ON log_records (workspace_id, logged_at, log_no);
    CREATE INDEX log_records_by_service ON log_records (workspace_id, service_name, logged_at, log_no)
      WHERE service_name IS NOT NULL;
    CREATE INDEX log_records_by_trace ON log_records (workspace_id, trace_id, logged_at, log_no)
      WHERE trace_id IS NOT NULL;
    CREATE INDEX log_records_severe ON log_records (workspace_id, logged_at, log_no) WHERE severity_number >= 13;
    -- scoring: the messages of a trace. Partial, because most records of a trace are other logs.
    CREATE INDEX log_records_messages ON log_records (workspace_id, trace_id, logged_at, log_no)
      WHERE event_name LIKE 'gen\\_ai.%' AND trace_id IS NOT NULL;
    ${firstPartitions('log_records')}

    CREATE SEQUENCE metric_numbers AS bigint;
    -- The data points of metrics.
    CREATE TABLE metric_points (
      workspace_id text COLLATE "C" NOT NULL,
      -- breaks ties of measured_at
      point_no bigint NOT NULL DEFAULT nextval('metric_numbers'),
      -- when it was measured, else when it arrived
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
      -- null if no value was recorded
      value json,
      attributes json NOT NULL,
      -- null if empty
      exemplars json,
      metadata json,
      content_size integer NOT NULL GENERATED ALWAYS AS (coalesce(octet_length(value::text), 0)
        + octet_length(attributes::text) + coalesce(octet_length(exemplars::text), 0)
        + coalesce(octet_length(metadata::text), 0) + 6 * (octet_length(name) + coalesce(octet_length(unit), 0)
        + coalesce(octet_length(description), 0))) STORED
    ) PARTITION BY RANGE (day);
    ALTER SEQUENCE metric_numbers OWNED BY metric_points.point_no;
    -- GET /telemetry/v1/metrics: sort measured_at, filters name and service_name. The index contains the first characters
    -- of a name, because a whole name may be too long for it.
    CREATE INDEX metric_points_by_time ON metric_points (workspace_id, measured_at, point_no);
    CREATE INDEX metric_points_by_name ON metric_points (workspace_id, left(name, 255), measured_at, point_no);
    CREATE INDEX metric_points_by_service ON metric_points (workspace_id, service_name, measured_at, point_no)
      WHERE service_name IS NOT NULL;
    ${firstPartitions('metric_points')}
  `;
}
