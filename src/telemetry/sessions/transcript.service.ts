import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { TimeSlice } from '#platform/concurrency';
import { toJsonText } from '#platform/json';
import {
  decodeCursor,
  encodeCursor,
  foreignCursor,
  type Page,
  PAGE_BYTES,
  PAGE_SIZE_DEFAULT,
} from '#platform/paging';
import { Conversation } from '../conversation/conversation';
import { parsedValue } from '../conversation/messages';
import { ReadLimiter } from '../read-limiter';
import type { SpanStatusDto } from '../traces/span.dto';
import { TraceScores } from '../traces/trace-scores';
import { TraceStore } from '../traces/trace-store';
import type { TraceSpan } from '../traces/trace.types';
import { SessionRepository, type SessionTracePlace, type SessionTraceRange } from './session.repository';
import { SessionService } from './session.service';
import { TraceTranscript } from './trace-transcript';
import type { TranscriptItem, TranscriptItemDto, TranscriptQueryDto } from './transcript.dto';

/** Maximum size of the content of a span, and of the spans that are read together, in bytes. */
const CONTENT_MAX = 4 * 1024 * 1024;
/** Number of spans that are read together. */
const SPANS_AT_ONCE = 500;
/** Maximum number of spans of a trace that are read. */
const SPANS_MAX = 5_000;
/** Number of traces whose places are read together. */
const TRACES_AT_ONCE = 50;
/** Number of traces before a page whose messages are left out of it. */
const TRACES_BEFORE = 20;
/** A page ends after the trace that was read when this time is over, so that a long session does not exceed the time limit. */
const PAGE_MS = 8_000;

const HINT = 'Read the transcript page by page, with a smaller limit.';

/** The place of an item in a transcript. */
interface ItemPlace extends SessionTracePlace {
  /** Index of the item in its trace. */
  index: number;
}

/** A place of a transcript, with its item. A trace without items has a place as well, so that reading can stop there. */
interface PlacedItem {
  place: ItemPlace;
  item?: TranscriptItem;
  isTruncated: boolean;
  isLastOfTrace: boolean;
}

/** Reads the transcripts of sessions. Errors: 404 for a session that no trace names; 503 if reading takes too long. */
@Injectable()
export class TranscriptService {
  constructor(
    private readonly limiter: ReadLimiter,
    private readonly store: TraceStore,
    private readonly scores: TraceScores,
    private readonly sessions: SessionService,
  ) {}

  /** Returns a page of a session's messages and tool calls, in order. A page ends early, even without items, if it is large or takes long. */
  async list(
    scope: Scope,
    sessionId: string,
    query: TranscriptQueryDto,
    signal: AbortSignal,
  ): Promise<Page<TranscriptItemDto>> {
    const { limit = PAGE_SIZE_DEFAULT, cursor } = query;
    const sort = sortOf(sessionId, query);
    const start = cursor === undefined ? undefined : placeOf(cursor, sort);
    const deadline = performance.now() + PAGE_MS;
    const items: TranscriptItemDto[] = [];
    const lastItems = new Map<string, TranscriptItemDto>();
    let bytes = 0;
    let traces = 0;
    let next: ItemPlace | undefined;
    for await (const { place, item, isTruncated, isLastOfTrace } of limit === 0
      ? []
      : this.itemsFrom(scope, sessionId, query, start, signal)) {
      const isLate = item === undefined && traces > 0 && performance.now() > deadline;
      if (items.length >= limit || bytes >= PAGE_BYTES || isLate) {
        next = place;
        break;
      }
      if (item === undefined) {
        traces++;
        continue;
      }
      const view: TranscriptItemDto = { ...item, scores: [], is_truncated: isTruncated };
      bytes += Buffer.byteLength(toJsonText(view));
      items.push(view);
      if (isLastOfTrace) lastItems.set(item.trace_id, view);
    }
    if (items.length === 0 && start === undefined) await this.sessions.get(scope, sessionId, signal); // 404
    await this.addScores(scope, lastItems, signal);
    const next_cursor =
      next === undefined
        ? null
        : encodeCursor({ sort, key: next.started_us, id: `${next.trace_id}.${next.index}` });
    return { items, page: { limit, offset: 0, total: null, next_cursor } };
  }

  /**
   * Yields the items of a session from a place on, trace by trace. Also reads some traces before it, because their messages are
   * left out.
   */
  private async *itemsFrom(
    scope: Scope,
    sessionId: string,
    times: TranscriptQueryDto,
    start: ItemPlace | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<PlacedItem, void> {
    const reader = new TranscriptReader(this.store.withSignal(signal), scope);
    const places = (range: SessionTraceRange, limit: number): Promise<SessionTracePlace[]> =>
      this.limiter.read(
        scope,
        HINT,
        (on) => new SessionRepository(on).traces(scope, sessionId, { ...times, ...range }, limit),
        { signal },
      );
    if (start) {
      for (const { trace_id } of await places({ before: start }, TRACES_BEFORE)) await reader.read(trace_id);
    }
    let from: SessionTracePlace | undefined = start;
    do {
      const traces = await places({ from }, TRACES_AT_ONCE + 1);
      from = traces[TRACES_AT_ONCE];
      for (const trace of traces.slice(0, TRACES_AT_ONCE)) {
        const first = trace.trace_id === start?.trace_id ? start.index : 0;
        yield { place: { ...trace, index: first }, isTruncated: false, isLastOfTrace: false };
        const { items, isTruncated } = await reader.read(trace.trace_id);
        for (const [index, item] of items.entries()) {
          if (index < first) continue;
          yield { place: { ...trace, index }, item, isTruncated, isLastOfTrace: index === items.length - 1 };
        }
      }
    } while (from);
  }

  private async addScores(
    scope: Scope,
    lastItems: ReadonlyMap<string, TranscriptItemDto>,
    signal: AbortSignal,
  ): Promise<void> {
    if (lastItems.size === 0) return;
    const ids = [...lastItems.keys()];
    const scores = await this.limiter.read(scope, HINT, (on) => this.scores.findByTraces(on, scope, ids), {
      signal,
    });
    for (const [id, item] of lastItems) item.scores = (scores.get(id) ?? []).map((score) => ({ ...score }));
  }
}

/**
 * Reads the items of traces in order. Reads each trace in parts, and keeps only what is new, so that memory depends neither on the
 * number of messages nor on how often calls repeat them.
 */
class TranscriptReader {
  private readonly conversation = new Conversation();
  private readonly toolNames = new Map<string, string>();
  private readonly slice = new TimeSlice();

  constructor(
    private readonly store: TraceStore,
    private readonly scope: Scope,
  ) {}

  async read(traceId: string): Promise<{ items: TranscriptItem[]; isTruncated: boolean }> {
    const [trace] = await this.store.findTraces(this.scope, [traceId], CONTENT_MAX);
    if (!trace) return { items: [], isTruncated: false }; // deleted since
    const transcript = new TraceTranscript(trace, this.conversation.startTrace(), this.toolNames);
    let isTruncated = trace.content_size > CONTENT_MAX;
    for await (const span of this.spansOf(traceId)) {
      transcript.addSpan(span);
      isTruncated ||= span.attributes === null;
    }
    if (!transcript.hasCalls) for await (const span of this.spansOf(traceId)) transcript.addStep(span);
    return { items: transcript.end(), isTruncated: isTruncated || trace.span_count > SPANS_MAX };
  }

  /** Yields the first spans of a trace, by start, with content unless it is too large. */
  private async *spansOf(traceId: string): AsyncGenerator<TraceSpan, void> {
    let after: string | undefined;
    for (let count = 0; count < SPANS_MAX;) {
      const limit = Math.min(SPANS_AT_ONCE, SPANS_MAX - count);
      const read = await this.store.readSpans(this.scope, [traceId], { limit, maxBytes: CONTENT_MAX, after });
      // a span that does not fit into this part may fit into the next
      const end = read.findIndex(({ attributes }, index) => index > 0 && attributes === null);
      const spans = end < 0 ? read : read.slice(0, end);
      for (const span of spans) {
        if (this.slice.isOver()) await this.slice.yield();
        yield { ...span, status: parsedValue(span.status) as SpanStatusDto };
      }
      if (spans.length === read.length && read.length < limit) return;
      count += spans.length;
      after = spans.at(-1)!.span_id;
    }
  }
}

/** Identifies a transcript in cursors, whose length is limited. */
const sortOf = (sessionId: string, { since, until }: TranscriptQueryDto): string =>
  `transcript:${createHash('sha256')
    .update(JSON.stringify([sessionId, since, until]))
    .digest('hex')
    .slice(0, 16)}`;

/** Errors: 400 for a cursor of another list. */
function placeOf(cursor: string, sort: string): ItemPlace {
  const { sort: own, key, id } = decodeCursor(cursor);
  const [, trace_id, index] = /^([0-9a-f]{32})\.(\d{1,9})$/.exec(id) ?? [];
  if (own !== sort || trace_id === undefined || !/^-?\d{1,18}$/.test(key ?? '')) throw foreignCursor();
  return { trace_id, started_us: key!, index: Number(index) };
}
