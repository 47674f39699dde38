import { isJsonObject } from '#platform/json';
import type { ScoringSubject } from '../subject';
import type { JsonObject } from './json.value';
import type { PathStep } from '../../definitions/json.path';

/**
 * The outcome of a check. `value` is what the check measured, if anything: a similarity, a number or a count. `grade` is its
 * contribution to `mean`, if not 1 or 0.
 */
export interface Verdict {
  passed: boolean;
  value?: unknown;
  grade?: number;
  /** Why the check failed. For a negated check, what it found. */
  reason: string;
}

/** A check lacks its data. The message says what is missing, and becomes the item's error. */
export class CannotCheck extends Error {
  override name = 'CannotCheck';
}

/** The error of a check that cannot be decided from the part of a trace or session that a scorer sees. */
export const UNDECIDED =
  'the trace is too large to be shown to a scorer in full, and the part that is shown is not enough to decide this check';

type Kind = 'trace' | 'session' | 'span' | 'message';

const isTruncated = (value: unknown): boolean => isJsonObject(value) && value.is_truncated === true;

/** Tells whether a list is complete: by its count or, without a count, because its owner is not marked as truncated. */
const hasAll = (list: unknown, count: unknown, owner: JsonObject): boolean =>
  typeof count === 'number' ? Array.isArray(list) && list.length >= count : !isTruncated(owner);

/** Tells whether a trace has all of its spans, and all of them are complete. */
export function isCompleteTrace(trace: JsonObject): boolean {
  const { spans } = trace;
  return hasAll(spans, trace.span_count, trace) && !(Array.isArray(spans) && spans.some(isTruncated));
}

/** Tells whether a session has all of its traces, complete or not. */
export const hasAllTraces = (session: JsonObject): boolean =>
  hasAll(session.traces, session.trace_count, session);

/** Tells whether a path selects a part of a trace or session that was truncated because of its size. */
export function isPathTruncated(subject: ScoringSubject, [first, ...steps]: readonly PathStep[]): boolean {
  return first === 'trace' || first === 'session' ? isTruncatedAt(first, subject[first], steps) : false;
}

function isTruncatedAt(kind: Kind, value: unknown, steps: readonly PathStep[]): boolean {
  if (kind === 'trace' && Array.isArray(value)) return listIsTruncatedAt('span', value, true, steps);
  if (!isJsonObject(value)) return false;
  const [step, ...rest] = steps;
  switch (kind) {
    case 'trace':
      if (step === undefined) return isTruncated(value) || !isCompleteTrace(value);
      if (step === 'spans')
        return listIsTruncatedAt('span', value.spans, hasAll(value.spans, value.span_count, value), rest);
      return (step === 'input' || step === 'output') && isTruncated(value) && value[step] === null;
    case 'session':
      if (step === undefined)
        return isTruncated(value) || listIsTruncatedAt('trace', value.traces, true, rest);
      if (step === 'traces') return listIsTruncatedAt('trace', value.traces, hasAllTraces(value), rest);
      return step === 'messages' && listIsTruncatedAt('message', value.messages, !isTruncated(value), rest);
    case 'span':
      return (
        isTruncated(value) && (step === undefined || ['attributes', 'events', 'links'].includes(String(step)))
      );
    case 'message':
      return false;
  }
}

/** Lists are truncated at their end, so an index from the start finds the right item. */
function listIsTruncatedAt(
  kind: Kind,
  list: unknown,
  isComplete: boolean,
  [step, ...rest]: readonly PathStep[],
): boolean {
  if (!Array.isArray(list)) return false;
  if (step === undefined) return !isComplete || list.some((item) => isTruncatedAt(kind, item, []));
  if (typeof step !== 'number') return false;
  const isPresent = isComplete || (step >= 0 && step < list.length);
  return isPresent ? isTruncatedAt(kind, list.at(step), rest) : true;
}
