import type { Pages } from '../api/calls.cjs';
import type { ScoredTrace, TraceTree } from '../api/types.cjs';
import { sleep } from '../core/retry.js';
import { chunksOf, type ListOf, Resource } from './resource.js';

/** Most traces that one request checks. */
const CHECK_MAX = 100;
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 2000;

/** Traces: what an agent did. */
export class Traces extends Resource {
  /** Lists traces, newest first, or in another order: `sort: 'score:helpful'` begins with the worst. */
  list(filters: ListOf<'listTraces'> = {}): Pages<ScoredTrace> {
    return this.api.listTraces(filters);
  }

  /** Returns a trace with its spans. Throws 404 if it has not arrived. */
  get(traceId: string): Promise<TraceTree> {
    return this.api.getTrace({ trace_id: traceId });
  }

  /**
   * Waits until traces can be read, for up to `timeoutMs` (30 s). Returns the ids of those that did not arrive. Needed only
   * for traces that go through a collector: a direct export returns when they can be read.
   */
  async waitFor(
    traceIds: readonly string[],
    { timeoutMs = 30_000, signal }: { timeoutMs?: number; signal?: AbortSignal } = {},
  ): Promise<string[]> {
    const end = Date.now() + timeoutMs;
    let missing = [...new Set(traceIds)];
    for (let wait = FIRST_WAIT_MS; missing.length > 0; wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      const asked = chunksOf(missing, CHECK_MAX);
      missing = [];
      for (const trace_ids of asked) {
        const options = signal ? { signal } : {};
        missing.push(...(await this.api.checkTraces({ body: { trace_ids } }, options)).missing);
      }
      const left = end - Date.now();
      if (missing.length === 0 || left <= 0) break;
      await sleep(Math.min(wait, left), signal);
    }
    return missing;
  }
}
