import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { valueErrors } from '#platform/http';
import { type FieldError, problem } from '#platform/problem';
import { type TraceFilter, type TraceMetric, TraceStore } from '../../../telemetry';
import { ExperimentRepository } from '../experiments/experiment.repository';
import { ExperimentTraceRepository, TRACE_LABELS } from './experiment-trace.repository';
import { STATS_FIELDS, type TraceStatsDto, type TraceStatsQueryDto } from './trace-stats.dto';
import { readFilters, statusErrors } from './trace-filters';

/** The metrics of a query that names none. */
export const DEFAULT_METRICS: readonly TraceMetric[] = [
  { measure: 'count', aggregation: 'count' },
  { measure: 'duration_ms', aggregation: 'p50' },
  { measure: 'duration_ms', aggregation: 'p95' },
  { measure: 'input_tokens', aggregation: 'sum' },
  { measure: 'output_tokens', aggregation: 'sum' },
  { measure: 'total_tokens', aggregation: 'sum' },
  { measure: 'cost_usd', aggregation: 'sum' },
  { measure: 'error_count', aggregation: 'sum' },
];

/** A query for the trace store. */
interface ReadQuery {
  metrics: readonly TraceMetric[];
  groupBy: readonly string[];
  filters: TraceFilter[];
}

/** Statistics of the traces of an experiment. */
@Injectable()
export class TraceStatsService {
  constructor(
    private readonly experiments: ExperimentRepository,
    private readonly references: ExperimentTraceRepository,
    private readonly store: TraceStore,
  ) {}

  /**
   * Returns statistics of the traces that the experiment's results reference and that have arrived, each counted once.
   * Errors: 400 for a query that contradicts itself, 404 without the experiment, 422 for unknown names, 503 when traces
   * cannot be read.
   */
  async query(
    scope: Scope,
    experimentId: string,
    dto: TraceStatsQueryDto,
    signal: AbortSignal,
  ): Promise<TraceStatsDto> {
    const query = readStatsQuery(dto);
    if (!(await this.experiments.exists(scope, experimentId))) {
      throw problem.notFound('experiment', experimentId);
    }
    checkStatsValues(dto);
    const fields = new Set([...query.groupBy, ...query.filters.map(({ field }) => field)]);
    const labels = TRACE_LABELS.filter((label) => fields.has(label));
    const among = { labels, traces: await this.references.labelled(scope, experimentId, labels) };
    const { rows, isTruncated, tracesFound } = await this.store
      .withSignal(signal)
      .stats(scope, { ...query, among });
    // Read after the traces, so that there are never fewer referencing results than traces.
    const { results, with_trace } = await this.references.coverage(scope, experimentId);
    return {
      rows,
      coverage: { results, with_trace, traces_found: tracesFound },
      is_truncated: isTruncated,
    };
  }
}

/**
 * Reads a query. Errors: 400 for values of the wrong type, a repeated metric or group, and bounds that no value can meet.
 */
function readStatsQuery({ metrics, group_by, filters }: TraceStatsQueryDto): ReadQuery {
  const asked = metrics && metrics.length > 0 ? metrics : DEFAULT_METRICS;
  const groupBy = group_by ?? [];
  const errors = [
    ...repeated(
      '/metrics',
      asked.map(({ measure, aggregation }) => `${measure}.${aggregation}`),
    ),
    ...repeated('/group_by', groupBy),
    ...asked.flatMap(faultOfCount),
  ];
  const read = readFilters(filters ?? [], STATS_FIELDS, errors);
  if (errors.length > 0) throw problem.invalidFields(errors);
  return { metrics: asked, groupBy, filters: read };
}

/** Throws 422 for unknown measures, aggregations, groups, fields, operators, and values of `status`. */
function checkStatsValues(dto: TraceStatsQueryDto): void {
  const errors = [...valueErrors(dto, ''), ...statusErrors(dto.filters ?? [])];
  if (errors.length > 0) throw problem.validationFailed(errors);
}

function repeated(pointer: string, names: readonly string[]): FieldError[] {
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    return first < index
      ? [{ pointer: `${pointer}/${index}`, detail: `is the same as ${pointer.slice(1)}/${first}` }]
      : [];
  });
}

function faultOfCount({ measure, aggregation }: TraceMetric, index: number): FieldError[] {
  if (measure !== 'count' || aggregation === 'count' || aggregation === 'sum') return [];
  const detail = 'must be count or sum for the measure count, which is the number of traces';
  return [{ pointer: `/metrics/${index}/aggregation`, detail }];
}
