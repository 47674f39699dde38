import { Injectable } from '@nestjs/common';
import { Pace, retry } from '#platform/concurrency';
import { Database, type Tx } from '#platform/db';
import { DayPartitions } from '../partitions/day-partitions';
import { changesOf, type SessionTrace } from './session-change';
import { SessionWriteRepository } from './session-write.repository';
import { ModelPrices } from '../span-mapping/model-prices';
import { sourcesOf } from '../sources/source-record';
import { SourceWriteRepository } from '../sources/source-write.repository';
import { type PlacedSpan, SpanRepository } from './span.repository';
import { type SpanRecord, toSpanRecords, traceKey } from './span-record';
import { aggregateTraces, type TraceAggregate } from './trace-aggregate';
import type { SpanBatch, TracePlace } from './trace.types';
import { type KeyedPlace, type MergedTrace, TraceWriteRepository } from './trace-write.repository';

/** Attempts at storing, if others store traces between the look for them and the storing. */
const ATTEMPTS = 5;

/** Others have inserted traces meanwhile. Locking these now would be out of the order of the keys. */
class TracesAppeared extends Error {}

/** The locations of traces, by workspace and id. */
interface Placed {
  places: Map<string, TracePlace>;
  /** The traces that this transaction has inserted. */
  inserted: Set<string>;
  /** The others, as they were when locked. */
  before: Map<string, SessionTrace>;
}

/**
 * Stores spans, each once, and updates their traces. All writers lock traces, then sessions, then sources, each in the
 * order of their keys. Spans and model usage are written under the lock of their trace's row. So two transactions with the
 * same spans wait for each other, and the second finds the spans of the first.
 */
@Injectable()
export class TraceWriter {
  constructor(
    private readonly database: Database,
    private readonly partitions: DayPartitions,
    private readonly spans: SpanRepository,
    private readonly traces: TraceWriteRepository,
    private readonly sessions: SessionWriteRepository,
    private readonly sources: SourceWriteRepository,
    private readonly prices: ModelPrices,
  ) {}

  /** Stores the spans in one transaction. When it returns, they are committed. */
  async write(batches: readonly SpanBatch[]): Promise<void> {
    const pace = new Pace();
    const records = await toSpanRecords(batches, this.prices.table, pace);
    if (records.length === 0) return;
    const traces = await aggregateTraces(records, pace);
    const attempt = (): Promise<void> =>
      this.database.transaction((tx) => this.store(tx, records, traces, pace));
    await retry(() => this.partitions.withPartitions('spans', attempt), {
      attempts: ATTEMPTS,
      isRetryable: (error) => error instanceof TracesAppeared,
      firstDelayMs: 0,
    });
  }

  private async store(
    tx: Tx,
    records: readonly SpanRecord[],
    traces: readonly TraceAggregate[],
    pace: Pace,
  ): Promise<void> {
    const { places, inserted, before } = await this.place(tx, traces);
    const fresh: PlacedSpan[] = [];
    const known: PlacedSpan[] = [];
    for (const record of records) {
      const key = traceKey(record.workspaceId, record.span.traceId);
      (inserted.has(key) ? fresh : known).push({ record, place: places.get(key)! });
    }
    await this.spans.insertNew(tx, fresh);
    const missing = await this.spans.insertMissing(tx, known);
    const begun = traces.filter((trace) => inserted.has(keyOf(trace)));
    const added =
      missing.length < known.length
        ? await aggregateTraces(missing, pace)
        : traces.filter((trace) => !inserted.has(keyOf(trace)));
    const merged = await this.traces.merge(tx, added);
    await this.traces.mergeModels(tx, [...begun, ...added]);
    await this.sessions.apply(tx, [
      ...begun.flatMap((trace) =>
        changesOf(undefined, { ...trace, sessionId: trace.session?.value ?? null }),
      ),
      ...merged.flatMap((row) => changesOf(before.get(keyOfRow(row)), toSessionTrace(row))),
    ]);
    await this.sources.keep(tx, sourcesOf(records));
  }

  /**
   * Locks the existing traces, and inserts the missing ones.
   *
   * @throws TracesAppeared where somebody else has inserted one of these meanwhile
   */
  private async place(tx: Tx, traces: readonly TraceAggregate[]): Promise<Placed> {
    const places = new Map<string, TracePlace>();
    const before = new Map<string, SessionTrace>();
    const keep = (row: KeyedPlace): string => {
      const key = keyOfRow(row);
      places.set(key, { trace_no: row.trace_no, day: row.day });
      return key;
    };
    for (const row of await this.traces.lock(tx, traces)) before.set(keep(row), toSessionTrace(row));
    const missing = traces.filter((trace) => !places.has(keyOf(trace)));
    const inserted = new Set((await this.traces.insertNew(tx, missing)).map(keep));
    if (inserted.size < missing.length) throw new TracesAppeared();
    return { places, inserted, before };
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
