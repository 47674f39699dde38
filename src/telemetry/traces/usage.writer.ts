import { Injectable } from '@nestjs/common';
import type { Tx } from '#platform/db';
import { type SpanRecord, traceKey } from './span-record';
import { setUsage, type TraceAggregate } from './trace-aggregate';
import type { TraceLocation } from './trace.types';
import { differs, reportsUsage, type UsageAncestor, usageEffect, type UsageState } from './usage-tree';
import { type OfTrace, UsageWriteRepository } from './usage-write.repository';

/** New spans of one trace. */
export interface NewSpans {
  trace: TraceAggregate;
  location: TraceLocation;
  records: readonly SpanRecord[];
  /** Whether the trace has parents that are missing. */
  hasGaps: boolean;
  /** The states with which the spans were inserted. */
  inserted: ReadonlyMap<string, UsageState>;
}

const NO_USAGE: UsageState = { flags: 0, unpriced: { calls: 0, steps: 0 }, estimates: 0 };

/** Decides which usage of new spans counts, together with the spans that are stored already. Works under the traces' locks. */
@Injectable()
export class UsageWriter {
  constructor(private readonly repository: UsageWriteRepository) {}

  /** Stores the gaps of traces that this transaction has inserted. */
  async create(tx: Tx, traces: readonly Pick<NewSpans, 'trace' | 'location'>[]): Promise<void> {
    const gaps = traces.flatMap(({ trace, location }) =>
      trace.gaps.map((gap) => ({ ...gap, ...placeOf(trace, location) })),
    );
    if (gaps.length > 0) await this.repository.addGaps(tx, gaps);
  }

  /** Sets the usage of extended traces, and updates what spans and gaps know. */
  async extend(tx: Tx, traces: readonly NewSpans[]): Promise<void> {
    const closed = await this.closeGaps(tx, traces);
    const affected = traces.filter(
      ({ location, records }) => closed.has(location.trace_no) || records.some(reportsUsage),
    );
    if (affected.length === 0) return;
    const parents = affected.flatMap(missingParents);
    const ancestors =
      parents.length > 0 ? await this.repository.ancestors(tx, parents) : new Map<number, UsageAncestor[]>();
    const states: (OfTrace & UsageState)[] = [];
    const gaps: (OfTrace & UsageState)[] = [];
    for (const { trace, location, records, inserted } of affected) {
      const above = ancestors.get(location.trace_no) ?? [];
      const before = new Map<string, UsageState>(inserted);
      for (const ancestor of above) before.set(ancestor.spanId, ancestor);
      setUsage(trace, records, usageEffect(records, above, closed.get(location.trace_no)));
      const place = placeOf(trace, location);
      for (const [spanId, state] of trace.usageStates) {
        if (differs(state, before.get(spanId) ?? NO_USAGE)) states.push({ ...place, ...state, spanId });
      }
      for (const gap of trace.gaps) gaps.push({ ...place, ...gap });
    }
    if (states.length > 0) await this.repository.setStates(tx, states);
    const added = gaps.length > 0 ? await this.repository.addGaps(tx, gaps) : new Map<number, number>();
    for (const {
      trace,
      location: { trace_no },
    } of affected) {
      trace.gapCount = (added.get(trace_no) ?? 0) - (closed.get(trace_no)?.length ?? 0);
    }
  }

  private async closeGaps(tx: Tx, traces: readonly NewSpans[]) {
    const arrived = traces.flatMap(({ trace, location, records, hasGaps }) =>
      hasGaps ? records.map(({ span }) => ({ ...placeOf(trace, location), spanId: span.spanId })) : [],
    );
    return arrived.length > 0 ? this.repository.closeGaps(tx, arrived) : new Map<number, never>();
  }
}

const placeOf = ({ workspaceId }: TraceAggregate, location: TraceLocation) => ({ ...location, workspaceId });

/** Returns the parents of new spans that are not new. */
function missingParents({ trace, location, records }: NewSpans): OfTrace[] {
  const own = new Set(records.map(({ span }) => span.spanId));
  const parents = new Set(records.flatMap(({ span: { parentSpanId } }) => parentSpanId ?? []));
  const place = placeOf(trace, location);
  return [...parents].flatMap((spanId) => (own.has(spanId) ? [] : { ...place, spanId }));
}

/** Returns the records of each trace. They are sorted by trace. */
export function recordsByTrace(records: readonly SpanRecord[]): Map<string, SpanRecord[]> {
  const byTrace = new Map<string, SpanRecord[]>();
  for (const record of records) {
    const key = traceKey(record.workspaceId, record.span.traceId);
    const ofTrace = byTrace.get(key);
    if (ofTrace) ofTrace.push(record);
    else byTrace.set(key, [record]);
  }
  return byTrace;
}
