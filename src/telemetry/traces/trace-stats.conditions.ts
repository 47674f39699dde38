import { join, raw, type Sql, sql } from '#platform/db';
import { costOfCalls, FIGURES } from './trace-figures';
import type { TraceFilter } from './trace-stats.types';

/** Texts of a trace `t` to group and filter by. */
export const TEXTS: Readonly<Record<string, string>> = {
  root_name: 't.root_name',
  status: `CASE WHEN t.error_count > 0 THEN 'error' ELSE 'ok' END`,
  service_name: 't.service_name',
  session_id: 't.session_id',
};

const STARTED_AT = `date_trunc('milliseconds', t.started_at)`;

/** The usage of a row's calls, by column. */
export const USED = {
  input_tokens: (row: string) => `${row}input_tokens`,
  output_tokens: (row: string) => `${row}output_tokens`,
  cost_usd: costOfCalls,
};
export const USED_NAMES = Object.keys(USED) as (keyof typeof USED)[];

/** Selects from a trace `t` the columns that filters refer to. */
export const FILTERED_COLUMNS: Sql = raw(
  [
    ...['t.workspace_id', 't.trace_id'],
    ...Object.entries({ ...FIGURES, ...TEXTS, started_at: STARTED_AT }).map(
      ([name, expression]) => `${expression} AS ${name}`,
    ),
  ].join(', '),
);

type Values = Omit<TraceFilter, 'field'>;

/** The condition of a filter on a row `f` that has the FILTERED_COLUMNS. */
export function traceCondition({ field, among, from, to }: TraceFilter): Sql {
  const column = raw(`f.${field}`);
  if (Object.hasOwn(FIGURES, field)) return compared(sql`${column}::float8`, 'float8', { among, from, to });
  if (field === 'started_at') return compared(column, 'timestamptz', { among, from, to });
  if (Object.hasOwn(TEXTS, field)) return compared(sql`${column} COLLATE "C"`, 'text', { among });
  if (field !== 'model') throw new TypeError(`Traces cannot be filtered by ${field}.`);
  return isAmong(
    among,
    (models) => usedByModel(sql`m.model = ANY (${models}::text[])`),
    sql`NOT ${usedByModel(sql`m.model <> ''`)} OR ${usedByModel(sql`m.model = '' AND ${HAS_USAGE}`)}`,
  );
}

export function compared(expression: Sql, type: string, { among, from, to }: Values): Sql {
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

/** @param isOneOf the condition for some of the values; @param isNone the condition for null */
export function isAmong(
  among: TraceFilter['among'] = [],
  isOneOf: (values: unknown[]) => Sql,
  isNone: Sql,
): Sql {
  const values = among.filter((value) => value !== null);
  const conditions = values.length > 0 ? [isOneOf(values)] : [];
  if (values.length < among.length) conditions.push(isNone);
  return join(conditions, ') OR (', '((', '))');
}

const HAS_USAGE = raw(`num_nonnulls(${USED_NAMES.map((used) => `m.${used}`).join(', ')}) > 0`);

const usedByModel = (condition: Sql): Sql => sql`EXISTS (
    SELECT 1 FROM trace_models m WHERE m.workspace_id = f.workspace_id AND m.trace_id = f.trace_id AND ${condition})`;
