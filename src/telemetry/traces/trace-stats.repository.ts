import type { Scope } from '#platform/auth';
import { type SqlExecutor, Where } from '#platform/db';
import type { RawJson } from '#platform/json';
import type { TraceAggregation, TraceFilter, TraceMetric, TraceStats, TraceStatsQuery } from '../trace-stats';
import {
  columnsOfTrace,
  compared,
  type Figure,
  holds,
  TEXTS,
  together,
  traceCondition,
  USED,
  USED_NAMES,
} from './trace-conditions';

/** Groups that are answered, and what they may come to as JSON, in bytes. */
export const STATS_ROWS_MAX = 10_000;
export const STATS_BYTES_MAX = 32 * 1024 * 1024;

/**
 * What a model `m` used of what a trace `f` did: its calls. Where the trace's figure is a step's, it is the model's of
 * that step; of equal ones, the first by name. So a model's calls have a cost also where those of another have none, and
 * where a step of the model says more than the trace's root does.
 */
const shareOf = (used: keyof typeof USED): string =>
  `CASE WHEN f.calls_${used} IS NOT NULL OR f.${used} IS NULL OR count(*) FILTER (WHERE m.step_${used} = f.${used}) OVER of_trace = 0
       THEN ${USED[used]('m.')}
     WHEN m.model = min(m.model) FILTER (WHERE m.step_${used} = f.${used}) OVER of_trace THEN m.step_${used}
     END AS used_${used}`;

/**
 * A row for each model of each trace, and one for a trace of which no span tells any. A step that names no model, and
 * repeats what calls of models below it used, is nobody's.
 */
const MODELS_OF_FOUND = `(
    SELECT * FROM (
      SELECT f.*, nullif(m.model, '') AS model, count(*) OVER of_trace AS model_count, ${USED_NAMES.map(shareOf).join(', ')}
      FROM found f LEFT JOIN trace_models m ON m.workspace_id = f.workspace_id AND m.trace_id = f.trace_id
      WINDOW of_trace AS (PARTITION BY f.trace_id)
    ) used
    WHERE model IS NOT NULL OR model_count = 1 OR num_nonnulls(${USED_NAMES.map((used) => `used_${used}`).join(', ')}) > 0
  )`;

/** The same figures by model. */
const USED_BY_MODEL: Readonly<Partial<Record<Figure, string>>> = {
  input_tokens: 'f.used_input_tokens',
  output_tokens: 'f.used_output_tokens',
  total_tokens: together('f.used_input_tokens', 'f.used_output_tokens'),
  cost_usd: 'f.used_cost_usd',
};

const percentile =
  (share: number) =>
  (figure: string): string =>
    `percentile_cont(${share}) WITHIN GROUP (ORDER BY (${figure})::float8)`;

/**
 * A mean of costs is rounded where doubles end, because PostgreSQL fails on what is too small for one. `percentile_cont`
 * is definition 7 of Hyndman & Fan; of one figure, all percentiles share one sort.
 */
const AGGREGATES: Readonly<Record<TraceAggregation, (figure: string) => string>> = {
  sum: (figure) => `sum(${figure})::float8`,
  avg: (figure) => `round(avg(${figure}), 320)::float8`,
  min: (figure) => `min(${figure})::float8`,
  max: (figure) => `max(${figure})::float8`,
  p50: percentile(0.5),
  p75: percentile(0.75),
  p90: percentile(0.9),
  p95: percentile(0.95),
  p99: percentile(0.99),
  count: (figure) => `count(${figure})`,
};

/** Figures over traces, as one statement. */
export class TraceStatsRepository {
  constructor(private readonly database: SqlExecutor) {}

  async stats(scope: Scope, query: TraceStatsQuery): Promise<TraceStats> {
    const { text, values } = new StatsStatement(scope, query);
    const found = await this.database.query<Answered>(text, values);
    const rows = found.flatMap(({ row }) => row ?? []);
    const { groups_found = 0, traces_found = 0 } = found[0] ?? {};
    return { rows, isTruncated: groups_found > rows.length, tracesFound: traces_found };
  }
}

interface Answered {
  row: RawJson | null;
  groups_found: number;
  traces_found: number;
}

/**
 * The statement of a query. Traces and their models are joined by keys that the rows carry, the workspace's among them,
 * and so looked up. Were it compared with the parameter, of a workspace that the statistics do not know all rows would be
 * read for each. Columns are chosen by name, from those known here and the labels, which come from code;
 * what clients send are parameters.
 */
class StatsStatement {
  readonly text: string;
  private readonly where: Where;
  private readonly byModel: boolean;

  constructor(
    scope: Scope,
    private readonly query: TraceStatsQuery,
  ) {
    this.where = new Where(scope.key);
    this.byModel = query.groupBy.includes('model');
    this.text = this.build();
  }

  get values(): unknown[] {
    return this.where.values;
  }

  private build(): string {
    const { groupBy, metrics } = this.query;
    const groups = groupBy.map((field, index) => `${this.groupOf(field)} AS group_${index}`);
    const values = metrics.map((metric, index) => `${this.aggregate(metric)} AS value_${index}`);
    const places = groupBy.map((_, index) => `${index + 1}`).join(', ');
    const order = groupBy.map((_, index) => `group_${index} NULLS LAST`).join(', ');
    return `
      WITH kept AS MATERIALIZED (SELECT $1::text AS workspace_id, k.* FROM (${this.kept()}) k),
      found AS MATERIALIZED (
        SELECT ${this.columns()} FROM kept JOIN traces t USING (workspace_id, trace_id)
      ),
      groups AS (
        SELECT ${[...groups, ...values].join(', ')} FROM ${this.byModel ? MODELS_OF_FOUND : 'found'} f
        ${this.unfolded()} WHERE ${this.conditions()} ${places && `GROUP BY ${places}`}
      ),
      sized AS (
        SELECT *, sum(octet_length(row::text)) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS bytes
        FROM (SELECT ${this.row()} AS row, row_number() OVER (${order && `ORDER BY ${order}`}) AS place FROM groups) g
        WHERE place <= ${STATS_ROWS_MAX}
      )
      SELECT s.row, (SELECT count(*) FROM groups) AS groups_found, (SELECT count(*) FROM found) AS traces_found
      FROM (VALUES (1)) one LEFT JOIN sized s ON s.bytes <= ${STATS_BYTES_MAX} ORDER BY s.place`;
  }

  private kept(): string {
    const { select, values } = this.query.among;
    let next = 0;
    return select.replace(/\?/g, () => this.where.parameter(values[next++]));
  }

  private columns(): string {
    return [
      columnsOfTrace(),
      ...this.query.among.labels.map((label) => `kept.${label}`),
      ...USED_NAMES.map((used) => `${USED[used]('t.')} AS calls_${used}`),
    ].join(', ');
  }

  private isLabel(field: string): boolean {
    return this.query.among.labels.includes(field);
  }

  /** What a row of `f` is grouped by. */
  private groupOf(field: string): string {
    if (this.isLabel(field)) return `of_${field}.value COLLATE "C"`;
    if (field === 'model') return 'f.model';
    if (!Object.hasOwn(TEXTS, field)) throw new TypeError(`Traces cannot be grouped by ${field}.`);
    return `f.${field} COLLATE "C"`;
  }

  /** Joins that give each trace a row for each value of the labels that it is grouped by. */
  private unfolded(): string {
    return this.query.groupBy
      .filter((field) => this.isLabel(field))
      .map((field) => `LEFT JOIN LATERAL unnest(f.${field}) AS of_${field}(value) ON true`)
      .join(' ');
  }

  private aggregate({ measure, aggregation }: TraceMetric): string {
    if (measure === 'count') return 'count(*)';
    return AGGREGATES[aggregation]((this.byModel && USED_BY_MODEL[measure]) || `f.${measure}`);
  }

  private row(): string {
    const { groupBy, metrics } = this.query;
    const group = groupBy.map((field, index) => `'${field}', group_${index}`);
    const values = metrics.map(
      ({ measure, aggregation }, index) => `'${measure}.${aggregation}', value_${index}`,
    );
    const object = (members: string[]) => `json_build_object(${members.join(', ')})`;
    return object([`'group'`, object(group), `'values'`, object(values)]);
  }

  private conditions(): string {
    return this.query.filters.map((filter) => `(${this.condition(filter)})`).join(' AND ') || 'true';
  }

  private condition(filter: TraceFilter): string {
    const { field, among = [] } = filter;
    if (this.query.groupBy.includes(field))
      return compared(this.where, this.groupOf(field), 'text', { among });
    return this.isLabel(field)
      ? holds(this.where, among, `f.${field} && ?`, `cardinality(f.${field}) = 0`)
      : traceCondition(this.where, filter);
  }
}
