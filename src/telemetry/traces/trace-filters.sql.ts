import type { Scope } from '#platform/auth';
import { join, raw, type Sql, sql, type Where } from '#platform/db';
import type { ScanRules } from '#platform/paging';
import { attributeConditions, containing, mentionsInJson } from '../list-conditions.sql';
import { MODELS_MAX } from './trace-aggregate';
import type { LabelFilters, TraceListQueryDto } from './trace-query.dto';

// The conditions of the filters of the trace list, on a trace `t`.

export type TraceFilters = Omit<TraceListQueryDto, 'limit' | 'offset' | 'cursor' | 'sort'>;

/** Filters that an index serves in the order of starts, the most selective first. */
const NAMES = ['session_id', 'user_id', 'root_name', 'prompt_name', 'service_name', 'environment'] as const;

/** The names that are not labels. */
const UNLABELLED = ['session_id', 'root_name', 'service_name'] as const;

const HAS_STATUS = { ok: sql`t.error_count = 0`, error: sql`t.error_count > 0` };

const DURATION = raw(`greatest(t.ended_at - t.started_at, interval '0')`);

/** Adds the most selective filter that an index serves. @returns the remaining filters */
export function useIndex<Filters extends TraceFilters>(where: Where, filters: Filters): Filters {
  const name = NAMES.find((one) => filters[one] !== undefined);
  if (name !== undefined) {
    where.add(sql`${raw(name)} = ${filters[name]}`);
    return { ...filters, [name]: undefined };
  }
  if (filters.status !== 'error') return filters;
  where.add(sql`error_count > 0`);
  return { ...filters, status: undefined };
}

/** Returns the condition that a trace has a model. Also looks at `trace_models`, because the row lists only the first models. */
const hasModel = (model: string): Sql =>
  sql`(${model} = ANY (t.models) OR cardinality(t.models) = ${raw(String(MODELS_MAX))} AND EXISTS (
    SELECT 1 FROM trace_models m WHERE m.workspace_id = t.workspace_id AND m.trace_id = t.trace_id AND m.model = ${model}
    OFFSET 0))`;

/** Returns the conditions on the labels of a trace. @param trace its alias */
export const labelConditions = ({ tag, ...labels }: LabelFilters, trace = 't'): Sql[] => [
  ...LABELS.flatMap((name) =>
    labels[name] === undefined ? [] : [sql`${raw(`${trace}.${name}`)} = ${labels[name]}`],
  ),
  ...(tag === undefined ? [] : [sql`${tag} = ANY (${raw(`${trace}.tags`)})`]),
];

const LABELS = ['user_id', 'environment', 'prompt_name', 'prompt_version'] as const;

/** Returns the conditions on a trace's own row. */
export function conditionsOf(filters: TraceFilters): Sql[] {
  const { status, model, agent_version, min_duration_ms, max_duration_ms } = filters;
  const ifSet = <Value>(value: Value | undefined, condition: (value: Value) => Sql): Sql[] =>
    value === undefined ? [] : [condition(value)];
  return [
    ...labelConditions(filters),
    ...UNLABELLED.flatMap((name) => ifSet(filters[name], (value) => sql`t.${raw(name)} = ${value}`)),
    ...ifSet(status, (value) => HAS_STATUS[value]),
    ...ifSet(model, hasModel),
    ...ifSet(agent_version, (version) => sql`t.agent_version = ${version}`),
    ...ifSet(min_duration_ms, (ms) => sql`${DURATION} >= ${ms}::float8 * interval '1 millisecond'`),
    ...ifSet(max_duration_ms, (ms) => sql`${DURATION} <= ${ms}::float8 * interval '1 millisecond'`),
  ];
}

/** Returns the conditions on a trace's spans or content. */
const lookupsOf = ({ attribute, q }: TraceFilters): Sql[] => [
  ...(q === undefined ? [] : [mentions(q)]),
  ...attributeConditions('s', attribute).map(hasSpan),
];

/** Returns the cost of the lookups, in spans read. Each lookup reads all spans. A KiB of content costs as much as a span. */
const lookupCost = (filters: TraceFilters): Sql =>
  raw(
    `(${lookupsOf(filters).length} * t.span_count::int8${filters.q === undefined ? '' : ' + t.content_size / 1024'})`,
  );

/** Returns the rules of a scan that check filters. */
export function checksOf(filters: TraceFilters, further: readonly Sql[] = []): ScanRules {
  const [conditions, lookups] = [[...further, ...conditionsOf(filters)], lookupsOf(filters)];
  return {
    ...(conditions.length > 0 && { condition: join(conditions, ' AND ') }),
    ...(lookups.length > 0 && { lookup: join(lookups, ' AND '), cost: lookupCost(filters) }),
  };
}

/** Returns a table of the traces with these ids. OFFSET keeps PostgreSQL from joining the whole tables. */
export const tracesOf = ({ workspaceId }: Scope, traceIds: readonly string[]): Sql => sql`(SELECT t.*
    FROM unnest(${traceIds}::text[]) ids(trace_id)
    CROSS JOIN LATERAL (
      SELECT * FROM traces o WHERE o.workspace_id = ${workspaceId} AND o.trace_id = ids.trace_id OFFSET 0) t)`;

/** Returns the condition that a span `s` of a trace `t` meets a condition. OFFSET keeps PostgreSQL from joining whole tables. */
const hasSpan = (condition: Sql): Sql =>
  sql`EXISTS (SELECT 1 FROM spans s WHERE s.workspace_id = t.workspace_id AND s.day = t.day
     AND s.trace_no = t.trace_no AND ${condition} OFFSET 0)`;

function mentions(q: string): Sql {
  const text = containing(q);
  return sql`(t.root_name ILIKE ${text} OR ${mentionsInJson('t.input', q)} OR ${mentionsInJson('t.output', q)}
    OR ${hasSpan(sql`s.name ILIKE ${text}`)})`;
}
