import { isJsonObject } from '#platform/json';
import type { ScoringSubject } from '../score-outcome';
import type { JsonObject } from './json.value';
import type { PathStep } from '../../definitions/json.path';

/** Error of a check that the shown part of a trace or session does not decide. */
export const IN_PART =
  'the trace is too large to be shown to a scorer in full, and the part that is shown does not decide the check';

type Kind = 'trace' | 'session' | 'span' | 'message';

const isCut = (value: unknown): boolean => isJsonObject(value) && value.is_truncated === true;

/** Whether a list is complete: by its count or, without a count, because its owner is not marked as truncated. */
const hasAll = (list: unknown, count: unknown, of: JsonObject): boolean =>
  typeof count === 'number' ? Array.isArray(list) && list.length >= count : !isCut(of);

/** Whether a trace has all of its spans, and all of them are complete. */
export function isWholeTrace(trace: JsonObject): boolean {
  const { spans } = trace;
  return hasAll(spans, trace.span_count, trace) && !(Array.isArray(spans) && spans.some(isCut));
}

/** Whether a session has all of its traces, complete or not. */
export const hasAllTraces = (session: JsonObject): boolean =>
  hasAll(session.traces, session.trace_count, session);

/** Whether a path selects a part of a trace or session that was cut because of its size. */
export function isPathCut(subject: ScoringSubject, [first, ...steps]: readonly PathStep[]): boolean {
  return first === 'trace' || first === 'session' ? leadsToCut(first, subject[first], steps) : false;
}

function leadsToCut(kind: Kind, value: unknown, steps: readonly PathStep[]): boolean {
  if (kind === 'trace' && Array.isArray(value)) return listLeadsToCut('span', value, true, steps);
  if (!isJsonObject(value)) return false;
  const [step, ...rest] = steps;
  switch (kind) {
    case 'trace':
      if (step === undefined) return isCut(value) || !isWholeTrace(value);
      if (step === 'spans')
        return listLeadsToCut('span', value.spans, hasAll(value.spans, value.span_count, value), rest);
      return (step === 'input' || step === 'output') && isCut(value) && value[step] === null;
    case 'session':
      if (step === undefined) return isCut(value) || listLeadsToCut('trace', value.traces, true, rest);
      if (step === 'traces') return listLeadsToCut('trace', value.traces, hasAllTraces(value), rest);
      return step === 'messages' && listLeadsToCut('message', value.messages, !isCut(value), rest);
    case 'span':
      return isCut(value) && (step === undefined || ['attributes', 'events', 'links'].includes(String(step)));
    case 'message':
      return false;
  }
}

/** Lists are cut at their ends, so an index from the beginning finds the right item. */
function listLeadsToCut(
  kind: Kind,
  list: unknown,
  isWhole: boolean,
  [step, ...rest]: readonly PathStep[],
): boolean {
  if (!Array.isArray(list)) return false;
  if (step === undefined) return !isWhole || list.some((item) => leadsToCut(kind, item, []));
  if (typeof step !== 'number') return false;
  const isSeen = isWhole || (step >= 0 && step < list.length);
  return isSeen ? leadsToCut(kind, list.at(step), rest) : true;
}
