import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { type ListQueryDto, type Page, TOTAL_MAX, toPage } from '#platform/paging';
import { problem, orNotFound } from '#platform/problem';
import {
  type LabelFilters,
  type SpanDto,
  toSpanDto,
  TRACE_ID,
  TraceStore,
  type TraceSummary,
} from '../../../telemetry';
import { ExperimentRepository } from '../experiments/experiment.repository';
import {
  type ExperimentTraceDto,
  type ExperimentTraceListQueryDto,
  toExperimentTraceDto,
} from './experiment-trace.dto';
import { ExperimentTraceRepository, type TraceReference } from './experiment-trace.repository';

/** Reads the traces of experiments. Errors: 404 for an unknown experiment, 503 when traces cannot be read. */
@Injectable()
export class ExperimentTraceService {
  constructor(
    private readonly experiments: ExperimentRepository,
    private readonly references: ExperimentTraceRepository,
    private readonly store: TraceStore,
  ) {}

  /** Returns a page of the traces that the experiment's results reference and that have arrived. */
  async list(
    scope: Scope,
    experimentId: string,
    query: ExperimentTraceListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<ExperimentTraceDto>> {
    orNotFound(await this.experiments.exists(scope, experimentId), 'experiment', experimentId);
    const store = this.store.withSignal(signal);
    const traces = new Map<string, TraceSummary>();
    const { rows, page } = await this.references.list(scope, experimentId, query, {
      keep: async <Reference extends TraceReference>(references: readonly Reference[]) => {
        const ids = references.map((reference) => reference.trace_id);
        for (const trace of await store.summarizeTraces(scope, ids)) {
          if (hasLabels(trace, query)) traces.set(trace.trace_id, trace);
        }
        return references.filter((reference) => traces.has(reference.trace_id));
      },
      count: () => (isUnfiltered(query) ? this.count(scope, experimentId, store) : Promise.resolve(null)),
    });
    return {
      items: rows.map((reference) => toExperimentTraceDto(traces.get(reference.trace_id)!, reference)),
      page,
    };
  }

  /**
   * Returns a trace that a result of the experiment references, or that no result references yet, because clients wait for
   * a trace before they upload its result. Errors: 404 for one that belongs only to other experiments.
   */
  async get(
    scope: Scope,
    experimentId: string,
    traceId: string,
    signal: AbortSignal,
  ): Promise<ExperimentTraceDto> {
    const store = this.store.withSignal(signal);
    const { trace, reference } = await this.find(scope, experimentId, traceId, store);
    return toExperimentTraceDto(trace, reference);
  }

  /** Returns a page of the spans of a trace that `get` returns, by start time. */
  async listSpans(
    scope: Scope,
    experimentId: string,
    traceId: string,
    query: ListQueryDto,
    signal: AbortSignal,
  ): Promise<Page<SpanDto>> {
    const store = this.store.withSignal(signal);
    await this.find(scope, experimentId, traceId, store);
    return toPage(await store.listSpans(scope, traceId, query), toSpanDto);
  }

  private async find(
    scope: Scope,
    experimentId: string,
    traceId: string,
    store: TraceStore,
  ): Promise<{ trace: TraceSummary; reference: TraceReference | null }> {
    orNotFound(await this.experiments.exists(scope, experimentId), 'experiment', experimentId);
    if (!TRACE_ID.test(traceId)) throw problem.notFound('trace', traceId);
    const [reference, [trace]] = await Promise.all([
      this.references.find(scope, experimentId, traceId),
      store.summarizeTraces(scope, [traceId]),
    ]);
    const isElsewhere = reference !== null && reference.experiment_id !== experimentId;
    if (!trace || isElsewhere) throw problem.notFound('trace', traceId);
    return { trace, reference };
  }

  /** Returns how many of the referenced traces have arrived, or null if there are more than a list counts. */
  private async count(scope: Scope, experimentId: string, store: TraceStore): Promise<number | null> {
    const ids = await this.references.traceIds(scope, experimentId, TOTAL_MAX + 1);
    if (ids.length > TOTAL_MAX) return null;
    return ids.length === 0 ? 0 : store.countTraces(scope, ids);
  }
}

const LABELS = ['user_id', 'environment', 'prompt_name', 'prompt_version'] as const;

const hasLabels = (trace: TraceSummary, query: LabelFilters): boolean =>
  LABELS.every((name) => query[name] === undefined || query[name] === trace[name]) &&
  (query.tag === undefined || trace.tags.includes(query.tag));

const isUnfiltered = (query: LabelFilters): boolean =>
  query.tag === undefined && LABELS.every((name) => query[name] === undefined);
