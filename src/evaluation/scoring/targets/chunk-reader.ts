import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type TraceRow, TraceStore } from '../../../telemetry';
import type { Grain } from '../../scorers';
import { TraceContentReader } from '../../trace-content';
import type { ScoringTarget } from '../score-runs/score-run.entity';
import {
  contentSizeOf,
  NOTHING_PREFETCHED,
  type PrefetchedContent,
  SESSION_TRACES_MAX,
  SessionReader,
} from './session-reader';
import { SUBJECT_MAX } from './subject-views';
import { type ResultContent, SubjectRepository } from './subject.repository';

/** The traces and results of a chunk of targets. */
export interface ChunkContent {
  traces: Map<string, TraceRow>;
  results: Map<string, ResultContent>;
}

/** The traces and results of a chunk of targets, with sessions and spans that were read ahead. */
export interface PreparedContent extends ChunkContent {
  prefetched: PrefetchedContent;
}

/** Limits for reading ahead, per target. Larger content is read separately for its target. */
const PER_TARGET = { spans: 125, bytes: 128 * 1024 };
/** Smaller chunks get the limits of this many targets. */
const MIN_TARGETS = 8;

/** Largest content of a chunk that allows the next chunk to be read ahead, in bytes. */
const SMALL = 4 * 1024 * 1024;

/** Reads the traces, results and sessions of several targets together. */
@Injectable()
export class ChunkReader {
  constructor(
    private readonly traces: TraceStore,
    private readonly contents: TraceContentReader,
    private readonly sessions: SessionReader,
    private readonly results: SubjectRepository,
  ) {}

  /** Reads the traces and results of targets. */
  async readChunk(scope: Scope, targets: readonly ScoringTarget[]): Promise<ChunkContent> {
    const ids = traceIdsOf(targets);
    const [traces, results] = await Promise.all([
      ids.length > 0 ? this.traces.findTraces(scope, ids, SUBJECT_MAX) : [],
      this.readResults(scope, targets),
    ]);
    return { traces: byId(traces), results };
  }

  /**
   * Reads the traces and results of targets, and small sessions and spans ahead, so that a target needs few or no further
   * reads.
   */
  async prepareChunk(
    scope: Scope,
    grain: Grain,
    targets: readonly ScoringTarget[],
  ): Promise<PreparedContent> {
    const results = await this.readResults(scope, targets);
    const sessionsOf = (traces: readonly TraceRow[]): string[] => {
      const read = byId(traces);
      return targets.flatMap((target) => sessionOf(target, read, results) ?? []);
    };
    const traceIds = traceIdsOf(targets);
    if (traceIds.length === 0 && sessionsOf([]).length === 0) {
      return { traces: new Map(), results, prefetched: NOTHING_PREFETCHED };
    }
    const request = { traceIds, sessionsOf, withSpansOfSessions: grain === 'session' };
    const shares = Math.max(MIN_TARGETS, targets.length);
    const { traces, sessions, spans } = await this.traces.readBatch(scope, request, {
      maxBytes: SUBJECT_MAX,
      sessionTraces: SESSION_TRACES_MAX,
      spans: PER_TARGET.spans * shares,
      bytes: PER_TARGET.bytes * shares,
    });
    const agentSessions = await this.sessions.filterAgentSessions(scope, [...new Set(sessionsOf(traces))]);
    return { traces: byId(traces), results, prefetched: { sessions, spans, agentSessions } };
  }

  /** Returns the trace and the result of a target. Reads content that did not fit into its chunk, but fits into a subject. */
  async readTarget(
    scope: Scope,
    { trace_id, result_experiment_id, result_id }: ScoringTarget,
    { traces, results }: ChunkContent,
  ): Promise<{ trace: TraceRow | undefined; result: ResultContent | undefined }> {
    const trace = await this.contents.withContent(scope, traces.get(trace_id!));
    let result = result_id === null ? undefined : results.get(result_id);
    if (result && isUnreadResult(result) && result.size <= SUBJECT_MAX) {
      const key = { experimentId: result_experiment_id!, resultId: result.result_id };
      [result] = await this.results.readResults(scope, [key], SUBJECT_MAX);
    }
    return { trace, result };
  }

  private async readResults(
    scope: Scope,
    targets: readonly ScoringTarget[],
  ): Promise<Map<string, ResultContent>> {
    const keys = targets.flatMap(({ result_experiment_id, result_id }) =>
      result_experiment_id !== null && result_id !== null
        ? { experimentId: result_experiment_id, resultId: result_id }
        : [],
    );
    const results = await this.results.readResults(scope, keys, SUBJECT_MAX);
    return new Map(results.map((result) => [result.result_id, result]));
  }
}

const isUnreadResult = ({ size, input, output, expected, metadata }: ResultContent): boolean =>
  size > 0 && (input ?? output ?? expected ?? metadata) === null;

/** Tells whether the content is so small that the next chunk can be read ahead. */
export const isSmall = ({ traces, results }: ChunkContent): boolean => {
  const resultSize = [...results.values()].reduce((sum, { size }) => sum + size, 0);
  return contentSizeOf([...traces.values()]) + resultSize <= SMALL;
};

const byId = (traces: readonly TraceRow[]): Map<string, TraceRow> =>
  new Map(traces.map((trace) => [trace.trace_id, trace]));

const traceIdsOf = (targets: readonly ScoringTarget[]): string[] => [
  ...new Set(targets.flatMap(({ trace_id }) => trace_id ?? [])),
];

/** Returns the session that a scorer sees of a target: of a trace, its own, even if it was selected by a result's. */
export const sessionIdOf = (
  { trace_id, session_id, result_id }: ScoringTarget,
  trace: TraceRow | undefined,
  result: ResultContent | undefined,
): string | null => {
  const isTrace = result_id === null && trace_id !== null;
  return (isTrace ? null : session_id) ?? trace?.session_id ?? result?.session_id ?? null;
};

const sessionOf = (
  target: ScoringTarget,
  traces: ReadonlyMap<string, TraceRow>,
  results: ReadonlyMap<string, ResultContent>,
): string | null => sessionIdOf(target, traces.get(target.trace_id!), results.get(target.result_id!));
