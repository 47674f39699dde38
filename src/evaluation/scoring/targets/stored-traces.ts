import type { Scope } from '#platform/auth';
import type { TraceFilter, TraceRef, TraceStore } from '../../../telemetry';
import type { Times } from '../../scores';

/** Number of ids per lookup. */
const CHUNK = 1_000;

/** Returns the stored traces that meet all filters, by id. */
export async function storedTraces(
  traces: TraceStore,
  scope: Scope,
  ids: readonly string[],
  filters?: readonly TraceFilter[],
): Promise<Map<string, TraceRef>> {
  const stored = new Map<string, TraceRef>();
  for (const trace_ids of chunks([...new Set(ids)])) {
    for (const ref of await traces.traceRefs(scope, { trace_ids, filters }, trace_ids.length)) {
      stored.set(ref.trace_id, ref);
    }
  }
  return stored;
}

export function* chunks(ids: readonly string[]): Iterable<string[]> {
  for (let at = 0; at < ids.length; at += CHUNK) yield ids.slice(at, at + CHUNK);
}

export const isWithin = (at: Date, { since, until }: Times): boolean =>
  (!since || at >= since) && (!until || at < until);
