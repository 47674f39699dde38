import type { Where } from '#platform/db';
import type { TraceFilter, TraceMeasure } from '../trace-stats';
import { costOfCalls, costOfTrace } from './trace-cost';

export type Figure = Exclude<TraceMeasure, 'count'>;

/** Both, or the one that is told. */
export const together = (one: string, other: string): string =>
  `CASE WHEN num_nonnulls(${one}, ${other}) > 0 THEN coalesce(${one}, 0) + coalesce(${other}, 0) END`;

const INPUT = 'coalesce(t.input_tokens, t.step_input_tokens)';
const OUTPUT = 'coalesce(t.output_tokens, t.step_output_tokens)';

/** Of a trace `t`, exact: only what is answered is made a double, so that it is the same in whatever order it is added up. */
const FIGURES: Readonly<Record<Figure, string>> = {
  duration_ms: 'greatest(extract(epoch FROM t.ended_at - t.started_at) * 1000, 0)',
  input_tokens: INPUT,
  output_tokens: OUTPUT,
  total_tokens: together(INPUT, OUTPUT),
  cost_usd: costOfTrace('t.'),
  span_count: 't.span_count',
  error_count: 't.error_count',
};

export const TEXTS: Readonly<Record<string, string>> = {
  root_name: 't.root_name',
  status: `CASE WHEN t.error_count > 0 THEN 'error' ELSE 'ok' END`,
  service_name: 't.service_name',
  session_id: 't.session_id',
};

const STARTED_AT = `date_trunc('milliseconds', t.started_at)`;

/** What calls of a row used. */
export const USED = {
  input_tokens: (row: string) => `${row}input_tokens`,
  output_tokens: (row: string) => `${row}output_tokens`,
  cost_usd: costOfCalls,
};
export const USED_NAMES = Object.keys(USED) as (keyof typeof USED)[];

/** What filters are about, of a trace `t`, each by its name. */
export const columnsOfTrace = (): string => {
  const known = { ...FIGURES, ...TEXTS, started_at: STARTED_AT };
  return [
    ...['t.workspace_id', 't.trace_id'],
    ...Object.entries(known).map(([name, expression]) => `${expression} AS ${name}`),
  ].join(', ');
};

type Values = Omit<TraceFilter, 'field'>;

/** What a filter asks of a row `f` that has the columns of a trace. Its values become parameters of `where`. */
export function traceCondition(where: Where, { field, among, from, to }: TraceFilter): string {
  if (Object.hasOwn(FIGURES, field))
    return compared(where, `f.${field}::float8`, 'float8', { among, from, to });
  if (field === 'started_at') return compared(where, 'f.started_at', 'timestamptz', { among, from, to });
  if (Object.hasOwn(TEXTS, field)) return compared(where, `f.${field} COLLATE "C"`, 'text', { among });
  if (field !== 'model') throw new TypeError(`Traces cannot be filtered by ${field}.`);
  return holds(
    where,
    among,
    usedByModel('m.model = ANY (?)'),
    `NOT ${usedByModel(`m.model <> ''`)} OR ${usedByModel(`m.model = '' AND ${TELLS_CALLS}`)}`,
  );
}

export function compared(
  where: Where,
  expression: string,
  type: string,
  { among, from, to }: Values,
): string {
  const conditions: string[] = [];
  if (among) conditions.push(holds(where, among, `${expression} = ANY (?)`, `${expression} IS NULL`, type));
  if (from !== undefined) conditions.push(`${expression} >= ${where.parameter(from)}::${type}`);
  if (to !== undefined) conditions.push(`${expression} <= ${where.parameter(to)}::${type}`);
  return conditions.join(' AND ');
}

/** @param one what holds for one of the values, whose array stands for `?`; @param none what does for no value. */
export function holds(
  where: Where,
  among: TraceFilter['among'] = [],
  one: string,
  none: string,
  type = 'text',
): string {
  const values = among.filter((value) => value !== null);
  const array = () => `${where.parameter(values)}::${type}[]`;
  const conditions = values.length > 0 ? [one.replace('?', array)] : [];
  if (values.length < among.length) conditions.push(none);
  return `(${conditions.map((condition) => `(${condition})`).join(' OR ')})`;
}

const TELLS_CALLS = `num_nonnulls(${USED_NAMES.map((used) => `m.${used}`).join(', ')}) > 0`;

const usedByModel = (condition: string): string =>
  `EXISTS (
    SELECT 1 FROM trace_models m WHERE m.workspace_id = f.workspace_id AND m.trace_id = f.trace_id AND ${condition})`;
