import { Injectable } from '@nestjs/common';
import type { OtlpSpan } from '#otlp';
import type { Scope } from '#platform/auth';
import { retry } from '#platform/concurrency';
import { Database, type Tx } from '#platform/db';
import { type Refusable, type RefusalReason, Refusals } from '../deletion/refusals';
import { isDeadlock } from '#platform/problem';
import { DayPartitions } from '../partitions/day-partitions';
import type { RecordMasker } from '../masking/record-masker';
import { EvaluationEvents } from '../evaluation-events/evaluation-event';
import { changesOf, type SessionTrace } from './session-change';
import { SessionWriteRepository } from './session-write.repository';
import { ModelPrices } from '../span-mapping/model-prices';
import { sourcesOf } from '../sources/source-record';
import { SourceWriteRepository } from '../sources/source-write.repository';
import { type LocatedSpan, SpanRepository } from './span.repository';
import { mergeRecords, type SpanRecord, spanKey, toSpanRecords, traceKey } from './span-record';
import { aggregateTraces, type TraceAggregate } from './trace-aggregate';
import { type LockedTrace, TraceDeleteRepository } from './trace-delete.repository';
import { TraceDeletion } from './trace-deletion';
import type { TraceLocation } from './trace.types';
import { recordsByTrace, UsageWriter } from './usage.writer';
import { type KeyedLocation, type MergedTrace, TraceWriteRepository } from './trace-write.repository';

/** Maximum number of attempts if other transactions insert the same traces. */
const ATTEMPTS = 5;

/** Thrown if another transaction has inserted some of the traces. Locking them now would violate the lock order. */
class ConcurrentInsert extends Error {}

/** Refused spans, by `spanKey`. */
export type RefusedSpans = ReadonlyMap<string, RefusalReason>;

/** Locked traces, by `traceKey`. */
interface LockedTraces {
  locations: Map<string, TraceLocation>;
  /** The traces with missing parents. */
  withGaps: Set<string>;
  /** The traces that this transaction has inserted. */
  inserted: Set<string>;
  /** The other traces, before this transaction changes them. */
  before: Map<string, StoredTrace>;
}

/** A stored trace, before this transaction changes it. */
interface StoredTrace extends SessionTrace {
  userId: string | null;
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
    private readonly refusals: Refusals,
    private readonly rows: TraceDeleteRepository,
    private readonly deletion: TraceDeletion,
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

  /**
   * Stores exports of any workspaces in one transaction. When it returns, they are committed and can be read.
   *
   * @returns the spans that were refused, by `spanKey`
   */
  async write(exports: readonly (readonly SpanRecord[])[]): Promise<RefusedSpans> {
    const records = await mergeRecords(exports);
    if (records.length === 0) return new Map();
    const traces = await aggregateTraces(records);
    const attempt = (): Promise<RefusedSpans> =>
      this.database.transaction(async (tx) => {
        const locked = await this.lock(tx, traces);
        const refused = await this.refuse(tx, records, locked);
        if (refused.size === 0) await this.store(tx, records, traces, locked);
        else {
          const kept = records.filter((record) => !refused.has(spanKey(record)));
          await this.store(tx, kept, await aggregateTraces(kept), locked);
        }
        return refused;
      });
    return retry(() => this.partitions.withPartitions('spans', attempt), {
      attempts: ATTEMPTS,
      isRetryable: (error) => error instanceof ConcurrentInsert || isDeadlock(error),
      firstDelayMs: 0,
    });
  }

  private async store(
    tx: Tx,
    records: readonly SpanRecord[],
    traces: readonly TraceAggregate[],
    { locations, withGaps, inserted, before }: LockedTraces,
  ): Promise<void> {
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
   * Finds the spans of deleted traces, and those that name an erased user, and deletes what must not stay of their traces. A trace
   * that this transaction has inserted is refused as a whole. A stored trace is locked, so it was not deleted. It loses only the
   * spans that name the user, unless it belongs to the user.
   */
  private async refuse(
    tx: Tx,
    records: readonly SpanRecord[],
    { locations, inserted, before }: LockedTraces,
  ): Promise<RefusedSpans> {
    const toRefusable = (record: SpanRecord): Refusable => ({
      workspaceId: record.workspaceId,
      traceId: inserted.has(keyOfRecord(record)) ? record.span.traceId : null,
      userIds: record.fields.userId === null ? [] : [record.fields.userId],
      at: record.startedAt,
    });
    const found = await this.refusals.find(tx, records, toRefusable);
    if (found.size === 0) return new Map();
    const naming = [...found].flatMap(([record, reason]) => (reason === 'erased_user' ? record : []));
    // also erases the spans that arrived before the one that names the user
    const isOfUser = (record: SpanRecord): boolean => {
      const userId = before.get(keyOfRecord(record))?.userId ?? null;
      return userId === null || userId === record.fields.userId;
    };
    const erased = await this.refusals.find(tx, naming.filter(isOfUser), (record) => ({
      ...toRefusable(record),
      traceId: null,
      at: before.get(keyOfRecord(record))?.startedAt ?? record.startedAt,
    }));
    const erasedTraces = new Map<string, Set<string>>();
    for (const { workspaceId, span } of erased.keys()) {
      erasedTraces.set(workspaceId, (erasedTraces.get(workspaceId) ?? new Set()).add(span.traceId));
    }
    for (const [workspaceId, traceIds] of erasedTraces) {
      await this.deletion.delete(tx, workspaceId, [...traceIds]);
    }
    const reasons = new Map<string, RefusalReason>();
    for (const [record, reason] of found) {
      const key = keyOfRecord(record);
      if (inserted.has(key) || erased.has(record)) reasons.set(key, reason);
    }
    const refused = new Map<string, RefusalReason>();
    const unwanted = new Map<string, LockedTrace>();
    for (const record of records) {
      const key = keyOfRecord(record);
      const reason = reasons.get(key) ?? found.get(record);
      if (!reason) continue;
      refused.set(spanKey(record), reason);
      if (!inserted.has(key) || reason === 'erased_user') continue;
      const { workspaceId: workspace_id, span } = record;
      unwanted.set(key, { workspace_id, trace_id: span.traceId, session_id: null, ...locations.get(key)! });
    }
    await this.rows.deleteRows(tx, [...unwanted.values()]);
    return refused;
  }

  /**
   * Locks the existing traces, and inserts the missing ones.
   *
   * @throws ConcurrentInsert if another transaction has inserted one of them since
   */
  private async lock(tx: Tx, traces: readonly TraceAggregate[]): Promise<LockedTraces> {
    const locations = new Map<string, TraceLocation>();
    const before = new Map<string, StoredTrace>();
    const addLocation = (row: KeyedLocation): string => {
      const key = keyOfRow(row);
      locations.set(key, { trace_no: row.trace_no, day: row.day });
      return key;
    };
    const withGaps = new Set<string>();
    for (const row of await this.traces.lock(tx, traces)) {
      const key = addLocation(row);
      before.set(key, { ...toSessionTrace(row), userId: row.user_id });
      if (row.gap_count > 0) withGaps.add(key);
    }
    const missing = traces.filter((trace) => !locations.has(keyOf(trace)));
    const inserted = new Set((await this.traces.insertNew(tx, missing)).map(addLocation));
    if (inserted.size < missing.length) throw new ConcurrentInsert();
    return { locations, withGaps, inserted, before };
  }
}

const keyOf = ({ workspaceId, traceId }: TraceAggregate): string => traceKey(workspaceId, traceId);

const keyOfRecord = ({ workspaceId, span }: SpanRecord): string => traceKey(workspaceId, span.traceId);

const keyOfRow = (row: { workspace_id: string; trace_id: string }): string =>
  traceKey(row.workspace_id, row.trace_id);

const toSessionTrace = ({ workspace_id, session_id, started_us }: MergedTrace): SessionTrace => ({
  workspaceId: workspace_id,
  sessionId: session_id,
  startedAt: BigInt(started_us),
});
