import { Injectable } from '@nestjs/common';
import type { OtlpSpan } from '#otlp';
import type { Scope } from '#platform/auth';
import { retry } from '#platform/concurrency';
import { Database, type Tx } from '#platform/db';
import { DayPartitions } from '../partitions/day-partitions';
import type { RecordMasker } from '../masking/record-masker';
import { EvaluationEvents } from '../evaluation-events/evaluation-event';
import { changesOf, type SessionTrace } from './session-change';
import { SessionWriteRepository } from './session-write.repository';
import { ModelPrices } from '../span-mapping/model-prices';
import { sourcesOf } from '../sources/source-record';
import { SourceWriteRepository } from '../sources/source-write.repository';
import { type LocatedSpan, SpanRepository } from './span.repository';
import { mergeRecords, type SpanRecord, toSpanRecords, traceKey } from './span-record';
import { aggregateTraces, type TraceAggregate } from './trace-aggregate';
import type { TraceLocation } from './trace.types';
import { recordsByTrace, UsageWriter } from './usage.writer';
import { type KeyedLocation, type MergedTrace, TraceWriteRepository } from './trace-write.repository';

/** Maximum number of attempts if other transactions insert the same traces. */
const ATTEMPTS = 5;

/** Thrown if another transaction has inserted some of the traces. Locking them now would violate the lock order. */
class ConcurrentInsert extends Error {}

/** Locked traces, by `traceKey`. */
interface LockedTraces {
  locations: Map<string, TraceLocation>;
  /** The traces with missing parents. */
  withGaps: Set<string>;
  /** The traces that this transaction has inserted. */
  inserted: Set<string>;
  /** The other traces, before this transaction changes them. */
  before: Map<string, SessionTrace>;
}

/**
 * Stores spans, each once, and updates their traces. All writers lock traces, then sessions, then sources, then scores, each
 * in the order of their keys, so they cannot deadlock. Spans and model usage are written under the lock of their trace's row.
 * If two transactions have the same spans, the second one waits, and then finds the spans of the first.
 */
@Injectable()
export class TraceWriter {
  constructor(
    private readonly database: Database,
    private readonly partitions: DayPartitions,
    private readonly spans: SpanRepository,
    private readonly traces: TraceWriteRepository,
    private readonly usage: UsageWriter,
    private readonly sessions: SessionWriteRepository,
    private readonly sources: SourceWriteRepository,
    private readonly prices: ModelPrices,
    private readonly evaluations: EvaluationEvents,
  ) {}

  /**
   * Prepares the spans of one export, with pauses.
   *
   * @param bytes size of the export
   * @param masker has masked the spans; null if the workspace has no rules
   */
  prepare(
    scope: Scope,
    spans: readonly OtlpSpan[],
    bytes: number,
    masker: RecordMasker | null = null,
  ): Generator<void, SpanRecord[]> {
    return toSpanRecords(scope, spans, bytes, this.prices, masker);
  }

  /** Stores exports of any workspaces in one transaction. When it returns, they are committed and can be read. */
  async write(exports: readonly (readonly SpanRecord[])[]): Promise<void> {
    const records = await mergeRecords(exports);
    if (records.length === 0) return;
    const traces = await aggregateTraces(records);
    const attempt = (): Promise<void> => this.database.transaction((tx) => this.store(tx, records, traces));
    await retry(() => this.partitions.withPartitions('spans', attempt), {
      attempts: ATTEMPTS,
      isRetryable: (error) => error instanceof ConcurrentInsert,
      firstDelayMs: 0,
    });
  }

  private async store(
    tx: Tx,
    records: readonly SpanRecord[],
    traces: readonly TraceAggregate[],
  ): Promise<void> {
    const { locations, withGaps, inserted, before } = await this.lock(tx, traces);
    const states = new Map(traces.map((trace) => [keyOf(trace), trace.usageStates]));
    const spansOfNew: LocatedSpan[] = [];
    const spansOfExisting: LocatedSpan[] = [];
    for (let at = 0; at < records.length;) {
      const { workspaceId, span } = records[at]!;
      const key = traceKey(workspaceId, span.traceId);
      const location = locations.get(key)!;
      const spans = inserted.has(key) ? spansOfNew : spansOfExisting;
      const isSame = (record: SpanRecord | undefined): boolean =>
        record?.span.traceId === span.traceId && record.workspaceId === workspaceId;
      const usage = states.get(key)!;
      for (; isSame(records[at]); at++) {
        const record = records[at]!;
        spans.push({ record, location, usage: usage.get(record.span.spanId) });
      }
    }
    await this.spans.insertNew(tx, spansOfNew);
    const missing = await this.spans.insertMissing(tx, spansOfExisting);
    const created = traces.filter((trace) => inserted.has(keyOf(trace)));
    const extended =
      missing.length < spansOfExisting.length
        ? await aggregateTraces(missing)
        : // copies, because they get their usage from what is stored at this attempt
          traces.flatMap((trace) => (inserted.has(keyOf(trace)) ? [] : { ...trace }));
    const missingByTrace = extended.length > 0 ? recordsByTrace(missing) : new Map<string, SpanRecord[]>();
    await this.usage.create(
      tx,
      created.flatMap((trace) =>
        trace.gaps.length > 0 ? { trace, location: locations.get(keyOf(trace))! } : [],
      ),
    );
    await this.usage.extend(
      tx,
      extended.map((trace) => ({
        trace,
        location: locations.get(keyOf(trace))!,
        records: missingByTrace.get(keyOf(trace)) ?? [],
        hasGaps: withGaps.has(keyOf(trace)),
        inserted: states.get(keyOf(trace))!,
      })),
    );
    const merged = await this.traces.merge(tx, extended);
    await this.traces.mergeModels(tx, [...created, ...extended]);
    await this.sessions.apply(tx, [
      ...created.flatMap((trace) =>
        changesOf(undefined, { ...trace, sessionId: trace.session?.value ?? null }),
      ),
      ...merged.flatMap((row) => changesOf(before.get(keyOfRow(row)), toSessionTrace(row))),
    ]);
    await this.sources.upsert(tx, sourcesOf(records));
    const stored = [...spansOfNew.map(({ record }) => record), ...missing];
    await this.evaluations.store(
      tx,
      stored.flatMap(({ scores }) => scores),
    );
  }

  /**
   * Locks the existing traces, and inserts the missing ones.
   *
   * @throws ConcurrentInsert if another transaction has inserted one of them since
   */
  private async lock(tx: Tx, traces: readonly TraceAggregate[]): Promise<LockedTraces> {
    const locations = new Map<string, TraceLocation>();
    const before = new Map<string, SessionTrace>();
    const addLocation = (row: KeyedLocation): string => {
      const key = keyOfRow(row);
      locations.set(key, { trace_no: row.trace_no, day: row.day });
      return key;
    };
    const withGaps = new Set<string>();
    for (const row of await this.traces.lock(tx, traces)) {
      const key = addLocation(row);
      before.set(key, toSessionTrace(row));
      if (row.gap_count > 0) withGaps.add(key);
    }
    const missing = traces.filter((trace) => !locations.has(keyOf(trace)));
    const inserted = new Set((await this.traces.insertNew(tx, missing)).map(addLocation));
    if (inserted.size < missing.length) throw new ConcurrentInsert();
    return { locations, withGaps, inserted, before };
  }
}

const keyOf = ({ workspaceId, traceId }: TraceAggregate): string => traceKey(workspaceId, traceId);

const keyOfRow = (row: { workspace_id: string; trace_id: string }): string =>
  traceKey(row.workspace_id, row.trace_id);

const toSessionTrace = ({ workspace_id, session_id, started_us }: MergedTrace): SessionTrace => ({
  workspaceId: workspace_id,
  sessionId: session_id,
  startedAt: BigInt(started_us),
});
