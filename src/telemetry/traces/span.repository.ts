import { Inject, Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import {
  BulkColumns,
  Database,
  empty,
  followIndexes,
  inChunks,
  prepared,
  raw,
  type Sql,
  sql,
  type SqlExecutor,
  type Tx,
  Where,
} from '#platform/db';
import { type ListQueryDto, listPage, type RowPage, type RowPlace, type SortKey } from '#platform/paging';
import { SourceReadRepository } from '../sources/source-read.repository';
import { bitsOf, type SpanRecord } from './span-record';
import type { SpanHead, SpanRow } from './span.dto';
import type { UsageState } from './usage-tree';
import type { LocatedTrace, SpanReading, StoredSpan, TraceLocation } from './trace.types';

/** A span to store, and the location of its trace. */
export interface LocatedSpan {
  record: SpanRecord;
  location: TraceLocation;
  usage: UsageState | undefined;
}

const COLUMNS = new BulkColumns<LocatedSpan>([
  { name: 'workspace_id', type: 'text', value: ({ record }) => record.workspaceId },
  { name: 'day', type: 'date', value: ({ location }) => location.day },
  { name: 'trace_no', type: 'int8', value: ({ location }) => location.trace_no },
  { name: 'span_id', type: 'int8', value: ({ record }) => record.span.spanId },
  { name: 'parent_span_id', type: 'int8', value: ({ record }) => record.span.parentSpanId },
  { name: 'started_at', type: 'timestamptz', value: ({ record }) => record.startedAt },
  { name: 'ended_at', type: 'timestamptz', value: ({ record }) => record.endedAt },
  { name: 'start_unknown', type: 'bool', value: ({ record }) => record.startUnknown || null },
  { name: 'input_tokens', type: 'int8', value: ({ record }) => record.fields.inputTokens },
  { name: 'output_tokens', type: 'int8', value: ({ record }) => record.fields.outputTokens },
  { name: 'cached_input_tokens', type: 'int8', value: ({ record }) => record.fields.cachedInputTokens },
  { name: 'reasoning_tokens', type: 'int8', value: ({ record }) => record.fields.reasoningTokens },
  { name: 'cache_write_tokens', type: 'int8', value: ({ record }) => record.fields.cacheWriteTokens },
  { name: 'time_to_first_token_ms', type: 'float8', value: ({ record }) => record.fields.timeToFirstTokenMs },
  { name: 'cost_usd', type: 'float8', value: ({ record }) => record.costUsd },
  { name: 'usage_flags', type: 'int4', value: ({ usage }) => usage?.flags ?? null },
  { name: 'unpriced_calls', type: 'int4', value: ({ usage }) => usage?.unpriced.calls || null },
  { name: 'unpriced_steps', type: 'int4', value: ({ usage }) => usage?.unpriced.steps || null },
  { name: 'estimated_steps', type: 'int4', value: ({ usage }) => usage?.estimates || null },
  { name: 'source_id', type: 'uuid', value: ({ record }) => record.source.id },
  { name: 'name', type: 'text', value: ({ record }) => record.span.name },
  { name: 'kind', type: 'text', value: ({ record }) => record.span.kind },
  { name: 'status_code', type: 'text', value: ({ record }) => record.span.status.code },
  { name: 'status_message', type: 'text', value: ({ record }) => record.span.status.message || null },
  { name: 'operation', type: 'text', value: ({ record }) => record.fields.operation },
  { name: 'provider', type: 'text', value: ({ record }) => record.fields.provider },
  { name: 'model', type: 'text', value: ({ record }) => record.fields.model },
  { name: 'requested_model', type: 'text', value: ({ record }) => record.requestedModel },
  { name: 'agent_name', type: 'text', value: ({ record }) => record.fields.agentName },
  { name: 'tool_name', type: 'text', value: ({ record }) => record.fields.toolName },
  { name: 'attributes', type: 'json', value: ({ record }) => record.content.attributes },
  { name: 'events', type: 'json', value: ({ record }) => record.content.events },
  { name: 'links', type: 'json', value: ({ record }) => record.content.links },
  {
    name: 'dropped_attributes_count',
    type: 'int8',
    value: ({ record }) => dropped(record.span.droppedAttributesCount),
  },
  {
    name: 'dropped_events_count',
    type: 'int8',
    value: ({ record }) => dropped(record.span.droppedEventsCount),
  },
  {
    name: 'dropped_links_count',
    type: 'int8',
    value: ({ record }) => dropped(record.span.droppedLinksCount),
  },
]);

const lengthOf = (...texts: (Buffer | null)[]): number =>
  texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);

/** Returns null for 0, because null takes no space. */
const dropped = (count: number): number | null => count || null;

const hex = (bits: string): string => `lpad(to_hex(${bits}), 16, '0')`;

/** The hot path, for traces that the same transaction has inserted. They have no spans yet that could conflict. */
const COPY = `COPY spans (${COLUMNS.names}) FROM STDIN (FORMAT binary)`;

/** The columns of a span `s` for a `SpanHeadDto`. */
const HEAD =
  raw(`${hex('s.span_id')} AS span_id, ${hex('s.parent_span_id')} AS parent_span_id, s.name, s.kind,
  s.started_at, s.ended_at, s.start_unknown IS TRUE AS start_unknown, json_build_object('code', s.status_code, 'message', s.status_message) AS status,
  greatest(extract(epoch FROM s.ended_at - s.started_at) * 1000, 0)::float8 AS duration_ms,
  coalesce(s.dropped_attributes_count, 0) AS dropped_attributes_count,
  coalesce(s.dropped_events_count, 0) AS dropped_events_count,
  coalesce(s.dropped_links_count, 0) AS dropped_links_count`);

/** The columns of a span `s` for a `SpanMeaningDto`. */
const MEANING =
  raw(`s.operation, s.provider, s.model, s.agent_name, s.tool_name, s.input_tokens, s.output_tokens,
  s.cached_input_tokens, s.cache_write_tokens, s.reasoning_tokens, s.time_to_first_token_ms, s.cost_usd`);

/**
 * An upper bound of a span's size as JSON, in bytes: members of a fixed size, names (JSON may escape one character as six)
 * and content. Looks up sources in a subquery, because in a workspace without statistics, a join would read all sources for
 * each span.
 */
const RESPONSE_SIZE = `500 + 6 * (octet_length(s.name) + coalesce(octet_length(s.status_message), 0))
  + s.content_size + coalesce((SELECT o.size FROM span_sources o
      WHERE o.workspace_id = s.workspace_id AND o.source_id = s.source_id), 0)`;

/** Statements with this condition are never prepared: only a plan that knows the day reads a single partition. */
const whereTrace = ({ workspaceId }: Scope, { day, trace_no }: TraceLocation): Sql =>
  sql`s.workspace_id = ${workspaceId} AND s.day = ${day}::date AND s.trace_no = ${trace_no}`;

const SORTS: Record<string, SortKey> = { started_at: { expression: 's.started_at', type: 'timestamptz' } };

/** Whether a span may be a model call. Instrumentations send an operation, provider or model for every call. */
const MAY_BE_CALL = raw('AND s.tool_name IS NULL AND num_nonnulls(s.operation, s.provider, s.model) > 0');

/** The window of a running total, by start. */
const RUNNING = raw('OVER (ORDER BY started_at, span_id ROWS UNBOUNDED PRECEDING)');

const NAME_BYTES = raw('octet_length(name) + coalesce(octet_length(status_message), 0)');

type SourcedSpan = Omit<SpanRow, 'trace_id' | 'resource' | 'scope'> & { source_id: string };

/** Writes spans, and reads the spans of one trace. */
@Injectable()
export class SpanRepository {
  constructor(@Inject(Database) private readonly database: SqlExecutor) {}

  /** Inserts the spans of traces that the same transaction has inserted. */
  async insertNew(tx: Tx, spans: readonly LocatedSpan[]): Promise<void> {
    if (spans.length > 0) await tx.copyIn(COPY, COLUMNS.copyChunks([spans]));
  }

  /** Inserts missing spans of existing traces, whose rows are locked. @returns the inserted spans */
  insertMissing(tx: Tx, spans: readonly LocatedSpan[]): Promise<SpanRecord[]> {
    const insert = async (chunk: readonly LocatedSpan[]): Promise<SpanRecord[]> => {
      const rows = await tx.query<{ trace_no: number; span_id: string }>(
        prepared(
          'span.insert-missing',
          sql`INSERT INTO spans (${COLUMNS.columnList}) SELECT ${COLUMNS.columnList} FROM ${COLUMNS.table(chunk, 'input')}
            ON CONFLICT (trace_no, span_id, day) DO NOTHING
            RETURNING trace_no, ${raw(hex('span_id'))} AS span_id`,
        ),
      );
      const inserted = new Set(rows.map(({ trace_no, span_id }) => `${trace_no} ${span_id}`));
      return chunk.flatMap(({ record, location }) =>
        inserted.has(`${location.trace_no} ${record.span.spanId}`) ? record : [],
      );
    };
    return inChunks(spans, insert, ({ record: { content } }) =>
      lengthOf(content.attributes, content.events, content.links),
    );
  }

  /**
   * Reads a page of a trace's spans, by start. Ends the page early, after at least one span, if it exceeds `maxBytes`. Reads
   * the sizes first, and then only the content of the spans on the page.
   */
  async list(
    scope: Scope,
    trace: LocatedTrace,
    query: ListQueryDto,
    maxBytes?: number,
  ): Promise<RowPage<SpanRow>> {
    await followIndexes(this.database);
    const { rows, page } = await listPage<RowPlace>(
      this.database,
      {
        columns: 's.span_id',
        bytes: RESPONSE_SIZE,
        maxBytes,
        from: 'spans s',
        where: new Where(scope.key, 's')
          .add(sql`s.day = ${trace.day}::date`)
          .add(sql`s.trace_no = ${trace.trace_no}`),
        id: 's.span_id',
        idType: 'int8',
        sorts: SORTS,
        defaultSort: 'started_at',
        count: () => Promise.resolve(trace.span_count),
      },
      query,
    );
    return { rows: await this.read(scope, trace, rows), page };
  }

  /** Reads spans in the given order. */
  private async read(scope: Scope, trace: LocatedTrace, spans: readonly RowPlace[]): Promise<SpanRow[]> {
    if (spans.length === 0) return [];
    const ids = spans.map(({ page_id }) => page_id);
    const stored = await this.database.query<SourcedSpan>(
      sql`SELECT ${HEAD}, ${MEANING}, s.attributes, coalesce(s.events, '[]') AS events,
          coalesce(s.links, '[]') AS links, s.source_id
        FROM spans s WHERE ${whereTrace(scope, trace)} AND s.span_id = ANY(${ids}::bigint[])`,
    );
    const joined = await new SourceReadRepository(this.database).join(scope, stored);
    const rows = new Map(joined.map((span) => [String(bitsOf(span.span_id)), span]));
    return ids.flatMap((id) => {
      const span = rows.get(id);
      return span ? { trace_id: trace.trace_id, ...span } : []; // deleted since
    });
  }

  /**
   * Reads spans of traces: trace by trace, each by start, with content up to `maxBytes` in this order. Reads no content that
   * exceeds the limit. Days are both joined and listed, so that PostgreSQL plans only for their partitions.
   */
  async findByTraces(
    { workspaceId }: Scope,
    traces: readonly LocatedTrace[],
    { limit, maxBytes, callsOnly = false, fromEnd = false, after }: SpanReading,
  ): Promise<StoredSpan[]> {
    const order = raw(fromEnd ? 'started_at DESC, span_id DESC' : 'started_at, span_id');
    const running = sql`OVER (ORDER BY trace_index, ${order} ROWS UNBOUNDED PRECEDING)`;
    const fits = sql`s.content_size <= ${maxBytes} AND s.contents <= ${maxBytes}`;
    const days = traces.map(({ day }) => day);
    const startsAfter =
      after === undefined
        ? empty
        : sql`AND (s.started_at, s.span_id) > (SELECT p.started_at, p.span_id FROM spans p
            WHERE p.workspace_id = ${workspaceId} AND p.day = t.day AND p.trace_no = t.trace_no AND p.span_id = ${bitsOf(after)})`;
    return this.database.query<StoredSpan>(
      sql`SELECT s.trace_id, ${HEAD}, ${MEANING}, s.content_size, CASE WHEN ${fits} THEN s.attributes END AS attributes,
          CASE WHEN ${fits} THEN coalesce(s.events, '[]') END AS events,
          CASE WHEN ${fits} THEN coalesce(s.links, '[]') END AS links
        FROM (
          SELECT *, sum(${NAME_BYTES}) ${running} AS names,
            sum(CASE WHEN content_size <= ${maxBytes} THEN content_size ELSE 0 END) ${running} AS contents
          FROM (
            SELECT t.trace_id, t.trace_index, span.*
            FROM unnest(${traces.map(({ trace_id }) => trace_id)}::text[], ${days}::date[],
                        ${traces.map(({ trace_no }) => trace_no)}::int8[])
              WITH ORDINALITY AS t(trace_id, day, trace_no, trace_index)
            CROSS JOIN LATERAL (
              SELECT * FROM spans s
              WHERE s.workspace_id = ${workspaceId} AND s.day = t.day AND s.day = ANY (${[...new Set(days)]}::date[])
                AND s.trace_no = t.trace_no ${callsOnly ? MAY_BE_CALL : empty} ${startsAfter}
              ORDER BY ${order} LIMIT ${limit}
            ) span ORDER BY trace_index, ${order} LIMIT ${limit}
          ) first
        ) s WHERE s.names <= ${maxBytes} ORDER BY s.trace_index, s.started_at, s.span_id`,
    );
  }

  /** Reads the heads of the first spans of a trace, by start, with names up to `nameBytes`. */
  async firstHeads(
    scope: Scope,
    trace: TraceLocation,
    limit: number,
    nameBytes: number,
  ): Promise<SpanHead[]> {
    await followIndexes(this.database);
    return this.database.query<SpanHead>(
      sql`SELECT ${HEAD}, ${MEANING}
        FROM (
          SELECT *, sum(${NAME_BYTES}) ${RUNNING} AS names FROM (${firstSpans(scope, trace, limit)}) first
        ) s WHERE s.names <= ${nameBytes} ORDER BY s.started_at, s.span_id`,
    );
  }
}

const firstSpans = (scope: Scope, trace: TraceLocation, limit: number): Sql =>
  sql`SELECT * FROM spans s WHERE ${whereTrace(scope, trace)} ORDER BY started_at, span_id LIMIT ${limit}`;
