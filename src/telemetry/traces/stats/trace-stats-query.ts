import { valueErrors } from '#platform/http';
import { type FieldError, problem } from '#platform/problem';
import {
  DEFAULT_METRICS,
  TRACE_AGGREGATIONS,
  type TraceMetric,
  type TraceStatsQuery,
} from '../trace-stats.types';
import { type FilterInput, readFilters, statusErrors } from './trace-filters';

/** A query for statistics as sent by the client. */
export interface StatsQueryInput {
  metrics?: TraceMetric[] | null;
  group_by?: string[] | null;
  filters?: FilterInput[] | null;
}

/**
 * Reads a query. Errors: 400 for values of the wrong type, a repeated metric or group, and bounds that no value can meet.
 */
export function readStatsQuery(
  { metrics, group_by, filters }: StatsQueryInput,
  fields: readonly string[],
): Omit<TraceStatsQuery, 'among'> {
  const requested = metrics && metrics.length > 0 ? metrics : DEFAULT_METRICS;
  const groupBy = group_by ?? [];
  const errors = [
    ...duplicateErrors(
      '/metrics',
      requested.map(({ measure, aggregation }) => `${measure}.${aggregation}`),
    ),
    ...duplicateErrors('/group_by', groupBy),
    ...requested.flatMap(countErrors),
  ];
  const parsed = readFilters(filters ?? [], fields, errors);
  if (errors.length > 0) throw problem.invalidFields(errors);
  return { metrics: requested, groupBy, filters: parsed };
}

/** Checks the values of a query. Errors: 422 for unknown measures, aggregations, groups, fields, operators, and `status`. */
export function checkStatsValues(dto: StatsQueryInput): void {
  const errors = [...valueErrors(dto, ''), ...statusErrors(dto.filters ?? [])];
  if (errors.length > 0) throw problem.validationFailed(errors);
}

function duplicateErrors(pointer: string, names: readonly string[]): FieldError[] {
  return names.flatMap((name, index) => {
    const first = names.indexOf(name);
    return first < index
      ? [{ pointer: `${pointer}/${index}`, detail: `must not repeat ${pointer.slice(1)}/${first}` }]
      : [];
  });
}

/** An unknown aggregation is an unknown value, whatever the measure, see `checkStatsValues`. */
function countErrors({ measure, aggregation }: TraceMetric, index: number): FieldError[] {
  const isUnknown = !TRACE_AGGREGATIONS.includes(aggregation);
  if (measure !== 'count' || isUnknown || aggregation === 'count' || aggregation === 'sum') return [];
  const detail = 'must be count or sum, because the measure count is the number of traces';
  return [{ pointer: `/metrics/${index}/aggregation`, detail }];
}
