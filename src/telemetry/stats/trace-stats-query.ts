import { valueErrors } from '#platform/http';
import { type FieldError, problem } from '#platform/problem';
import { DEFAULT_METRICS, type TraceMetric, type TraceStatsQuery } from '../traces/trace-stats.types';
import { type FilterInput, readFilters, statusErrors } from './trace-filters';

/** A query for statistics as it was sent. */
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
  const asked = metrics && metrics.length > 0 ? metrics : DEFAULT_METRICS;
  const groupBy = group_by ?? [];
  const errors = [
    ...repeated(
      '/metrics',
      asked.map(({ measure, aggregation }) => `${measure}.${aggregation}`),
    ),
    ...repeated('/group_by', groupBy),
    ...asked.flatMap(countErrors),
  ];
  const read = readFilters(filters ?? [], fields, errors);
  if (errors.length > 0) throw problem.invalidFields(errors);
  return { metrics: asked, groupBy, filters: read };
}

/** Throws 422 for unknown measures, aggregations, groups, fields, operators, and values of `status`. */
export function checkStatsValues(dto: StatsQueryInput): void {
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

function countErrors({ measure, aggregation }: TraceMetric, index: number): FieldError[] {
  if (measure !== 'count' || aggregation === 'count' || aggregation === 'sum') return [];
  const detail = 'must be count or sum for the measure count, which is the number of traces';
  return [{ pointer: `/metrics/${index}/aggregation`, detail }];
}
