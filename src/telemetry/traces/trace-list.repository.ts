import type { Scope } from '#platform/auth';
import { followIndexes, join, prepared, raw, type Sql, sql, type SqlExecutor, Where } from '#platform/db';
import { listPage, type RowPage, scanPage, type SortKey } from '#platform/paging';
import { addTimes, attributeConditions, containing, mentionsInJson } from '../list-conditions.sql';
import { MODELS_MAX } from './trace-aggregate';
import { SUMMARY } from './trace-columns.sql';
import type { TraceListQueryDto } from './trace-query.dto';
import type { TraceSummary } from './trace.dto';

/** Traces up to which a model is looked up in its own index. A scan soon meets traces of a more frequent model. */
const RARE_MAX = 1_000;

/** Filters that an index serves in the order of starts, the most selective first. */
const NAMES = ['session_id', 'root_name', 'service_name'] as const;

const HAS_STATUS = { ok: sql`t.error_count = 0`, error: sql`t.error_count > 0` };

const DURATION = raw(`greatest(t.ended_at - t.started_at, interval '0')`);

const SORTS: Record<string, SortKey> = { started_at: { expression: 't.started_at', type: 'timestamptz' } };

const LIST = { columns: SUMMARY, id: 't.trace_id', sorts: SORTS, defaultSort: '-started_at' };

/** Lists traces by start. */
export class TraceListRepository {
  constructor(private readonly database: SqlExecutor) {}

  /**
   * Reads a page of the traces that meet all filters. An index serves the times and one other filter. The remaining filters
   * are checked on a bounded number of traces, see `scanPage`.
   */
  async list(scope: Scope, query: TraceListQueryDto): Promise<RowPage<TraceSummary>> {
    const where = addTimes(Where.estimatedByAverage(scope.key), 'started_at', query);
    const { model, session_id, since, until } = query;
    if (model !== undefined && session_id === undefined && (await this.isRare(scope, model))) {
      return this.scan(ofModel(scope, model), where, { ...query, model: undefined });
    }
    await followIndexes(this.database);
    const others = useIndex(where, query);
    if (conditionsOf(others).length + lookupsOf(others).length > 0) {
      return this.scan(raw('traces'), where, others);
    }
    const isUnfiltered = others === query && since === undefined && until === undefined;
    const spec = { ...LIST, from: 'traces t', where, ...(isUnfiltered && { name: 'trace.list' }) };
    return listPage(this.database, spec, query);
  }

  private scan(table: Sql, where: Where, query: TraceListQueryDto): Promise<RowPage<TraceSummary>> {
    const [conditions, lookups] = [conditionsOf(query), lookupsOf(query)];
    const spec = {
      ...LIST,
      table,
      where,
      ...(conditions.length > 0 && { condition: join(conditions, ' AND ') }),
      ...(lookups.length > 0 && { lookup: join(lookups, ' AND '), cost: lookupCost(query) }),
    };
    return scanPage(this.database, spec, query);
  }

  private async isRare({ workspaceId }: Scope, model: string): Promise<boolean> {
    const [row] = await this.database.query<{ found: number }>(
      prepared(
        'trace-list.count-of-model',
        sql`SELECT count(*) AS found FROM (
          SELECT 1 FROM trace_models WHERE workspace_id = ${workspaceId} AND model = ${model}
          LIMIT ${raw(String(RARE_MAX + 1))}) counted`,
      ),
    );
    return row!.found <= RARE_MAX;
  }
}

/** Adds the most selective filter that an index serves. @returns the remaining filters */
function useIndex(where: Where, filters: TraceListQueryDto): TraceListQueryDto {
  const name = NAMES.find((one) => filters[one] !== undefined);
  if (name !== undefined) {
    where.add(sql`${raw(name)} = ${filters[name]}`);
    return { ...filters, [name]: undefined };
  }
  if (filters.status !== 'error') return filters;
  where.add(sql`error_count > 0`);
  return { ...filters, status: undefined };
}

/** The traces of a model. OFFSET keeps PostgreSQL from joining the tables as a whole. */
const ofModel = ({ workspaceId }: Scope, model: string): Sql => sql`(SELECT t.* FROM trace_models m
    CROSS JOIN LATERAL (
      SELECT * FROM traces o WHERE o.workspace_id = m.workspace_id AND o.trace_id = m.trace_id OFFSET 0) t
    WHERE m.workspace_id = ${workspaceId} AND m.model = ${model})`;

/** The row of a trace lists only its first models. */
const hasModel = (model: string): Sql =>
  sql`(${model} = ANY (t.models) OR cardinality(t.models) = ${raw(String(MODELS_MAX))} AND EXISTS (
    SELECT 1 FROM trace_models m WHERE m.workspace_id = t.workspace_id AND m.trace_id = t.trace_id AND m.model = ${model}
    OFFSET 0))`;

/** Conditions on a trace's own row. */
function conditionsOf(filters: TraceListQueryDto): Sql[] {
  const { status, model, min_duration_ms, max_duration_ms } = filters;
  const given = <Value>(value: Value | undefined, condition: (value: Value) => Sql): Sql[] =>
    value === undefined ? [] : [condition(value)];
  return [
    ...NAMES.flatMap((name) => given(filters[name], (value) => sql`t.${raw(name)} = ${value}`)),
    ...given(status, (value) => HAS_STATUS[value]),
    ...given(model, hasModel),
    ...given(min_duration_ms, (ms) => sql`${DURATION} >= ${ms}::float8 * interval '1 millisecond'`),
    ...given(max_duration_ms, (ms) => sql`${DURATION} <= ${ms}::float8 * interval '1 millisecond'`),
  ];
}

/** Conditions on a trace's spans or content. */
const lookupsOf = ({ attribute, q }: TraceListQueryDto): Sql[] => [
  ...(q === undefined ? [] : [mentions(q)]),
  ...attributeConditions('s', attribute).map(hasSpan),
];

/** The cost of the lookups, in spans read: each lookup reads all spans. A KiB of content costs as much as a span. */
const lookupCost = (filters: TraceListQueryDto): Sql =>
  raw(
    `(${lookupsOf(filters).length} * t.span_count::int8${filters.q === undefined ? '' : ' + t.content_size / 1024'})`,
  );

/** Whether a span `s` of a trace `t` meets a condition. OFFSET keeps PostgreSQL from joining the tables as a whole. */
const hasSpan = (condition: Sql): Sql =>
  sql`EXISTS (SELECT 1 FROM spans s WHERE s.workspace_id = t.workspace_id AND s.day = t.day
     AND s.trace_no = t.trace_no AND ${condition} OFFSET 0)`;

function mentions(q: string): Sql {
  const text = containing(q);
  return sql`(t.root_name ILIKE ${text} OR ${mentionsInJson('t.input', q)} OR ${mentionsInJson('t.output', q)}
    OR ${hasSpan(sql`s.name ILIKE ${text}`)})`;
}
