import { isJsonObject } from '#platform/json';
import { type ChecksDefinition, isScript, type ScriptDefinition } from '../../definitions/definition.forms';
import type { Check } from '../../definitions/check.forms';
import { parsePath } from '../../definitions/json.path';
import { isPathTruncated } from './verdict';
import type { ScoringSubject } from '../subject';

const isCut = (value: unknown): boolean => isJsonObject(value) && value.is_truncated === true;

/**
 * Tells whether code may read a part of a trace or session that is not shown whole. Checks name what they read. Scripts do not,
 * so they may read everything.
 */
export function codeSeesPart(
  definition: ScriptDefinition | ChecksDefinition,
  subject: ScoringSubject,
): boolean {
  if (!isCut(subject.trace) && !isCut(subject.session)) return false;
  return isScript(definition) || definition.checks.some((check) => checkSeesPart(check, subject));
}

function checkSeesPart(check: Check, subject: ScoringSubject): boolean {
  switch (check.type) {
    case 'tool_called':
    case 'tool_order':
    case 'max_steps':
      return isCut(subject.trace === undefined ? subject.session : subject.trace);
    case 'max_duration_ms':
    case 'max_cost_usd':
      // Traces have these even if their spans are cut.
      return false;
    default: {
      const paths = [check.path, 'expected_path' in check && check.expected_path];
      return paths.some((path) => path && isPathTruncated(subject, parsePath(path)));
    }
  }
}
