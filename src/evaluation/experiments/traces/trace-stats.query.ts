import { valueErrors } from '#platform/http';
import { type FieldError, problem } from '#platform/problem';
import type { TraceFilter, TraceMetric } from '../../../telemetry';
import { readFilters, statusErrors } from './trace-filters';
import { STATS_FIELDS, type TraceStatsQueryDto } from './trace-stats.dto';

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

/** A query in the terms of the trace store. */
export interface ReadQuery {
  metrics: readonly TraceMetric[];
  groupBy: readonly string[];
  filters: TraceFilter[];
}

/**
 * Reads a query. Errors: 400 for values of the wrong type, a repeated metric or group, and bounds that exclude all.
 */
export function readStatsQuery({ metrics, group_by, filters }: TraceStatsQueryDto): ReadQuery {
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

/** 422 for unknown measures, aggregations, groups, fields, operators, and values of `status`. */
export function checkStatsValues(dto: TraceStatsQueryDto): void {
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
