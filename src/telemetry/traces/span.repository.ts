import { Inject, Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { BulkColumns, Database, followIndexes, type SqlExecutor, type Tx, Where } from '#platform/db';
import { type ListQueryDto, listPage, type RowPage, type SortKey } from '#platform/paging';
import { cutPage, PAGE_BYTES, type SizedRow } from '../lists/page-budget';
import { SourceReadRepository } from '../sources/source-read.repository';
import type { SpanRow, TraceSpan } from '../trace-store';
import { bitsOf, eventsJson, linksJson, type SpanRecord } from './span-record';
import type { PlacedTrace, TracePlace } from './trace-place';

/** Spans per statement: bounds what one takes in memory, and how long building it holds up other requests. */
const CHUNK = 1_000;

/** A span, and where its trace is. */
export interface PlacedSpan {
  record: SpanRecord;
  place: TracePlace;
}

const WRITTEN = new BulkColumns<PlacedSpan>([
  { name: 'workspace_id', type: 'text', value: ({ record }) => record.workspaceId },
  { name: 'day', type: 'date', value: ({ place }) => place.day },
  { name: 'trace_no', type: 'int8', value: ({ place }) => place.trace_no },
  { name: 'span_id', type: 'int8', value: ({ record }) => bitsOf(record.span.spanId) },
  { name: 'parent_span_id', type: 'int8', value: ({ record }) => parentBits(record) },
  { name: 'started_at', type: 'timestamptz', value: ({ record }) => record.startedAt },
  { name: 'ended_at', type: 'timestamptz', value: ({ record }) => record.endedAt },
  { name: 'input_tokens', type: 'int8', value: ({ record }) => record.inputTokens },
  { name: 'output_tokens', type: 'int8', value: ({ record }) => record.outputTokens },
  { name: 'cached_input_tokens', type: 'int8', value: ({ record }) => record.cachedInputTokens },
  { name: 'reasoning_tokens', type: 'int8', value: ({ record }) => record.reasoningTokens },
  { name: 'cost_usd', type: 'float8', value: ({ record }) => record.costUsd },
  { name: 'source_id', type: 'uuid', value: ({ record }) => record.source.id },
  { name: 'name', type: 'text', value: ({ record }) => record.span.name },
  { name: 'kind', type: 'text', value: ({ record }) => record.span.kind },
  { name: 'status_code', type: 'text', value: ({ record }) => record.span.status.code },
  { name: 'status_message', type: 'text', value: ({ record }) => record.span.status.message || null },
  { name: 'operation', type: 'text', value: ({ record }) => record.operation },
  { name: 'provider', type: 'text', value: ({ record }) => record.provider },
  { name: 'model', type: 'text', value: ({ record }) => record.model },
  { name: 'agent_name', type: 'text', value: ({ record }) => record.agentName },
  { name: 'tool_name', type: 'text', value: ({ record }) => record.toolName },
  { name: 'attributes', type: 'json', value: ({ record }) => JSON.stringify(record.span.attributes) },
  { name: 'events', type: 'json', value: ({ record }) => eventsJson(record.span.events) },
  { name: 'links', type: 'json', value: ({ record }) => linksJson(record.span.links) },
]);

const parentBits = ({ span }: SpanRecord): bigint | null =>
  span.parentSpanId === null ? null : bitsOf(span.parentSpanId);

const HEX = (bits: string): string => `lpad(to_hex(${bits}), 16, '0')`;

/** The hot path. Of a trace that the same transaction has stored there is no span yet that could be in the way. */
const COPY_NEW = `COPY spans (${WRITTEN.names}) FROM STDIN (FORMAT binary)`;

/** Only whoever holds the lock of a trace's row writes its spans. */
const INSERT_MISSING = {
  name: 'span.insert-missing',
  text: `INSERT INTO spans (${WRITTEN.names}) SELECT ${WRITTEN.names} FROM ${WRITTEN.from(1, 'given')}
    ON CONFLICT (trace_no, span_id, day) DO NOTHING
    RETURNING trace_no, ${HEX('span_id')} AS span_id`,
};

/** A span `s` without what it was sent with. */
export const HEAD = `${HEX('s.span_id')} AS span_id, ${HEX('s.parent_span_id')} AS parent_span_id, s.name, s.kind, s.started_at, s.ended_at,
  json_build_object('code', s.status_code, 'message', s.status_message) AS status,
  greatest(extract(epoch FROM s.ended_at - s.started_at) * 1000, 0)::float8 AS duration_ms`;

/** What its attributes mean. */
export const MEANING = `s.operation, s.provider, s.model, s.agent_name, s.tool_name, s.input_tokens, s.output_tokens,
  s.cached_input_tokens, s.reasoning_tokens, s.cost_usd`;

/**
 * Members of a fixed size, their names, and texts, of which JSON may write every character as six. Sources are looked up,
 * not joined: of a workspace that the statistics do not know, a join would read all of them for each span.
 */
const ANSWERED_SIZE = `500 + 6 * (octet_length(s.name) + coalesce(octet_length(s.status_message), 0))
  + s.content_size + coalesce((SELECT o.size FROM span_sources o
      WHERE o.workspace_id = s.workspace_id AND o.source_id = s.source_id), 0)`;

/** Never prepared: only a plan that knows the day reads that day's partition alone. */
export const OF_TRACE = 's.workspace_id = $1 AND s.day = $2::date AND s.trace_no = $3';

const SORTS: Record<string, SortKey> = { started_at: { expression: 's.started_at', type: 'timestamptz' } };

const DEFAULT_SORT = 'started_at';

const BY_IDS = `SELECT ${HEAD}, ${MEANING}, s.attributes, coalesce(s.events, '[]') AS events, coalesce(s.links, '[]') AS links,
    s.source_id
  FROM spans s WHERE ${OF_TRACE} AND s.span_id = ANY($4::bigint[])`;

type StoredSpan = Omit<SpanRow, 'trace_id' | 'resource' | 'scope'> & { source_id: string };

/** Names and content of spans up to each, in their order. */
const UP_TO_EACH = 'OVER (ORDER BY started_at, span_id ROWS UNBOUNDED PRECEDING)';

const FITS = 's.content_size <= $5 AND s.contents <= $5';

/** Which spans have room is decided by their sizes, before what the database keeps compressed is looked at. */
const FIRST_OF_TRACE = `SELECT ${HEAD}, s.content_size, CASE WHEN ${FITS} THEN s.attributes END AS attributes,
      CASE WHEN ${FITS} THEN coalesce(s.events, '[]') END AS events,
      CASE WHEN ${FITS} THEN coalesce(s.links, '[]') END AS links
    FROM (
      SELECT *, sum(octet_length(name) + coalesce(octet_length(status_message), 0)) ${UP_TO_EACH} AS names,
        sum(CASE WHEN content_size <= $5 THEN content_size ELSE 0 END) ${UP_TO_EACH} AS contents
      FROM (
        SELECT * FROM spans s WHERE ${OF_TRACE} ORDER BY started_at, span_id LIMIT $4
      ) first
    ) s WHERE s.names <= $5 ORDER BY s.started_at, s.span_id`;

@Injectable()
export class SpanRepository {
  constructor(@Inject(Database) private readonly database: SqlExecutor) {}

  /** Writes the spans of traces that the same transaction has stored. */
  async insertNew(tx: Tx, spans: readonly PlacedSpan[]): Promise<void> {
    if (spans.length > 0) await tx.copyIn(COPY_NEW, WRITTEN.copied(spans));
  }

  /** Writes spans of traces that were there already and are locked. @returns those that were missing. */
  async insertMissing(tx: Tx, spans: readonly PlacedSpan[]): Promise<SpanRecord[]> {
    const missing: SpanRecord[] = [];
    for (let start = 0; start < spans.length; start += CHUNK) {
      const chunk = spans.slice(start, start + CHUNK);
      const rows = await tx.query<{ trace_no: number; span_id: string }>(
        INSERT_MISSING,
        WRITTEN.parameters(chunk),
      );
      const inserted = new Set(rows.map(({ trace_no, span_id }) => `${trace_no} ${span_id}`));
      for (const { record, place } of chunk) {
        if (inserted.has(`${place.trace_no} ${record.span.spanId}`)) missing.push(record);
      }
    }
    return missing;
  }

  /**
   * A page of a trace's spans, by start: at most as many as asked for, and fewer, but one, where they come to more than
   * `maxBytes`. Spans are chosen by their sizes, and only those that are answered are read.
   *
   * @param trace that they are of, whose row knows how many there are without counting
   */
  async list(
    scope: Scope,
    trace: PlacedTrace,
    query: ListQueryDto,
    maxBytes = PAGE_BYTES,
  ): Promise<RowPage<SpanRow>> {
    await followIndexes(this.database);
    const found = await listPage<SizedRow>(
      this.database,
      {
        columns: `${ANSWERED_SIZE} AS answered_size`,
        from: 'spans s',
        where: new Where(scope.key, 's')
          .add('s.day = ?::date', trace.day)
          .add('s.trace_no = ?', trace.trace_no),
        id: 's.span_id',
        idType: 'int8',
        sorts: SORTS,
        defaultSort: DEFAULT_SORT,
        count: () => Promise.resolve(trace.span_count),
      },
      query,
    );
    const { rows, page } = cutPage(found, query.sort ?? DEFAULT_SORT, maxBytes);
    return { rows: await this.read(scope, trace, rows), page };
  }

  /** Spans in the order they are given. What they share is read once, and the rows share it, too. */
  private async read(scope: Scope, trace: PlacedTrace, spans: readonly SizedRow[]): Promise<SpanRow[]> {
    if (spans.length === 0) return [];
    const stored = await this.database.query<StoredSpan>(BY_IDS, [
      ...keyOf(scope, trace),
      spans.map(({ page_id }) => page_id),
    ]);
    const found = await new SourceReadRepository(this.database).join(scope, stored);
    const rows = new Map(found.map((span) => [String(bitsOf(span.span_id)), span]));
    return spans.flatMap(({ page_id }) => {
      const span = rows.get(page_id);
      return span ? { trace_id: trace.trace_id, ...span } : []; // gone since
    });
  }

  /** The first spans of a trace, by start, with as much of their content as comes to `maxBytes`. */
  async first(scope: Scope, trace: PlacedTrace, limit: number, maxBytes: number): Promise<TraceSpan[]> {
    const values = [...keyOf(scope, trace), limit, maxBytes];
    const rows = await this.database.query<Omit<TraceSpan, 'trace_id'>>(FIRST_OF_TRACE, values);
    return rows.map((row) => ({ trace_id: trace.trace_id, ...row }));
  }
}

/** The parameters of OF_TRACE. */
export const keyOf = (scope: Scope, { day, trace_no }: TracePlace): unknown[] => [
  scope.workspaceId,
  day,
  trace_no,
];
