import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '#platform/db';
import { Pace } from '#platform/turns';
import { ModelPrices } from '../model-prices';
import { DayPartitions } from '../partitions/day-partitions';
import { changesOf, type SessionTrace } from '../sessions/session-change';
import { SessionKeepingRepository } from '../sessions/session-keeping.repository';
import { sourcesOf } from '../sources/source-record';
import { SourceWriter } from '../sources/source.writer';
import type { SpanBatch } from '../trace-store';
import { type PlacedSpan, SpanRepository } from './span.repository';
import { type SpanRecord, toSpanRecords, traceKey } from './span-record';
import { aggregateTraces, type TraceAggregate } from './trace-aggregate';
import type { TracePlace } from './trace-place';
import { type KeyedPlace, type MergedTrace, TraceWriteRepository } from './trace-write.repository';

/** How often it is begun anew where others have stored traces between the look for them and the storing. */
const LOOKS = 5;

/** Locking them now would be out of the order of the keys. */
class TracesAppeared extends Error {}

/** Traces by workspace and id. */
interface Placed {
  places: Map<string, TracePlace>;
  /** Those of them that this transaction has stored. */
  stored: Set<string>;
  /** The others, as they were when they were locked. */
  before: Map<string, SessionTrace>;
}

/**
 * Stores spans with what they add to their traces, each span once. All writers lock traces, then sessions, then sources,
 * each in the order of their keys; spans and what models used are written under the lock of their trace's row. So two
 * transactions with the same spans wait for one another, and whoever comes second finds what the first has stored.
 */
@Injectable()
export class TraceWriter {
  constructor(
    private readonly database: Database,
    private readonly partitions: DayPartitions,
    private readonly spans: SpanRepository,
    private readonly traces: TraceWriteRepository,
    private readonly sessions: SessionKeepingRepository,
    private readonly sources: SourceWriter,
    private readonly prices: ModelPrices,
  ) {}

  /** In one transaction: when it returns they are committed. */
  async write(batches: readonly SpanBatch[]): Promise<void> {
    const pace = new Pace();
    const records = await toSpanRecords(batches, this.prices.table, pace);
    if (records.length === 0) return;
    const traces = await aggregateTraces(records, pace);
    const attempt = (): Promise<void> =>
      this.database.transaction((tx) => this.store(tx, records, traces, pace));
    for (let looks = 1; ; looks++) {
      try {
        return await this.partitions.withPartitions('spans', attempt);
      } catch (error) {
        if (!(error instanceof TracesAppeared) || looks === LOOKS) throw error;
      }
    }
  }

  private async store(
    tx: Tx,
    records: readonly SpanRecord[],
    traces: readonly TraceAggregate[],
    pace: Pace,
  ): Promise<void> {
    const { places, stored, before } = await this.place(tx, traces);
    const fresh: PlacedSpan[] = [];
    const known: PlacedSpan[] = [];
    for (const record of records) {
      const key = traceKey(record.workspaceId, record.span.traceId);
      (stored.has(key) ? fresh : known).push({ record, place: places.get(key)! });
    }
    await this.spans.insertNew(tx, fresh);
    const missing = await this.spans.insertMissing(tx, known);
    const begun = traces.filter((trace) => stored.has(keyOf(trace)));
    const added =
      missing.length < known.length
        ? await aggregateTraces(missing, pace)
        : traces.filter((trace) => !stored.has(keyOf(trace)));
    const merged = await this.traces.merge(tx, added);
    await this.traces.mergeModels(tx, [...begun, ...added]);
    await this.sessions.keep(tx, [
      ...begun.flatMap((trace) =>
        changesOf(undefined, { ...trace, sessionId: trace.session?.value ?? null }),
      ),
      ...merged.flatMap((row) => changesOf(before.get(keyOfRow(row)), toSessionTrace(row))),
    ]);
    await this.sources.keep(tx, sourcesOf(records));
  }

  /**
   * Locks the traces, and stores those that are not there.
   *
   * @throws TracesAppeared where one of these was stored by somebody else meanwhile
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
    const stored = new Set((await this.traces.insertNew(tx, missing)).map(keep));
    if (stored.size < missing.length) throw new TracesAppeared();
    return { places, stored, before };
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
