import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { etagOf, type Reply, streamed } from '#platform/http';
import { toJsonText } from '#platform/json';
import type { ListQueryDto, Page, RowPage } from '#platform/paging';
import { problem } from '#platform/problem';
import { type SpanRow, TRACE_ID, TraceStore } from '../trace-store';
import type { TelemetrySpanDto } from './span.dto';
import { toTelemetrySpanDto } from './span.mapper';

/** Spans that are read at once for an export, and what they may come to, in bytes: each answer holds as much. */
const BATCH_SPANS = 500;
const BATCH_BYTES = 1024 * 1024;

/** The name that most tools know JSON Lines by; none is registered. */
export const SPAN_MEDIA = 'application/x-ndjson';

/** The spans of traces. Errors: 404 where the trace is not there, 503 as for traces. */
@Injectable()
export class SpanService {
  constructor(private readonly store: TraceStore) {}

  /** A page of a trace's spans, by start. */
  async list(
    scope: Scope,
    traceId: string,
    query: ListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<TelemetrySpanDto>> {
    const { rows, page } = await this.page(scope, traceId, query, signal);
    return { items: rows.map(toTelemetrySpanDto), page };
  }

  /**
   * All of them, by start, read as the client takes them. No connection is held between two batches. One that arrives
   * meanwhile is there if it starts after those that were read; the answer is broken off where the trace is deleted.
   */
  async export(scope: Scope, traceId: string, signal: AbortSignal): Promise<Reply> {
    const first = await this.page(scope, traceId, { limit: BATCH_SPANS }, signal, BATCH_BYTES);
    return streamed(this.lines(scope, traceId, first, signal), {
      type: `${SPAN_MEDIA}; charset=utf-8`,
      filename: `${traceId}.jsonl`,
      etag: etagOf(first.page.total!),
    });
  }

  private async *lines(
    scope: Scope,
    traceId: string,
    first: RowPage<SpanRow>,
    signal: AbortSignal,
  ): AsyncGenerator<Buffer, void, undefined> {
    for (let batch = first; ;) {
      yield Buffer.from(batch.rows.map((span) => `${toJsonText(toTelemetrySpanDto(span))}\n`).join(''));
      const { next_cursor: cursor } = batch.page;
      if (cursor === null) return;
      batch = await this.page(scope, traceId, { limit: BATCH_SPANS, cursor }, signal, BATCH_BYTES);
    }
  }

  private async page(
    scope: Scope,
    traceId: string,
    query: ListQueryDto,
    signal: AbortSignal,
    maxBytes?: number,
  ): Promise<RowPage<SpanRow>> {
    if (!TRACE_ID.test(traceId)) throw problem.notFound('trace', traceId);
    const found = await this.store.heeding(signal).listSpans(scope, traceId, query, maxBytes);
    // a trace is there from its first span on
    if (found.page.total === 0) throw problem.notFound('trace', traceId);
    return found;
  }
}
