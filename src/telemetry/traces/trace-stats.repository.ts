import type { Scope } from '#platform/auth';
import { empty, join, microsecondsToTime, raw, type Sql, sql, type SqlExecutor, Where } from '#platform/db';
import type { RawJson } from '#platform/json';
import {
  compared,
  type MEASURES,
  FILTERED_COLUMNS,
  isAmong,
  sumOfKnown,
  TEXTS,
  traceCondition,
  USAGE,
  USAGE_BASIS,
  USAGE_NAMES,
} from './trace-columns.sql';
import type {
  LabelledTraces,
  TraceAggregation,
  TraceFilter,
  TraceMetric,
  TracePeriod,
  TraceStats,
  TraceStatsQuery,
} from './trace-stats.types';

/** Maximum number of groups in a response. */
export const STATS_ROWS_MAX = 10_000;
/** Maximum size of the groups as JSON, in bytes. */
export const STATS_BYTES_MAX = 32 * 1024 * 1024;

/**
 * One row per model of each trace, and one row for a trace without models. Omits the row
 * of spans without a model if their usage does not count.
 */
const MODELS_OF_TRACES = raw(`(
    SELECT * FROM (
      SELECT f.*, nullif(m.model, '') AS model, count(*) OVER of_trace AS model_count, ${USAGE_NAMES.map((name) => `${USAGE[name]} AS used_${name}`).join(', ')}
      FROM source_traces f LEFT JOIN trace_models m ON m.workspace_id = f.workspace_id AND m.trace_id = f.trace_id
      WINDOW of_trace AS (PARTITION BY f.trace_id)
    ) used
    WHERE model IS NOT NULL OR model_count = 1 OR num_nonnulls(${USAGE_NAMES.map((name) => `used_${name}`).join(', ')}) > 0
  )`);

/** The measures of a model's share. */
const USAGE_BY_MODEL: Readonly<Partial<Record<keyof typeof MEASURES, string>>> = {
  input_tokens: 'f.used_input_tokens',
  output_tokens: 'f.used_output_tokens',
  total_tokens: sumOfKnown('f.used_input_tokens', 'f.used_output_tokens'),
  cost_usd: 'f.used_cost_usd',
};

const percentile =
  (share: number) =>
  (measure: string): string =>
    `percentile_cont(${share}) WITHIN GROUP (ORDER BY (${measure})::float8)`;

/**
 * A mean of costs is rounded first, because PostgreSQL cannot convert a numeric that is too small for a double.
 * `percentile_cont` is definition 7 of Hyndman & Fan; the percentiles of one measure share one sort.
 */
const AGGREGATES: Readonly<Record<TraceAggregation, (measure: string) => string>> = {
  sum: (measure) => `sum(${measure})::float8`,
  avg: (measure) => `round(avg(${measure}), 320)::float8`,
  min: (measure) => `min(${measure})::float8`,
  max: (measure) => `max(${measure})::float8`,
  p50: percentile(0.5),
  p75: percentile(0.75),
  p90: percentile(0.9),
  p95: percentile(0.95),
  p99: percentile(0.99),
  count: (measure) => `count(${measure})`,
};

/** Columns that are first in an index of traces, after the workspace. */
const INDEXED = new Set(['session_id', 'user_id', 'root_name', 'prompt_name', 'service_name', 'environment']);

/** The form of labels, which become column names. */
const LABEL = /^[a-z_]+$/;

interface StatsRow {
  row: RawJson | null;
  groups_found: number;
  traces_found: number | null;
}

/** Computes statistics over traces in one statement. */
export class TraceStatsRepository {
  constructor(private readonly database: SqlExecutor) {}

  async stats(scope: Scope, query: TraceStatsQuery): Promise<TraceStats> {
    const results = await this.database.query<StatsRow>(new StatsStatement(scope, query).build());
    const rows = results.flatMap(({ row }) => row ?? []);
    const { groups_found = 0, traces_found = null } = results[0] ?? {};
    return { rows, isTruncated: groups_found > rows.length, tracesFound: traces_found };
  }
}

/**
 * Builds the statement of a query. Joins traces and models by all their keys, including the workspace, so that PostgreSQL
 * looks them up. If the workspace were a parameter and had no statistics yet, PostgreSQL would read all rows for each trace.
 * Column names come from constants: the columns of traces, and the caller's labels. Client values are parameters.
 */
class StatsStatement {
  private readonly isByModel: boolean;
  private readonly labels: readonly string[];

  constructor(
    private readonly scope: Scope,
    private readonly query: TraceStatsQuery,
  ) {
    this.isByModel = query.groupBy.includes('model');
    this.labels = 'labels' in query.among ? query.among.labels : [];
    const label = this.labels.find((name) => !LABEL.test(name));
    if (label !== undefined) throw new TypeError(`A label cannot be named ${label}.`);
  }

  build(): Sql {
    const { groupBy, metrics } = this.query;
    const groups = groupBy.map((field, index) => raw(`${this.groupOf(field)} AS group_${index}`));
    const values = metrics.map((metric, index) => raw(`${this.aggregate(metric)} AS value_${index}`));
    const places = raw(groupBy.map((_, index) => `${index + 1}`).join(', '));
    const order = raw(groupBy.map((_, index) => `group_${index} NULLS LAST`).join(', '));
    const isGrouped = groupBy.length > 0;
    return sql`
      WITH ${this.sourceTraces()},
      groups AS (
        SELECT ${join([...groups, ...values], ', ')} FROM ${this.isByModel ? MODELS_OF_TRACES : raw('source_traces')} f
        ${this.unnestedLabels()} WHERE ${this.conditions()} ${isGrouped ? sql`GROUP BY ${places}` : empty}
      ),
      sized AS (
        SELECT *, sum(octet_length(row::text)) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS bytes
        FROM (
          SELECT ${this.row()} AS row, row_number() OVER (${isGrouped ? sql`ORDER BY ${order}` : empty}) AS place FROM groups
        ) g WHERE place <= ${STATS_ROWS_MAX}
      )
      SELECT s.row, (SELECT count(*) FROM groups) AS groups_found, ${this.sourceCount()} AS traces_found
      FROM (VALUES (1)) one LEFT JOIN sized s ON s.bytes <= ${STATS_BYTES_MAX} ORDER BY s.place`;
  }

  /** Returns the CTEs of the query's traces, before its filters. */
  private sourceTraces(): Sql {
    const { among } = this.query;
    return 'labels' in among ? this.labelledTraces(among) : this.tracesOfPeriod(among);
  }

  private labelledTraces({ labels, traces }: LabelledTraces): Sql {
    const columns = raw(['trace_id text', ...labels.map((label) => `${label} text[]`)].join(', '));
    return sql`labels AS MATERIALIZED (
        SELECT ${this.scope.workspaceId}::text AS workspace_id, g.*
        FROM json_to_recordset(${traces.text}::json) AS g(${columns})
      ),
      source_traces AS MATERIALIZED (
        SELECT ${this.columns()} FROM labels JOIN traces t USING (workspace_id, trace_id)
      )`;
  }

  /**
   * Materializes the traces of a period only for the join with their models, because a million rows would be written to disk.
   * Repeats the filters by names, because an index may serve them here.
   */
  private tracesOfPeriod({ since_us, until_us }: TracePeriod): Sql {
    const where = new Where(this.scope.key, 't')
      .add(sql`t.started_at >= ${microsecondsToTime(sql`${since_us}`)}`)
      .add(sql`t.started_at < ${microsecondsToTime(sql`${until_us}`)}`);
    for (const { field, among = [] } of this.query.filters) {
      if (!INDEXED.has(field) || among.includes(null)) continue;
      where.add(sql`t.${raw(field)} = ANY (${among}::text[])`);
    }
    return sql`source_traces AS ${raw(this.isByModel ? 'MATERIALIZED' : 'NOT MATERIALIZED')} (
        SELECT ${this.columns()} FROM traces t WHERE ${where.sql}
      )`;
  }

  private sourceCount(): Sql {
    return 'labels' in this.query.among ? raw('(SELECT count(*) FROM source_traces)') : raw('NULL::bigint');
  }

  private columns(): Sql {
    const labels = this.labels.map((label) => raw(`labels.${label}`));
    return join([FILTERED_COLUMNS, ...labels, raw(USAGE_BASIS)], ', ');
  }

  private isLabel(field: string): boolean {
    return this.labels.includes(field);
  }

  /** Returns the expression of a group, over a row `f`. */
  private groupOf(field: string): string {
    if (this.isLabel(field)) return `of_${field}.value COLLATE "C"`;
    if (field === 'model') return 'f.model';
    if (field === 'day') return `(f.started_at AT TIME ZONE 'UTC')::date`;
    if (!Object.hasOwn(TEXTS, field)) throw new TypeError(`Traces cannot be grouped by ${field}.`);
    return `f.${field} COLLATE "C"`;
  }

  /** Returns joins that produce one row for each value of the labels in `group_by`. */
  private unnestedLabels(): Sql {
    const labels = this.query.groupBy.filter((field) => this.isLabel(field));
    return raw(
      labels.map((label) => `LEFT JOIN LATERAL unnest(f.${label}) AS of_${label}(value) ON true`).join(' '),
    );
  }

  private aggregate({ measure, aggregation }: TraceMetric): string {
    if (measure === 'count') return 'count(*)';
    return AGGREGATES[aggregation]((this.isByModel && USAGE_BY_MODEL[measure]) || `f.${measure}`);
  }

  private row(): Sql {
    const { groupBy, metrics } = this.query;
    const group = groupBy.map((field, index) => `'${field}', group_${index}`);
    const values = metrics.map(
      ({ measure, aggregation }, index) => `'${measure}.${aggregation}', value_${index}`,
    );
    const object = (members: string[]) => `json_build_object(${members.join(', ')})`;
    return raw(object([`'group'`, object(group), `'values'`, object(values)]));
  }

  private conditions(): Sql {
    const { filters } = this.query;
    if (filters.length === 0) return raw('true');
    return join(
      filters.map((filter) => this.condition(filter)),
      ') AND (',
      '(',
      ')',
    );
  }

  private condition(filter: TraceFilter): Sql {
    const { field, among = [] } = filter;
    if (this.query.groupBy.includes(field)) return compared(raw(this.groupOf(field)), 'text', { among });
    if (!this.isLabel(field)) return traceCondition(filter);
    const label = raw(`f.${field}`);
    return isAmong(among, (values) => sql`${label} && ${values}::text[]`, sql`cardinality(${label}) = 0`);
  }
}
