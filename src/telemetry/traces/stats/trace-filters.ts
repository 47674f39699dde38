import { parseTime } from '#platform/http';
import type { FieldError } from '#platform/problem';
import {
  FILTER_VALUES_MAX,
  NUMBER_FIELDS,
  STATS_OPERATORS,
  TRACE_STATUSES,
  type TraceFilter,
} from '../trace-stats.types';

/** Maximum length of a text in a filter. */
const TEXT_MAX = 255;

type Kind = 'number' | 'time' | 'text';

const kindOf = (field: string): Kind =>
  field === 'started_at' ? 'time' : NUMBER_FIELDS.includes(field) ? 'number' : 'text';

const KINDS: Readonly<
  Record<Kind, { detail: string; read: (value: unknown) => string | number | Date | null }>
> = {
  number: {
    detail: 'must be a number',
    read: (value) => (typeof value === 'number' ? value : null),
  },
  time: {
    detail: 'must be an RFC 3339 time, such as 2025-01-31T12:00:00Z',
    read: (value) => (typeof value === 'string' ? parseTime(value) : null),
  },
  text: {
    detail: `must be a string of at most ${TEXT_MAX} characters`,
    read: (value) => (typeof value === 'string' && value.length <= TEXT_MAX ? value : null),
  },
};

/** A filter as sent by the client. */
export interface FilterInput {
  field: string;
  op: string;
  value: unknown;
}

/**
 * Translates filters for the trace store. Skips filters with an unknown field or operator. Adds an error for each value of the
 * wrong type, and for bounds that no value can meet.
 */
export function readFilters(
  filters: readonly FilterInput[],
  fields: readonly string[],
  errors: FieldError[],
): TraceFilter[] {
  const parsed = filters.flatMap((filter, index) => {
    const one = readFilter(filter, fields, `/filters/${index}/value`, errors);
    return one ? [{ ...one, index }] : [];
  });
  errors.push(...contradictoryBounds(parsed));
  return parsed.map(({ index: _index, ...filter }) => filter);
}

/** Returns the errors of filters by an unknown `status`. */
export const statusErrors = (filters: readonly FilterInput[]): FieldError[] =>
  filters.flatMap(({ field, op, value }, index) => {
    if (field !== 'status') return [];
    const values: unknown[] = op === 'in' ? (value as unknown[]) : [value];
    return values.every((one) => one === null || (TRACE_STATUSES as readonly unknown[]).includes(one))
      ? []
      : [{ pointer: `/filters/${index}/value`, detail: `must be one of ${TRACE_STATUSES.join(', ')}` }];
  });

/** Reads a filter. Skips unknown fields and operators, which the check of values rejects (422). */
function readFilter(
  { field, op, value }: FilterInput,
  fields: readonly string[],
  pointer: string,
  errors: FieldError[],
): TraceFilter | undefined {
  const fault = (detail: string, at = pointer): undefined => {
    errors.push({ pointer: at, detail });
  };
  const isKnown = fields.includes(field);
  if (!isKnown || !(STATS_OPERATORS as readonly string[]).includes(op)) return undefined;
  const kind = kindOf(field);
  const { detail, read } = KINDS[kind];
  if (op === 'gte' || op === 'lte') {
    if (kind === 'text') {
      return fault(`must be eq or in, because ${field} is a string`, pointer.replace(/value$/, 'op'));
    }
    const bound = read(value) as number | Date | null;
    return bound === null ? fault(detail) : op === 'gte' ? { field, from: bound } : { field, to: bound };
  }
  if (op === 'in' && (!Array.isArray(value) || value.length < 1 || value.length > FILTER_VALUES_MAX)) {
    return fault(`must be a list of 1 to ${FILTER_VALUES_MAX} values, because the operator is in`);
  }
  const inputs: unknown[] = op === 'in' ? (value as unknown[]) : [value];
  const values = inputs.map((one) => (one === null ? null : read(one)));
  const wrong = values.findIndex((one, index) => one === null && inputs[index] !== null);
  if (wrong >= 0) return fault(detail, op === 'in' ? `${pointer}/${wrong}` : pointer);
  return { field, among: values };
}

/** Returns the errors of bounds on one field that no value can meet. */
function contradictoryBounds(filters: (TraceFilter & { index: number })[]): FieldError[] {
  return filters.flatMap(({ field, to, index }) => {
    if (to === undefined) return [];
    const above = filters.find(
      (other) => other.field === field && other.from !== undefined && other.from > to,
    );
    return above
      ? [
          {
            pointer: `/filters/${index}/value`,
            detail: `must not be less than the lower bound in filters/${above.index}`,
          },
        ]
      : [];
  });
}
