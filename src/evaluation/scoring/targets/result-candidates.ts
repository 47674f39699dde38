import type { Scope } from '#platform/auth';
import type { SessionDirectory } from '../../../agents';
import type { TraceStore } from '../../../telemetry';
import type { ExperimentResult, ResultRange, ResultReferenceRepository } from '../../scores';
import {
  type Candidates,
  countPages,
  isWithin,
  PAGE_MAX,
  pageSizes,
  type Selection,
  storedTraces,
} from './candidates';
import type { ScannedRange, TargetRef } from './target.entity';

/**
 * The results of an experiment, newest result first, with or without a trace. Reads pages along the key of results, and looks
 * up the traces of a page together, so that selecting the newest hundred reads one page, however many results there are.
 * Results in the ranges that earlier selections have scanned come last.
 */
export class ResultCandidates implements Candidates {
  constructor(
    private readonly traces: TraceStore,
    private readonly agents: SessionDirectory,
    private readonly results: ResultReferenceRepository,
    private readonly scope: Scope,
    private readonly selection: Selection & { experimentId: string },
    private readonly scannedRanges: readonly ScannedRange[] = [],
  ) {}

  async *pages(targetCount: number): AsyncGenerator<TargetRef[]> {
    const { experimentId, traceIds } = this.selection;
    const sizes = pageSizes(targetCount);
    for (const range of rangesOf(this.scannedRanges)) {
      let { below } = range;
      for (let isDone = false; !isDone;) {
        const size = sizes.next().value;
        const bounds = { ...range, below, traceIds };
        const results = await this.results.newestOfExperiment(this.scope, experimentId, size, bounds);
        below = results.at(-1)?.result_id;
        yield await this.select(results);
        isDone = results.length < size;
      }
    }
  }

  async count(): Promise<number> {
    const { experimentId, traceIds, sessionIds, agentIds, since, until, filters } = this.selection;
    if (!(sessionIds ?? agentIds ?? since ?? until ?? filters)) {
      return this.results.countOfExperiment(this.scope, experimentId, traceIds);
    }
    return countPages(this.pages(PAGE_MAX));
  }

  /** Returns the results that the selection includes. A result without a session has the session of its trace. */
  private async select(results: readonly ExperimentResult[]): Promise<TargetRef[]> {
    const { sessionIds, agentIds, filters, ...times } = this.selection;
    const traceIds = results.flatMap(({ trace_id }) => trace_id ?? []);
    const stored = await storedTraces(this.traces, this.scope, traceIds, filters);
    const named = sessionIds && new Set(sessionIds);
    const selected = results.flatMap((result): TargetRef[] => {
      const trace = stored.get(result.trace_id!);
      const session_id = result.session_id ?? trace?.session_id ?? null;
      const isSelected =
        (trace ?? !filters) &&
        isWithin(trace?.started_at ?? result.created_at, times) &&
        (!named || named.has(session_id!));
      return isSelected ? [toTarget({ ...result, session_id })] : [];
    });
    if (!agentIds) return selected;
    const sessions = [...new Set(selected.flatMap(({ session_id }) => session_id ?? []))];
    const agentSessions = new Set(await this.agents.filterByAgents(this.scope, agentIds, sessions));
    return selected.filter(({ session_id }) => agentSessions.has(session_id!));
  }
}

/**
 * Returns ranges that cover each result once: first the ranges outside of all scanned ranges, then the scanned ranges, each
 * newest first.
 */
export function rangesOf(scannedRanges: readonly ScannedRange[]): ResultRange[] {
  const merged: ScannedRange[] = [];
  for (const scanned of [...scannedRanges].sort((a, b) => (a.to > b.to ? -1 : 1))) {
    const last = merged.at(-1);
    if (!last || scanned.to < last.from) merged.push({ ...scanned });
    else if (scanned.from < last.from) last.from = scanned.from;
  }
  const outside = [...merged, undefined].map((scanned, index) => ({
    below: merged[index - 1]?.from,
    above: scanned?.to,
  }));
  return [...outside, ...merged];
}

/**
 * Returns the range of results that a selection has scanned to find these targets: from the oldest target up to the newest
 * target or, if later, the end of the scanned ranges that reach beyond the oldest target. Returns null without targets.
 */
export function scannedRangeOf(
  targets: readonly TargetRef[],
  scannedRanges: readonly ScannedRange[],
): ScannedRange | null {
  const ids = targets.flatMap(({ result_id }) => result_id ?? []).sort();
  const [from] = ids;
  if (from === undefined) return null;
  const tops = scannedRanges.flatMap(({ to }) => (to > from ? to : []));
  return { from, to: [...tops, ids.at(-1)!].sort().at(-1)! };
}

const toTarget = (result: ExperimentResult): TargetRef => ({
  trace_id: result.trace_id,
  session_id: result.session_id,
  result_experiment_id: result.experiment_id,
  result_id: result.result_id,
  result_version: result.version,
  case_id: result.case_id,
});
