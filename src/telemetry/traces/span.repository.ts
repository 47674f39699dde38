import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { BulkColumns, Database, type Tx, Where } from '#platform/db';
import { RawJson } from '#platform/json';
import { encodeCursor, type ListQueryDto, listPage, type RowPage, type SortKey } from '#platform/paging';
import type { SpanRow, TraceSpan } from '../trace-store';
import { eventsJson, linksJson, spanKey, type SpanRecord } from './span-record';

/** Spans per statement: bounds what one takes in memory, and how long building it holds up other requests. */
const CHUNK = 1_000;

const WRITTEN = new BulkColumns<SpanRecord>([
  { name: 'trace_id', type: 'text', value: ({ span }) => span.traceId },
  { name: 'span_id', type: 'text', value: ({ span }) => span.spanId },
  { name: 'parent_span_id', type: 'text', value: ({ span }) => span.parentSpanId },
  { name: 'name', type: 'text', value: ({ span }) => span.name },
  { name: 'kind', type: 'text', value: ({ span }) => span.kind },
  { name: 'status_code', type: 'text', value: ({ span }) => span.status.code },
  { name: 'status_message', type: 'text', value: ({ span }) => span.status.message || null },
  { name: 'started_at', type: 'timestamptz', value: ({ startedAt }) => startedAt },
  { name: 'ended_at', type: 'timestamptz', value: ({ endedAt }) => endedAt },
  { name: 'model', type: 'text', value: ({ model }) => model },
  { name: 'input_tokens', type: 'int8', value: ({ inputTokens }) => inputTokens },
  { name: 'output_tokens', type: 'int8', value: ({ outputTokens }) => outputTokens },
  { name: 'cost_usd', type: 'float8', value: ({ costUsd }) => costUsd },
  { name: 'source_id', type: 'uuid', value: ({ source }) => source.id },
  { name: 'attributes', type: 'json', value: ({ span }) => JSON.stringify(span.attributes) },
  { name: 'events', type: 'json', value: ({ span }) => eventsJson(span.events) },
  { name: 'links', type: 'json', value: ({ span }) => linksJson(span.links) },
]);

/**
 * The hot path. Rows are written in the order of their keys, as they come, so that two requests with the same spans
 * wait for one another and never crosswise.
 */
export const INSERT_SPANS = {
  name: 'span.insert-many',
  text: `INSERT INTO spans (workspace_id, ${WRITTEN.names})
    SELECT $1, ${WRITTEN.names} FROM ${WRITTEN.from(2, 'given')}
    ON CONFLICT (workspace_id, trace_id, span_id) DO NOTHING
    RETURNING trace_id, span_id`,
};

const HEAD = `s.trace_id, s.span_id, s.parent_span_id, s.name, s.kind, s.started_at, s.ended_at,
  json_build_object('code', s.status_code, 'message', s.status_message) AS status,
  greatest(extract(epoch FROM s.ended_at - s.started_at) * 1000, 0)::float8 AS duration_ms`;

/**
 * What the spans of a page may come to as they are answered, in bytes. A client may send as much as it likes under one
 * trace, and a resource once for many spans with which it is answered each time.
 */
export const PAGE_BYTES = 32 * 1024 * 1024;

/**
 * Members of a fixed size, their names, and texts, of which JSON may write every character as six. Sources are looked up,
 * not joined: of a workspace that the statistics do not know, a join would read all of them for each span.
 */
const ANSWERED_SIZE = `500 + 6 * (octet_length(s.name) + coalesce(octet_length(s.status_message), 0))
  + s.content_size + coalesce((SELECT o.size FROM span_sources o
      WHERE o.workspace_id = s.workspace_id AND o.source_id = s.source_id), 0)`;

const SORTS: Record<string, SortKey> = { started_at: { expression: 's.started_at', type: 'timestamptz' } };

const DEFAULT_SORT = 'started_at';

const BY_IDS = {
  name: 'span.by-ids',
  text: `SELECT ${HEAD}, s.attributes, coalesce(s.events, '[]') AS events, coalesce(s.links, '[]') AS links, s.source_id
    FROM spans s
    WHERE s.workspace_id = $1 AND s.trace_id = $2 AND s.span_id = ANY($3::text[])`,
};

const SOURCES = {
  name: 'span-source.by-ids',
  text: `SELECT source_id, resource, scope FROM span_sources
    WHERE workspace_id = $1 AND source_id = ANY($2::uuid[])`,
};

/** A span of a page before it is read, with its place in the list. */
interface SizedSpan {
  span_id: string;
  answered_size: number;
  page_key: unknown;
}

const NO_SOURCE = new RawJson('null');

type StoredSpan = Omit<SpanRow, 'resource' | 'scope'> & { source_id: string };
type StoredSource = Pick<SpanRow, 'resource' | 'scope'> & { source_id: string };

/** Names and content of spans up to each, in their order. */
const UP_TO_EACH = 'OVER (ORDER BY started_at, span_id ROWS UNBOUNDED PRECEDING)';

const FITS = 's.content_size <= $4 AND s.contents <= $4';

/** Which spans have room is decided by their sizes, before what the database keeps compressed is looked at. */
const FIRST_OF_TRACE = {
  name: 'span.first-of-trace',
  text: `SELECT ${HEAD}, s.content_size, CASE WHEN ${FITS} THEN s.attributes END AS attributes,
      CASE WHEN ${FITS} THEN coalesce(s.events, '[]') END AS events,
      CASE WHEN ${FITS} THEN coalesce(s.links, '[]') END AS links
    FROM (
      SELECT *, sum(octet_length(name) + coalesce(octet_length(status_message), 0)) ${UP_TO_EACH} AS names,
        sum(CASE WHEN content_size <= $4 THEN content_size ELSE 0 END) ${UP_TO_EACH} AS contents
      FROM (
        SELECT * FROM spans WHERE workspace_id = $1 AND trace_id = $2 ORDER BY started_at, span_id LIMIT $3
      ) first
    ) s WHERE s.names <= $4 ORDER BY s.started_at, s.span_id`,
};

@Injectable()
export class SpanRepository {
  constructor(private readonly database: Database) {}

  /** Writes spans, sorted by their keys. @returns those that were not there yet. */
  async insertMany(tx: Tx, scope: Scope, records: readonly SpanRecord[]): Promise<SpanRecord[]> {
    const inserted = new Set<string>();
    for (let start = 0; start < records.length; start += CHUNK) {
      const chunk = records.slice(start, start + CHUNK);
      const rows = await tx.query<{ trace_id: string; span_id: string }>(INSERT_SPANS, [
        scope.workspaceId,
        ...WRITTEN.parameters(chunk),
      ]);
      for (const row of rows) inserted.add(spanKey(row.trace_id, row.span_id));
    }
    if (inserted.size === records.length) return [...records];
    return records.filter(({ span }) => inserted.has(spanKey(span.traceId, span.spanId)));
  }

  /**
   * A page of a trace's spans, by start: at most as many as asked for, and fewer, but one, where they come to more than
   * PAGE_BYTES. Spans are chosen by their sizes, and only those that are answered are read.
   *
   * @param total of them, which the trace's row knows without counting.
   */
  async list(scope: Scope, traceId: string, query: ListQueryDto, total: number): Promise<RowPage<SpanRow>> {
    const { rows, page } = await listPage<SizedSpan>(
      this.database,
      {
        columns: `s.span_id, ${ANSWERED_SIZE} AS answered_size`,
        from: 'spans s',
        where: new Where(scope.key, 's').add('s.trace_id = ?', traceId),
        id: 's.span_id',
        sorts: SORTS,
        defaultSort: DEFAULT_SORT,
        count: () => Promise.resolve(total),
      },
      query,
    );
    const fitting = withinBudget(rows);
    const last = fitting.length < rows.length ? fitting.at(-1) : undefined;
    const cut = last && { sort: query.sort ?? DEFAULT_SORT, key: String(last.page_key), id: last.span_id };
    return {
      rows: await this.read(scope, traceId, fitting),
      page: cut ? { ...page, next_cursor: encodeCursor(cut) } : page,
    };
  }

  /** Spans in the order they are given. What they share is read once, and the rows share it, too. */
  private async read(scope: Scope, traceId: string, spans: readonly SizedSpan[]): Promise<SpanRow[]> {
    if (spans.length === 0) return [];
    const ids = spans.map(({ span_id }) => span_id);
    const stored = await this.database.query<StoredSpan>(BY_IDS, [scope.workspaceId, traceId, ids]);
    const sourceIds = [...new Set(stored.map(({ source_id }) => source_id))];
    const found = await this.database.query<StoredSource>(SOURCES, [scope.workspaceId, sourceIds]);
    const sources = new Map(found.map((source) => [source.source_id, source]));
    const rows = new Map(stored.map((span) => [span.span_id, span]));
    return ids.flatMap((id) => {
      const row = rows.get(id);
      if (!row) return []; // gone since
      const { source_id, ...span } = row;
      const source = sources.get(source_id);
      return { ...span, resource: source?.resource ?? NO_SOURCE, scope: source?.scope ?? NO_SOURCE };
    });
  }

  /** The first spans of a trace, by start, with as much of their content as comes to `maxBytes`. */
  first(scope: Scope, traceId: string, limit: number, maxBytes: number): Promise<TraceSpan[]> {
    return this.database.query<TraceSpan>(FIRST_OF_TRACE, [scope.workspaceId, traceId, limit, maxBytes]);
  }
}

/** The first spans that fit on a page; always one. */
function withinBudget(spans: readonly SizedSpan[]): SizedSpan[] {
  let room = PAGE_BYTES;
  const over = spans.findIndex(({ answered_size }, index) => (room -= answered_size) < 0 && index > 0);
  return over < 0 ? [...spans] : spans.slice(0, over);
}
