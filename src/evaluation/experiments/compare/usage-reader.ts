import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { TraceStore, type TraceUsage } from '../../../telemetry';
import type { MeasureColumns } from '../../statistics';
import type { ExperimentScores } from './side-reader';

export type Usage = Omit<TraceUsage, 'trace_id'>;

/** Results whose durations and traces are known. */
type MeasuredResults = Pick<ExperimentScores, 'durations' | 'traceIds'>;

/** Returns the traces that several results name. Their usage is that of no single result. */
export function sharedTraces(traceIds: readonly (string | null)[] | null): Set<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const id of traceIds ?? []) {
    if (id === null) continue;
    if (seen.has(id)) shared.add(id);
    seen.add(id);
  }
  return shared;
}

/** Reads the tokens and the costs of results, which are those of their traces. */
@Injectable()
export class UsageReader {
  constructor(private readonly store: TraceStore) {}

  /** Returns the usage of existing traces by their ids. */
  async byTrace(
    scope: Scope,
    traceIds: readonly (string | null)[],
    signal: AbortSignal,
  ): Promise<Map<string, Usage>> {
    const ids = [...new Set(traceIds.filter((id) => id !== null))];
    if (ids.length === 0) return new Map();
    const traces = await this.store.withSignal(signal).readUsage(scope, ids);
    return new Map(traces.map(({ trace_id, ...usage }) => [trace_id, usage]));
  }

  /** Returns the measures of results as columns. The usage of a trace that several results name is unknown for each of them. */
  async measure(
    scope: Scope,
    { durations, traceIds }: MeasuredResults,
    signal: AbortSignal,
  ): Promise<MeasureColumns> {
    const usage = await this.byTrace(scope, traceIds ?? [], signal);
    for (const id of sharedTraces(traceIds)) usage.delete(id);
    const column = (member: keyof Usage): Float64Array =>
      traceIds === null
        ? new Float64Array(durations.length).fill(NaN)
        : Float64Array.from(traceIds, (id) => (id === null ? null : usage.get(id)?.[member]) ?? NaN);
    return {
      duration_ms: durations,
      input_tokens: column('input_tokens'),
      output_tokens: column('output_tokens'),
      cost_usd: column('cost_usd'),
    };
  }
}
