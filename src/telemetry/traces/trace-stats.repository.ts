import type { Scope } from '#platform/auth';
import { empty, join, microsecondsToTime, raw, type Sql, sql, type SqlExecutor, Where } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { ModelPrices } from '../span-mapping/model-prices';
import { HAS_COUNTED_USAGE, IS_OF_MODEL, SPAN_MEASURES } from './span-columns.sql';
import { compared, FILTERED_COLUMNS, isAmong, TEXTS, traceCondition } from './trace-columns.sql';
import { SPAN_TRACE_FIELDS } from './trace-stats.types';
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

/** The models that calls without an answer asked for, and the names under which they are counted. */
interface ModelNames {
  requested: string[];
  names: string[];
}

/** Computes statistics over traces, or over their spans, in one statement. */
export class TraceStatsRepository {
  constructor(
    private readonly database: SqlExecutor,
    private readonly prices: ModelPrices,
  ) {}

  async stats(scope: Scope, query: TraceStatsQuery): Promise<TraceStats> {
    const statement = new StatsStatement(scope, query);
    const names = statement.namesModels ? await this.modelNames(statement) : NO_NAMES;
    const results = await this.database.query<StatsRow>(statement.build(names));
    const rows = results.flatMap(({ row }) => row ?? []);
    const { groups_found = 0, traces_found = null } = results[0] ?? {};
    return { rows, isTruncated: groups_found > rows.length, tracesFound: traces_found };
  }

  /**
   * Returns the names of models that did not answer. A call that asked for `gpt-4o-mini` counts as `gpt-4o-mini-2024-07-18` if that
   * is the only model that answered under the same entry of the price table, and nothing answered as `gpt-4o-mini`.
   */
  private async modelNames(statement: StatsStatement): Promise<ModelNames> {
    const found = await this.database.query<{ model: string }>(statement.models());
    const models = found.map(({ model }) => model);
    const candidates = models.flatMap((requested) => {
      const answers = models.filter((one) => one !== requested && this.prices.mayAnswerAs(requested, one));
      return answers.length === 1 ? [{ requested, name: answers[0]! }] : [];
    });
    if (candidates.length === 0) return NO_NAMES;
    const requested = candidates.map((one) => one.requested);
    const answering = await this.database.query<{ model: string }>(statement.answeringModels(requested));
    const answered = new Set(answering.map(({ model }) => model));
    const unanswered = candidates.filter((one) => !answered.has(one.requested));
    return { requested: unanswered.map((one) => one.requested), names: unanswered.map(({ name }) => name) };
  }
}

const NO_NAMES: ModelNames = { requested: [], names: [] };

const HOUR = `to_char(f.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:00:00"Z"')`;

/** Text columns of a span `s`, besides the model. */
const SPAN_TEXTS = {
  operation: 's.operation',
  tool_name: 's.tool_name',
  provider: 's.provider',
  agent_name: 's.agent_name',
  status: `CASE WHEN s.status_code = 'error' THEN 'error' ELSE 'ok' END`,
} as const;

/** The columns of a trace that its spans are grouped and filtered by. */
const TRACE_TEXTS_OF_SPANS = ['user_id', 'environment', ...SPAN_TRACE_FIELDS] as const;

/** Selects from a trace `t` what is needed to find its spans and to tell which usage counts. */
const PLACE = raw(`t.models, t.day, t.trace_no, t.gap_count, t.input_tokens AS calls_input_tokens,
  t.output_tokens AS calls_output_tokens, num_nonnulls(t.input_tokens, t.output_tokens, t.cost_usd) = 0 AS has_no_calls`);

/**
 * Builds the statement of a query. Joins traces and spans by all their keys, including the workspace, so that PostgreSQL
 * looks them up. If the workspace were a parameter and had no statistics yet, PostgreSQL would read all rows for each trace.
 * Column names come from constants: the columns of traces and spans, and the caller's labels. Client values are parameters.
 */
class StatsStatement {
  /** Whether each row is a span: of a model, or any. */
  readonly readsSpans: boolean;
  /** Whether the names of models matter. */
  readonly namesModels: boolean;
  private readonly isOverSpans: boolean;
  private readonly labels: readonly string[];

  constructor(
    private readonly scope: Scope,
    private readonly query: TraceStatsQuery,
  ) {
    const { groupBy, filters, isOverSpans = false } = query;
    this.isOverSpans = isOverSpans;
    this.readsSpans = isOverSpans || groupBy.includes('model');
    this.namesModels =
      this.readsSpans && (groupBy.includes('model') || filters.some(({ field }) => field === 'model'));
    this.labels = 'labels' in query.among ? query.among.labels : [];
    const label = this.labels.find((name) => !LABEL.test(name));
    if (label !== undefined) throw new TypeError(`A label cannot be named ${label}.`);
  }

  build(names: ModelNames): Sql {
    const { groupBy, metrics } = this.query;
    const groups = groupBy.map((field, index) => raw(`${this.groupOf(field)} AS group_${index}`));
    const values = metrics.map((metric, index) => raw(`${this.aggregate(metric)} AS value_${index}`));
    const places = raw(groupBy.map((_, index) => `${index + 1}`).join(', '));
    const order = raw(groupBy.map((_, index) => `group_${index} NULLS LAST`).join(', '));
    const isGrouped = groupBy.length > 0;
    return sql`
      WITH ${this.sourceTraces()},
      groups AS (
        SELECT ${join([...groups, ...values], ', ')} FROM ${this.rowsFrom(names)} f
        ${this.unnested()} WHERE ${this.conditions()} ${isGrouped ? sql`GROUP BY ${places}` : empty}
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

  /** Returns the statement that finds the models of the query's traces. */
  models(): Sql {
    return sql`WITH ${this.sourceTraces()} SELECT DISTINCT model FROM source_traces f, unnest(f.models) model LIMIT ${MODEL_NAMES_MAX}`;
  }

  /** Returns the statement that finds which of some models have answered a call. */
  answeringModels(models: readonly string[]): Sql {
    return sql`WITH ${this.sourceTraces()}
      SELECT DISTINCT s.model FROM source_traces f CROSS JOIN LATERAL (
        SELECT s.model FROM spans s WHERE ${OF_TRACE} AND s.model = ANY (${models}::text[])
          AND s.requested_model IS NULL AND ${raw(IS_OF_MODEL)} OFFSET 0) s
      WHERE f.models && ${models}::text[]`;
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

  /** Repeats the filters by names, because an index may serve them here. */
  private tracesOfPeriod({ since_us, until_us }: TracePeriod): Sql {
    const where = new Where(this.scope.key, 't')
      .add(sql`t.started_at >= ${microsecondsToTime(sql`${since_us}`)}`)
      .add(sql`t.started_at < ${microsecondsToTime(sql`${until_us}`)}`);
    for (const { field, among = [] } of this.query.filters) {
      if (!INDEXED.has(field) || among.includes(null)) continue;
      where.add(sql`t.${raw(field)} = ANY (${among}::text[])`);
    }
    return sql`source_traces AS NOT MATERIALIZED (SELECT ${this.columns()} FROM traces t WHERE ${where.sql})`;
  }

  private sourceCount(): Sql {
    return 'labels' in this.query.among ? raw('(SELECT count(*) FROM source_traces)') : raw('NULL::bigint');
  }

  private columns(): Sql {
    const labels = this.labels.map((label) => raw(`labels.${label}`));
    return join([FILTERED_COLUMNS, ...labels, ...(this.readsSpans ? [PLACE] : [])], ', ');
  }

  /**
   * Returns the table of rows that are aggregated. OFFSET makes PostgreSQL look up the spans of each trace, whatever its statistics
   * say.
   */
  private rowsFrom({ requested, names }: ModelNames): Sql {
    if (!this.readsSpans) return raw('source_traces');
    const known =
      requested.length === 0
        ? raw('s.model')
        : sql`CASE WHEN s.requested_model IS NULL THEN s.model
            ELSE coalesce((${names}::text[])[array_position(${requested}::text[], s.model)], s.model) END`;
    const prefix = this.isOverSpans ? '' : 'span_';
    const measures = Object.entries(SPAN_MEASURES).map(([name, one]) => {
      const isOwn = this.isOfModels && OWN_MEASURES.has(name);
      return `${isOwn ? `CASE WHEN ${IS_OF_MODEL} THEN ${one} END` : one} AS ${prefix}${name}`;
    });
    const texts = Object.entries(SPAN_TEXTS).map(([name, one]) => `${one} AS ${name}`);
    const ofSpan = [...measures, ...(this.isOverSpans ? [...texts, 's.started_at'] : [])].join(', ');
    const model = this.isOverSpans ? sql`CASE WHEN ${raw(IS_OF_MODEL)} THEN ${known} END` : known;
    const ofTrace = raw(
      this.isOverSpans ? TRACE_TEXTS_OF_SPANS.map((name) => `f.${name}`).join(', ') : 'f.*',
    );
    return sql`(SELECT ${ofTrace}, s.* FROM source_traces f CROSS JOIN LATERAL (
        SELECT ${raw(ofSpan)}, ${model} AS model FROM spans s
        WHERE ${OF_TRACE} ${this.isOverSpans ? empty : sql`AND (${raw(IS_OF_MODEL)} OR ${raw(HAS_COUNTED_USAGE)})`} OFFSET 0) s)`;
  }

  /** Whether each row is a span of a model. */
  private get isOfModels(): boolean {
    return this.readsSpans && !this.isOverSpans;
  }

  private isLabel(field: string): boolean {
    return this.labels.includes(field);
  }

  /** Returns the expression of a group, over a row `f`. */
  private groupOf(field: string): string {
    if (this.isLabel(field) || field === 'tag') return `of_${field}.value COLLATE "C"`;
    if (field === 'model') return 'f.model COLLATE "C"';
    if (field === 'day') return `(f.started_at AT TIME ZONE 'UTC')::date`;
    if (field === 'hour') return HOUR;
    if (!Object.hasOwn(TEXTS, field) && !Object.hasOwn(SPAN_TEXTS, field)) {
      throw new TypeError(`Traces cannot be grouped by ${field}.`);
    }
    return `f.${field} COLLATE "C"`;
  }

  /** Returns joins that produce one row for each value of the labels in `group_by`, and for each tag. */
  private unnested(): Sql {
    const fields = this.query.groupBy.filter((field) => this.isLabel(field) || field === 'tag');
    const columnOf = (field: string): string => (this.isLabel(field) ? field : 'tags');
    return raw(
      fields
        .map((field) => `LEFT JOIN LATERAL unnest(f.${columnOf(field)}) AS of_${field}(value) ON true`)
        .join(' '),
    );
  }

  private aggregate({ measure, aggregation }: TraceMetric): string {
    if (measure === 'count') return this.isOfModels ? 'count(f.span_span_count)' : 'count(*)';
    return AGGREGATES[aggregation](`f.${this.isOfModels ? 'span_' : ''}${measure}`);
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
    if (this.isOverSpans) return spanCondition(filter);
    if (!this.isLabel(field)) return traceCondition(filter);
    const label = raw(`f.${field}`);
    return isAmong(among, (values) => sql`${label} && ${values}::text[]`, sql`cardinality(${label}) = 0`);
  }
}

/** Measures of a model that ignore a call around another call, whose cost may count. */
const OWN_MEASURES = new Set(['duration_ms', 'time_to_first_token_ms', 'span_count', 'error_count']);

/** Maximum number of models that are compared with each other. */
const MODEL_NAMES_MAX = 1_000;

/** The condition that a span `s` belongs to a trace `f`. */
const OF_TRACE = raw('s.workspace_id = f.workspace_id AND s.day = f.day AND s.trace_no = f.trace_no');

/** Returns the condition of a filter on a row `f` of a span. */
function spanCondition({ field, among, from, to }: TraceFilter): Sql {
  const column = raw(`f.${field}`);
  if (Object.hasOwn(SPAN_MEASURES, field))
    return compared(sql`${column}::float8`, 'float8', { among, from, to });
  if (field === 'started_at') {
    return compared(sql`date_trunc('milliseconds', ${column})`, 'timestamptz', { among, from, to });
  }
  return compared(sql`${column} COLLATE "C"`, 'text', { among });
}
