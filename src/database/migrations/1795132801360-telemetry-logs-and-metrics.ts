import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Today's and tomorrow's; workers make the others ahead, and whoever finds one missing. */
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
 * Log records and data points of metrics, by the day on which they arrived, so that a day can be dropped as a whole. OTLP
 * gives neither an id: what was stored is known by the export that brought it. They are listed by their times, each of
 * which has a number of the service's own behind it, so that no two are at the same place.
 */
export class TelemetryLogsAndMetrics1795132801360 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- exports of logs and metrics that are stored: one that is sent again is not stored twice
      CREATE TABLE telemetry_exports (
        workspace_id text COLLATE "C" NOT NULL,
        -- the first 128 bits of the SHA-256 of what it is and of its body
        export_id uuid NOT NULL,
        day date NOT NULL,
        PRIMARY KEY (workspace_id, export_id)
      );
      CREATE INDEX telemetry_exports_by_day ON telemetry_exports (day);

      CREATE SEQUENCE log_numbers AS bigint;
      CREATE TABLE log_records (
        workspace_id text COLLATE "C" NOT NULL,
        log_no bigint NOT NULL DEFAULT nextval('log_numbers'),
        -- when it happened, else when it was observed, else when it arrived
        logged_at timestamptz NOT NULL,
        observed_at timestamptz,
        trace_id uuid,
        -- 64 bits
        span_id bigint,
        flags bigint NOT NULL,
        source_id uuid NOT NULL,
        day date NOT NULL,
        severity_number smallint NOT NULL,
        -- whether logged_at is when it happened
        is_timed boolean NOT NULL,
        severity_text text,
        event_name text,
        service_name text COLLATE "C",
        -- null for none
        body json,
        attributes json NOT NULL,
        -- about how long it is as JSON, which may write a character as six
        content_size integer NOT NULL GENERATED ALWAYS AS
          (coalesce(octet_length(body::text), 0) + octet_length(attributes::text)
          + 6 * (coalesce(octet_length(severity_text), 0) + coalesce(octet_length(event_name), 0))) STORED
      ) PARTITION BY RANGE (day);
      ALTER SEQUENCE log_numbers OWNED BY log_records.log_no;
      CREATE INDEX log_records_by_time ON log_records (workspace_id, logged_at, log_no);
      CREATE INDEX log_records_by_service ON log_records (workspace_id, service_name, logged_at, log_no)
        WHERE service_name IS NOT NULL;
      CREATE INDEX log_records_by_trace ON log_records (workspace_id, trace_id, logged_at, log_no)
        WHERE trace_id IS NOT NULL;
      -- from warnings on: what is looked for, and rare
      CREATE INDEX log_records_severe ON log_records (workspace_id, logged_at, log_no) WHERE severity_number >= 13;
      ${firstPartitions('log_records')}

      CREATE SEQUENCE metric_numbers AS bigint;
      CREATE TABLE metric_points (
        workspace_id text COLLATE "C" NOT NULL,
        point_no bigint NOT NULL DEFAULT nextval('metric_numbers'),
        -- when it was measured, or arrived where that was not sent
        measured_at timestamptz NOT NULL,
        started_at timestamptz,
        flags bigint NOT NULL,
        source_id uuid NOT NULL,
        day date NOT NULL,
        is_monotonic boolean,
        name text COLLATE "C" NOT NULL,
        type text NOT NULL,
        temporality text,
        unit text,
        description text,
        service_name text COLLATE "C",
        -- null where none was recorded
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
      CREATE INDEX metric_points_by_time ON metric_points (workspace_id, measured_at, point_no);
      CREATE INDEX metric_points_by_name ON metric_points (workspace_id, left(name, 255), measured_at, point_no);
      CREATE INDEX metric_points_by_service ON metric_points (workspace_id, service_name, measured_at, point_no)
        WHERE service_name IS NOT NULL;
      ${firstPartitions('metric_points')}
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE metric_points, log_records, telemetry_exports');
  }
}
