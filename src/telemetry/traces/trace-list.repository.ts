import type { Scope } from '#platform/auth';
import { followIndexes, type SqlExecutor, timeOfMicroseconds, Where } from '#platform/db';
import { type ListQueryDto, listPage, type RowPage, scanPage, type SortKey } from '#platform/paging';
import { hasAttribute } from '../lists/attribute-condition';
import { containing, mentionsInJson } from '../lists/pattern';
import type { Condition } from '../lists/record-list.repository';
import type { TimeBounds, TraceListFilters } from '../trace-list';
import type { TraceSummary } from '../trace-store';
import { MODELS_MAX } from './trace-aggregate';
import { SUMMARY } from './trace.repository';

/** A model that so many traces have at most is found by them; traces of others are come by soon enough. */
const RARE_MAX = 1_000;

const COUNT_OF_MODEL = {
  name: 'trace-list.count-of-model',
  text: `SELECT count(*) AS found FROM (
    SELECT 1 FROM trace_models WHERE workspace_id = $1 AND model = $2 LIMIT ${RARE_MAX + 1}) counted`,
};

/** Names by which an index finds traces in the order of their starts: those that the fewest share first. */
const NAMES = ['session_id', 'root_name', 'service_name'] as const;

const IS_STATUS = { ok: 't.error_count = 0', error: 't.error_count > 0' };

const DURATION = `greatest(t.ended_at - t.started_at, interval '0')`;

const SORTS: Record<string, SortKey> = { started_at: { expression: 't.started_at', type: 'timestamptz' } };

const TIME = timeOfMicroseconds('?');

/** Narrows to what started within these times. */
const addTimes = (where: Where, { since_us, until_us }: TimeBounds): Where =>
  where.addIf(since_us, `started_at >= ${TIME}`).addIf(until_us, `started_at < ${TIME}`);

const LIST = { columns: SUMMARY, id: 't.trace_id', sorts: SORTS, defaultSort: '-started_at' };

/** Lists of traces, by start. */
export class TraceListRepository {
  constructor(private readonly database: SqlExecutor) {}

  /**
   * A page of the traces that meet all filters. One of them is what an index serves, with the times; what the others ask
   * is looked for in a bounded number of traces, see `scanPage`.
   */
  async list(scope: Scope, filters: TraceListFilters, query: ListQueryDto): Promise<RowPage<TraceSummary>> {
    const where = addTimes(Where.estimatedByAverage(scope.key), filters);
    const { model } = filters;
    const isFoundByModel =
      model !== undefined && filters.session_id === undefined && (await this.isRare(scope, model));
    if (isFoundByModel) {
      return this.scan(ofModel(where, scope, model), where, { ...filters, model: undefined }, query);
    }
    await followIndexes(this.database);
    const others = narrowed(where, filters);
    if (isServed(others)) return listPage(this.database, { ...LIST, from: 'traces t', where }, query);
    return this.scan('traces', where, others, query);
  }

  private scan(
    table: string,
    where: Where,
    filters: TraceListFilters,
    query: ListQueryDto,
  ): Promise<RowPage<TraceSummary>> {
    const [conditions, lookups] = [conditionsOf(filters), lookupsOf(filters)];
    const spec = {
      ...LIST,
      table,
      where,
      ...(conditions.length > 0 && { condition: allOf(conditions) }),
      ...(lookups.length > 0 && { lookup: allOf(lookups), cost: lookupCost(filters) }),
    };
    return scanPage(this.database, spec, query);
  }

  private async isRare(scope: Scope, model: string): Promise<boolean> {
    const [row] = await this.database.query<{ found: number }>(COUNT_OF_MODEL, [scope.workspaceId, model]);
    return row!.found <= RARE_MAX;
  }
}

/** Has an index serve one of the filters: that which the fewest traces meet. @returns the others. */
function narrowed(where: Where, filters: TraceListFilters): TraceListFilters {
  const name = NAMES.find((one) => filters[one] !== undefined);
  if (name !== undefined) {
    where.add(`${name} = ?`, filters[name]);
    return { ...filters, [name]: undefined };
  }
  if (filters.status !== 'error') return filters;
  where.add('error_count > 0');
  return { ...filters, status: undefined };
}

/** The traces of a model, each looked up by the keys that its row carries. */
const ofModel = (where: Where, { workspaceId }: Scope, model: string): string =>
  `(SELECT t.* FROM trace_models m CROSS JOIN LATERAL (
      SELECT * FROM traces o WHERE o.workspace_id = m.workspace_id AND o.trace_id = m.trace_id OFFSET 0) t
    WHERE m.workspace_id = ${where.parameter(workspaceId)} AND m.model = ${where.parameter(model)})`;

const isServed = (filters: TraceListFilters): boolean =>
  conditionsOf(filters).length + lookupsOf(filters).length === 0;

const allOf =
  (conditions: readonly Condition[]): Condition =>
  (where) =>
    conditions.map((condition) => condition(where)).join(' AND ');

/** A trace's row names the first of its models alone. */
const hasModel = (model: string): string =>
  `(${model} = ANY (t.models) OR cardinality(t.models) = ${MODELS_MAX} AND EXISTS (
    SELECT 1 FROM trace_models m WHERE m.workspace_id = t.workspace_id AND m.trace_id = t.trace_id AND m.model = ${model}
    OFFSET 0))`;

/** What a trace's own row tells. */
function conditionsOf(filters: TraceListFilters): Condition[] {
  const { status, model, min_duration_ms, max_duration_ms } = filters;
  const compared = (value: unknown, written: (parameter: string) => string): Condition[] =>
    value === undefined ? [] : [(where) => written(where.parameter(value))];
  return [
    ...NAMES.flatMap((name) => compared(filters[name], (value) => `t.${name} = ${value}`)),
    ...(status ? [() => IS_STATUS[status]] : []),
    ...compared(model, hasModel),
    ...compared(min_duration_ms, (value) => `${DURATION} >= ${milliseconds(value)}`),
    ...compared(max_duration_ms, (value) => `${DURATION} <= ${milliseconds(value)}`),
  ];
}

const milliseconds = (parameter: string): string => `${parameter}::float8 * interval '1 millisecond'`;

/** What has to be looked for in its spans, or in its content. */
const lookupsOf = ({ attributes = [], q }: TraceListFilters): Condition[] => [
  ...(q === undefined ? [] : [(where: Where) => mentions(where, q)]),
  ...attributes.map((attribute) => (where: Where) => hasSpan(hasAttribute(where, 's', attribute))),
];

/** In spans, which each of them goes through anew; a KiB of content is taken for one. */
const lookupCost = (filters: TraceListFilters): string =>
  `(${lookupsOf(filters).length} * t.span_count::int8${filters.q === undefined ? '' : ' + t.content_size / 1024'})`;

/** Whether a span of a trace `t` is such a one: looked up by keys that rows carry, for each trace by itself. */
const hasSpan = (condition: string): string =>
  `EXISTS (SELECT 1 FROM spans s WHERE s.workspace_id = t.workspace_id AND s.day = t.day
     AND s.trace_no = t.trace_no AND ${condition} OFFSET 0)`;

function mentions(where: Where, q: string): string {
  const text = where.parameter(containing(q));
  return `(t.root_name ILIKE ${text} OR ${mentionsInJson(where, 't.input', q)} OR ${mentionsInJson(where, 't.output', q)}
    OR ${hasSpan(`s.name ILIKE ${text}`)})`;
}
