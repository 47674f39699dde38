import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { BulkColumns, Database, type Tx, Where } from '#platform/db';
import { type ListQueryDto, listPage, type RowPage, type SortKey } from '#platform/paging';
import type { SpanRow } from '../trace-store';
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

const READ = `s.trace_id, s.span_id, s.parent_span_id, s.name, s.kind, s.started_at, s.ended_at,
  json_build_object('code', s.status_code, 'message', s.status_message) AS status,
  greatest(extract(epoch FROM s.ended_at - s.started_at) * 1000, 0)::float8 AS duration_ms,
  s.attributes, coalesce(s.events, '[]') AS events, coalesce(s.links, '[]') AS links, o.resource, o.scope`;

const FROM = 'spans s LEFT JOIN span_sources o USING (workspace_id, source_id)';

const SORTS: Record<string, SortKey> = { started_at: { expression: 's.started_at', type: 'timestamptz' } };

const FIRST_OF_TRACE = {
  name: 'span.first-of-trace',
  text: `SELECT ${READ} FROM ${FROM} WHERE s.workspace_id = $1 AND s.trace_id = $2
    ORDER BY s.started_at, s.span_id LIMIT $3`,
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

  /** A page of a trace's spans, by start. @param total of them, which the trace's row knows without counting. */
  list(scope: Scope, traceId: string, query: ListQueryDto, total: number): Promise<RowPage<SpanRow>> {
    return listPage<SpanRow>(
      this.database,
      {
        columns: READ,
        from: FROM,
        where: new Where(scope.key, 's').add('s.trace_id = ?', traceId),
        id: 's.span_id',
        sorts: SORTS,
        defaultSort: 'started_at',
        count: () => Promise.resolve(total),
      },
      query,
    );
  }

  /** The first spans of a trace, by start. */
  first(scope: Scope, traceId: string, limit: number): Promise<SpanRow[]> {
    return this.database.query<SpanRow>(FIRST_OF_TRACE, [scope.workspaceId, traceId, limit]);
  }
}
