import { parseTime, valueErrors } from '#platform/http';
import { type FieldError, problem } from '#platform/problem';
import { TRACE_STATUSES, type TraceFilter, type TraceMetric } from '../../telemetry';
import {
  FILTER_VALUES_MAX,
  STATS_FIELDS,
  STATS_FIGURES,
  STATS_OPERATORS,
  type TraceFilterDto,
  type TraceStatsQueryDto,
} from './trace-stats.dto';

/** What is told where nothing is asked for. */
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

/** No name that traces are filtered by is longer. */
const TEXT_MAX = 255;

type Kind = 'number' | 'time' | 'text';

const kindOf = (field: string): Kind =>
  field === 'started_at' ? 'time' : (STATS_FIGURES as string[]).includes(field) ? 'number' : 'text';

const KINDS: Readonly<
  Record<Kind, { detail: string; read: (value: unknown) => string | number | Date | null }>
> = {
  number: {
    detail: 'must be a number',
    read: (value) => (typeof value === 'number' ? value : null),
  },
  time: {
    detail: 'must be a time as RFC 3339 writes it, such as 2025-01-31T12:00:00Z',
    read: (value) => (typeof value === 'string' ? parseTime(value) : null),
  },
  text: {
    detail: `must be a text of at most ${TEXT_MAX} characters`,
    read: (value) => (typeof value === 'string' && value.length <= TEXT_MAX ? value : null),
  },
};

/** A query in the words of the store, as far as its values are known. */
export interface ReadQuery {
  metrics: readonly TraceMetric[];
  groupBy: readonly string[];
  filters: TraceFilter[];
}

/**
 * Reads a query. Errors: 400 for values of the wrong type, and for what contradicts itself: a metric or group twice,
 * a filter between a bound and a lower one.
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
  const read = (filters ?? []).flatMap((filter, index) => {
    const found = readFilter(filter, `/filters/${index}/value`, errors);
    return found ? [{ ...found, index }] : [];
  });
  errors.push(...crossedBounds(read));
  if (errors.length > 0) throw problem.invalidFields(errors);
  return { metrics: asked, groupBy, filters: read.map(({ index: _index, ...filter }) => filter) };
}

/** 422 for unknown measures, aggregations, groups, fields, operators, and values of `status`. */
export function checkStatsValues(dto: TraceStatsQueryDto): void {
  const errors = valueErrors(dto, '');
  for (const [index, { field, op, value }] of (dto.filters ?? []).entries()) {
    if (field !== 'status') continue;
    const values: unknown[] = op === 'in' ? (value as unknown[]) : [value];
    if (values.some((one) => one !== null && !(TRACE_STATUSES as readonly unknown[]).includes(one))) {
      const detail = `must be one of ${TRACE_STATUSES.join(', ')}`;
      errors.push({ pointer: `/filters/${index}/value`, detail });
    }
  }
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
  const detail = 'must be count or sum for the measure count, which is how many traces there are';
  return [{ pointer: `/metrics/${index}/aggregation`, detail }];
}

/** What an operator or a field means that is not known is not said here: checkStatsValues refuses it. */
function readFilter(
  { field, op, value }: TraceFilterDto,
  pointer: string,
  errors: FieldError[],
): TraceFilter | undefined {
  const fault = (detail: string, at = pointer): undefined => {
    errors.push({ pointer: at, detail });
  };
  const isKnown = (STATS_FIELDS as readonly string[]).includes(field);
  if (!isKnown || !(STATS_OPERATORS as readonly string[]).includes(op)) return undefined;
  const kind = kindOf(field);
  const { detail, read } = KINDS[kind];
  if (op === 'gte' || op === 'lte') {
    if (kind === 'text') {
      return fault(`must be eq or in for ${field}, which is a text`, pointer.replace(/value$/, 'op'));
    }
    const bound = read(value) as number | Date | null;
    return bound === null ? fault(detail) : op === 'gte' ? { field, from: bound } : { field, to: bound };
  }
  if (op === 'in' && (!Array.isArray(value) || value.length < 1 || value.length > FILTER_VALUES_MAX)) {
    return fault(`must be a list of 1 to ${FILTER_VALUES_MAX} values for the operator in`);
  }
  const given: unknown[] = op === 'in' ? (value as unknown[]) : [value];
  const among = given.map((one) => (one === null ? null : read(one)));
  const wrong = among.findIndex((one, index) => one === null && given[index] !== null);
  if (wrong >= 0) return fault(detail, op === 'in' ? `${pointer}/${wrong}` : pointer);
  return { field, among };
}

/** Bounds of one field that nothing is between. */
function crossedBounds(filters: (TraceFilter & { index: number })[]): FieldError[] {
  return filters.flatMap(({ field, to, index }) => {
    if (to === undefined) return [];
    const above = filters.find(
      (other) => other.field === field && other.from !== undefined && other.from > to,
    );
    return above
      ? [{ pointer: `/filters/${index}/value`, detail: `is less than that of filters/${above.index}` }]
      : [];
  });
}
