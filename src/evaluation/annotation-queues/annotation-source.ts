import { RawJson, sha256OfJson } from '#platform/json';
import { type FieldError, Problem, problem } from '#platform/problem';
import { checkSelectionValues, conditionErrors, parseConditions } from '../../telemetry';
import type { Selection } from '../scoring';
import { type AnnotationSourceDto, ITEMS_MAX } from './annotation-queue.dto';

const SELECTORS = ['filters', 'experiment_id', 'trace_ids'] as const;
const MEMBERS = [...SELECTORS, 'since', 'until', 'limit'] as const;
const POINTER = '/source';

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

/** Checks a source. Errors: 400 unless it has exactly one selector, for filters of the wrong type, and for an empty time range. */
export function checkSource(source: AnnotationSourceDto): void {
  const selectors = SELECTORS.filter((name) => isSet(source[name]));
  const errors: FieldError[] = [];
  if (selectors.length !== 1) {
    errors.push({ pointer: '', detail: `must have exactly one of ${SELECTORS.join(', ')}` });
  }
  errors.push(...conditionErrors(source));
  if (errors.length > 0) throw problem.invalidFields(errors).withPointerPrefix(POINTER);
}

/** Checks the values of a source. Errors: 422 for unknown fields, operators, and values of `status`. */
export const checkSourceValues = (source: AnnotationSourceDto): Promise<void> =>
  withinSource(() => checkSelectionValues(source));

/** Runs a check of a source. The pointers of its errors are relative to the body. */
export async function withinSource(check: () => Promise<void> | void): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw error instanceof Problem ? error.withPointerPrefix(POINTER) : error;
  }
}

/** Returns the selection of a checked source: traces, or the results of an experiment. */
export const selectionOf = (source: AnnotationSourceDto): Selection => ({
  grain: 'trace',
  traceIds: source.trace_ids ? [...new Set(source.trace_ids)] : undefined,
  sessionIds: undefined,
  agentIds: undefined,
  experimentId: source.experiment_id ?? undefined,
  ...parseConditions(source),
  limit: source.limit ?? undefined,
  cap: ITEMS_MAX,
  unscoredOnly: false,
});

/** Converts a source to its stored form, which has only the members that are set. */
export const storedSource = (source: AnnotationSourceDto): RawJson => {
  const members = MEMBERS.flatMap((name) => (isSet(source[name]) ? [[name, source[name]] as const] : []));
  return new RawJson(JSON.stringify(Object.fromEntries(members)));
};

/** Returns whether a source equals a stored one. */
export const isSameSource = (stored: RawJson, source: AnnotationSourceDto): boolean =>
  sha256OfJson(stored.parse()) === sha256OfJson(storedSource(source).parse());
