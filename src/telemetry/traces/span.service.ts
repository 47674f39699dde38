import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { etagOf, type Reply, streamed } from '#platform/http';
import { toJsonText } from '#platform/json';
import { type ListQueryDto, type Page, type RowPage, toPage } from '#platform/paging';
import { problem } from '#platform/problem';
import { TraceStore } from './trace-store';
import { type SpanRow, type TelemetrySpanDto, toTelemetrySpanDto } from './span.dto';
import { TRACE_ID } from './trace.types';

/** Maximum number of spans and bytes that an export reads at once and holds in memory. */
const BATCH_SPANS = 500;
const BATCH_BYTES = 1024 * 1024;

/** The media type that most tools use for JSON Lines; none is registered. */
export const SPAN_MEDIA = 'application/x-ndjson';

/** Reads the spans of traces. Errors: 404 for an unknown trace; 503 if reading takes too long. */
@Injectable()
export class SpanService {
  constructor(private readonly store: TraceStore) {}

  /** Reads a page of a trace's spans, by start. */
  async list(
    scope: Scope,
    traceId: string,
    query: ListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<TelemetrySpanDto>> {
    return toPage(await this.page(scope, traceId, query, signal), toTelemetrySpanDto);
  }

  /**
   * Streams all spans by start, with backpressure from the client. Holds no connection between two batches. Includes a span
   * that arrives in the meantime if it starts after the spans already read. Aborts if the trace is deleted.
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
    const spans = await this.store.withSignal(signal).listSpans(scope, traceId, query, maxBytes);
    if (spans.page.total === 0) throw problem.notFound('trace', traceId); // every trace has a span
    return spans;
  }
}
