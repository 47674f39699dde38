import type { Scope } from '#platform/auth';
import { inChunks } from '#platform/db';
import type {
  SessionRef as TracedSession,
  TraceFilter,
  TraceRef,
  TraceSelection,
  TraceStore,
} from '../../../telemetry';
import type { Grain } from '../../scorers';
import type { Times } from '../../scores';
import { targetIdOf, type TargetRef } from './target.entity';

/** The targets that a request selects. Selectors narrow each other; those that are undefined do not narrow. */
export interface Selection {
  grain: Grain;
  traceIds: string[] | undefined;
  sessionIds: string[] | undefined;
  agentIds: string[] | undefined;
  experimentId: string | undefined;
  since: Date | undefined;
  until: Date | undefined;
  /** Conditions on the trace. A session matches if one of its traces does, and a result if its trace does. */
  filters: readonly TraceFilter[] | undefined;
  /** Number of newest targets to select. Without a limit, a selection of more than `cap` targets is rejected. */
  limit: number | undefined;
  cap: number;
  unscoredOnly: boolean;
}

/** The traces, sessions or results that match a selection, each once, newest first. */
export interface Candidates {
  /** Reads the candidates page by page. The first page has about `targetCount` candidates; any page may be empty. */
  pages(targetCount: number): AsyncIterable<TargetRef[]> | Iterable<TargetRef[]>;
  count(): Promise<number>;
}

/** Smallest and largest page of candidates. */
const PAGE_MIN = 100;
export const PAGE_MAX = 5_000;
/** Smallest and largest page of sessions of the trace store. Each read groups all traces of the selection. */
const SESSIONS_MIN = 1_000;
const SESSIONS_MAX = 20_000;

/** Yields page sizes: first `targetCount`, then twice the size before, all within the bounds. */
export function* pageSizes(targetCount: number, min = PAGE_MIN, max = PAGE_MAX): Generator<number, never> {
  for (let size = Math.max(targetCount, min); ; size *= 2) yield Math.min(size, max);
}

/** Reads pages until one is not full. Each continues after the last row of the page before. */
export async function* readPages<Ref>(
  sizes: Iterable<number>,
  read: (size: number, last: Ref | undefined) => Promise<Ref[]>,
): AsyncGenerator<Ref[]> {
  let last: Ref | undefined;
  for (const size of sizes) {
    const page = await read(size, last);
    yield page;
    last = page.at(-1);
    if (page.length < size) return;
  }
}

/** Returns the first candidates, at most `limit`. Takes each candidate once, even if it moves while pages are read. */
export async function takeFirst(candidates: Candidates, limit: number): Promise<TargetRef[]> {
  const first = new Map<string, TargetRef>();
  for await (const page of candidates.pages(limit)) {
    for (const candidate of page) first.set(targetIdOf(candidate), candidate);
    if (first.size >= limit) break;
  }
  return [...first.values()].slice(0, limit);
}

/** Counts candidates by reading all of them. */
export async function countPages(pages: AsyncIterable<readonly TargetRef[]>): Promise<number> {
  let count = 0;
  for await (const page of pages) count += page.length;
  return count;
}

/** Returns candidates that are already in memory. */
export const listedCandidates = (all: readonly TargetRef[]): Candidates => ({
  *pages(targetCount) {
    let at = 0;
    for (const size of pageSizes(targetCount)) {
      if (at >= all.length) return;
      yield all.slice(at, (at += size));
    }
  },
  count: () => Promise.resolve(all.length),
});

/** Returns the traces of the trace store that match. */
export const storedTraceCandidates = (
  traces: TraceStore,
  scope: Scope,
  selection: TraceSelection,
): Candidates => ({
  pages: (targetCount) => tracePages(traces, scope, selection, targetCount),
  count: () => traces.countSelectedTraces(scope, selection),
});

/** Returns the sessions of the trace store with a trace that matches. */
export const storedSessionCandidates = (
  traces: TraceStore,
  scope: Scope,
  selection: TraceSelection,
): Candidates => ({
  async *pages(targetCount) {
    const sizes = pageSizes(targetCount, SESSIONS_MIN, SESSIONS_MAX);
    const pages = readPages<TracedSession>(sizes, (size, last) =>
      traces.sessionRefs(scope, selection, size, last),
    );
    for await (const page of pages) yield page.map(({ session_id }) => ({ trace_id: null, session_id }));
  },
  count: () => traces.countSelectedSessions(scope, selection),
});

/** Reads the traces of a selection page by page, newest first. */
export const tracePages = (
  traces: TraceStore,
  scope: Scope,
  selection: TraceSelection,
  targetCount: number,
): AsyncGenerator<TraceRef[]> =>
  readPages(pageSizes(targetCount), (size, last) => traces.traceRefs(scope, selection, size, last));

/**
 * Returns the candidates that a scorer version has not scored and that are in none of its open runs. Targets that failed
 * before come after untried ones, so that repeated requests make progress even if some targets always fail. Returns at most
 * `targetCount` failed targets.
 *
 * @param findEarlier looks up targets that the version has tried: true if scored or in an open run, false if only failed
 */
export function unscoredCandidates(
  candidates: Candidates,
  findEarlier: (targetIds: readonly string[]) => Promise<ReadonlyMap<string, boolean>>,
): Candidates {
  async function* split(targetCount: number): AsyncGenerator<{ untried: TargetRef[]; failed: TargetRef[] }> {
    for await (const page of candidates.pages(targetCount)) {
      const earlier = await findEarlier(page.map(targetIdOf));
      yield {
        untried: page.filter((one) => !earlier.has(targetIdOf(one))),
        failed: page.filter((one) => earlier.get(targetIdOf(one)) === false),
      };
    }
  }
  return {
    async *pages(targetCount) {
      const retries: TargetRef[] = [];
      for await (const { untried, failed } of split(targetCount)) {
        retries.push(...failed.slice(0, targetCount - retries.length));
        yield untried;
      }
      for (let at = 0; at < retries.length; at += PAGE_MAX) yield retries.slice(at, at + PAGE_MAX);
    },
    async count() {
      let count = 0;
      for await (const { untried, failed } of split(PAGE_MAX)) count += untried.length + failed.length;
      return count;
    },
  };
}

/** Number of ids per lookup. */
const CHUNK = 1_000;

/** Returns the stored traces that meet all filters, by id. */
export async function storedTraces(
  traces: TraceStore,
  scope: Scope,
  ids: readonly string[],
  filters?: readonly TraceFilter[],
): Promise<Map<string, TraceRef>> {
  const stored = await inChunks([...new Set(ids)], (some) =>
    traces.traceRefs(scope, { trace_ids: [...some], filters }, some.length),
  );
  return new Map(stored.map((ref) => [ref.trace_id, ref]));
}

export function* chunks(ids: readonly string[]): Iterable<string[]> {
  for (let at = 0; at < ids.length; at += CHUNK) yield ids.slice(at, at + CHUNK);
}

export const isWithin = (at: Date, { since, until }: Times): boolean =>
  (!since || at >= since) && (!until || at < until);
