import { join, raw, type Sql, sql } from '#platform/db';
import type { TraceFilter } from './trace-stats.types';

// SQL that the repositories of traces share: measures computed from the columns of a trace `t`, and conditions on them.

/** The sum of two measures; if only one is known, that one. */
export const sumOfKnown = (one: string, other: string): string =>
  `CASE WHEN num_nonnulls(${one}, ${other}) > 0 THEN coalesce(${one}, 0) + coalesce(${other}, 0) END`;

/**
 * The tokens of a row: of model calls and of other steps. While a parent is missing, a step may repeat the calls below it, so it
 * counts only if no call of the trace has any.
 *
 * @param row prefix of the columns of `traces` or `trace_models`, such as `t.`
 * @param trace prefix of the columns of the trace
 */
const tokensOf = (column: string, row: string, trace = row): string =>
  `CASE WHEN ${trace}gap_count = 0 OR ${trace}${column} IS NULL THEN ${sumOfKnown(`${row}${column}`, `${row}step_${column}`)}
     ELSE ${row}${column} END`;

const hasNoCalls = (row: string): string =>
  `num_nonnulls(${row}input_tokens, ${row}output_tokens, ${row}cost_usd) = 0`;

/** The known cost of a row. Counts steps in the same cases as tokens. */
const knownCostOf = (row: string, trace = row): string =>
  `CASE WHEN ${trace}gap_count = 0 OR ${hasNoCalls(trace)} THEN ${sumOfKnown(`${row}cost_usd`, `${row}step_cost_usd`)}
     ELSE ${row}cost_usd END`;

/**
 * The cost of a trace. If a span used tokens without a known price, it is the cost that the root reports, unless the known costs
 * exceed it. Otherwise null, because the sum of the known costs would be mistaken for the total.
 */
const costOf = (row: string): string =>
  `CASE WHEN ${row}unpriced_count + CASE WHEN ${row}gap_count = 0 OR ${hasNoCalls(row)}
       THEN ${row}step_unpriced_count ELSE 0 END = 0 THEN ${knownCostOf(row)}
     WHEN ${row}root_cost_usd >= coalesce(${knownCostOf(row)}, 0) THEN ${row}root_cost_usd END`;

/** Measures of a trace `t`. They stay exact until the result becomes a double, so that sums do not depend on the order. */
export const MEASURES = {
  duration_ms: 'greatest(extract(epoch FROM t.ended_at - t.started_at) * 1000, 0)',
  input_tokens: tokensOf('input_tokens', 't.'),
  output_tokens: tokensOf('output_tokens', 't.'),
  total_tokens: sumOfKnown(`(${tokensOf('input_tokens', 't.')})`, `(${tokensOf('output_tokens', 't.')})`),
  cost_usd: costOf('t.'),
  span_count: 't.span_count',
  error_count: 't.error_count',
} as const;

/** The columns of a trace `t` for a `TraceSummary`. */
export const SUMMARY: Sql = raw(`t.trace_id, t.root_name, t.started_at, t.ended_at,
  ${MEASURES.duration_ms}::float8 AS duration_ms, t.span_count, t.error_count, t.masked_count,
  ${MEASURES.input_tokens} AS input_tokens, ${MEASURES.output_tokens} AS output_tokens,
  ${MEASURES.cost_usd}::float8 AS cost_usd, t.models, t.session_id, t.service_name, t.agent_version,
  t.user_id, t.environment, t.tags, t.prompt_name, t.prompt_version, t.input_preview, t.output_preview`);

/** Measures of a trace `t` to sort by. Each of these expressions has an index. */
export const SORT_MEASURES = {
  duration_ms: { expression: `(${MEASURES.duration_ms})::float8`, isNullable: false },
  cost_usd: { expression: `(${MEASURES.cost_usd})::float8`, isNullable: true },
} as const;

/** Text columns of a trace `t` to group and filter by. */
export const TEXTS: Readonly<Record<string, string>> = {
  root_name: 't.root_name',
  status: `CASE WHEN t.error_count > 0 THEN 'error' ELSE 'ok' END`,
  service_name: 't.service_name',
  agent_version: 't.agent_version',
  session_id: 't.session_id',
  user_id: 't.user_id',
  environment: 't.environment',
  prompt_name: 't.prompt_name',
  prompt_version: 't.prompt_version',
};

const STARTED_AT = `date_trunc('milliseconds', t.started_at)`;

/** The columns of usage, of traces and of the models in a trace. */
const USAGE_NAMES = ['input_tokens', 'output_tokens', 'cost_usd'];

/** Selects from a trace `t` the columns that filters refer to. */
export const FILTERED_COLUMNS: Sql = raw(
  [
    ...['t.workspace_id', 't.trace_id', 't.tags'],
    ...Object.entries({ ...MEASURES, ...TEXTS, started_at: STARTED_AT }).map(
      ([name, expression]) => `${expression} AS ${name}`,
    ),
  ].join(', '),
);

/** Returns the condition of a filter on a row `f` that has the FILTERED_COLUMNS. */
export function traceCondition({ field, among, from, to }: TraceFilter): Sql {
  const column = raw(`f.${field}`);
  if (Object.hasOwn(MEASURES, field)) return compared(sql`${column}::float8`, 'float8', { among, from, to });
  if (field === 'started_at') return compared(column, 'timestamptz', { among, from, to });
  if (Object.hasOwn(TEXTS, field)) return compared(sql`${column} COLLATE "C"`, 'text', { among });
  if (field === 'tag') {
    return isAmong(among, (tags) => sql`f.tags && ${tags}::text[]`, sql`cardinality(f.tags) = 0`);
  }
  if (field !== 'model') throw new TypeError(`Traces cannot be filtered by ${field}.`);
  return isAmong(
    among,
    (models) => hasModel(sql`m.model = ANY (${models}::text[])`),
    sql`NOT ${hasModel(sql`m.model <> ''`)} OR ${hasModel(sql`m.model = '' AND ${HAS_USAGE}`)}`,
  );
}

/**
 * Returns the condition that one of the traces `t` meets all filters. It is a scalar subquery, so that PostgreSQL looks up the
 * models of each trace by key. A join might read all models.
 *
 * @param traces the traces, to follow FROM
 */
export const meetAll = (filters: readonly TraceFilter[], traces: Sql): Sql =>
  sql`coalesce((SELECT true FROM (SELECT ${FILTERED_COLUMNS} FROM ${traces} OFFSET 0) f
    WHERE ${join(filters.map(traceCondition), ') AND (', '(', ')')} LIMIT 1), false)`;

/** Returns the condition that an expression meets a filter. */
export function compared(
  expression: Sql,
  type: string,
  { among, from, to }: Omit<TraceFilter, 'field'>,
): Sql {
  const as = raw(`::${type}`);
  const isOneOf = (values: unknown[]): Sql => sql`${expression} = ANY (${values}${as}[])`;
  return join(
    [
      ...(among ? [isAmong(among, isOneOf, sql`${expression} IS NULL`)] : []),
      ...(from === undefined ? [] : [sql`${expression} >= ${from}${as}`]),
      ...(to === undefined ? [] : [sql`${expression} <= ${to}${as}`]),
    ],
    ' AND ',
  );
}

/**
 * Returns the condition that a value is in a list, which may contain null.
 *
 * @param isOneOf the condition for the values other than null
 * @param isNull the condition for null
 */
export function isAmong(
  among: TraceFilter['among'] = [],
  isOneOf: (values: unknown[]) => Sql,
  isNull: Sql,
): Sql {
  const values = among.filter((value) => value !== null);
  const conditions = values.length > 0 ? [isOneOf(values)] : [];
  if (values.length < among.length) conditions.push(isNull);
  return join(conditions, ') OR (', '((', '))');
}

const HAS_USAGE = raw(
  `num_nonnulls(${USAGE_NAMES.map((name) => `m.${name}, m.step_${name}`).join(', ')}) > 0`,
);

/** Whether one of the models `m` of the row meets a condition. */
const hasModel = (condition: Sql): Sql => sql`EXISTS (
    SELECT 1 FROM trace_models m WHERE m.workspace_id = f.workspace_id AND m.trace_id = f.trace_id AND ${condition})`;
