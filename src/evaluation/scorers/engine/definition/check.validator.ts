import { isJsonObject } from '#platform/json';
import { compileJsonSchema, SchemaRefused } from '#platform/json-schema';
import { LinearRegExp, PatternRefused } from '#platform/linear-regexp';
import type { Check, CheckType } from '../checks/check.types';
import { parsePath } from '../checks/json.path';
import { SUBJECT_MEMBERS } from '../limits';
import type { DefinitionProblem } from './code.definition';
import { MemberReader } from './member.reader';

export const MAX_NAME_LENGTH = 100;
export const MAX_PATH_LENGTH = 500;
export const MAX_TOOLS = 100;
export const MAX_TOOL_NAME_LENGTH = 255;
export const MAX_COUNT = 1_000_000;

/** What each type of check needs beside its `type`, and what its members must be. */
const VALIDATORS: Record<CheckType, (members: MemberReader) => void> = {
  equals(members) {
    path(members, 'path');
    comparand(members);
    members.flag('case_sensitive');
  },
  contains(members) {
    path(members, 'path');
    comparand(members);
    members.flag('case_sensitive');
    members.oneOf('match', ['all', 'any']);
    const values = members.raw('values');
    if (values === undefined) return;
    if (!Array.isArray(values) || values.length === 0)
      members.problem('values', 'must be a list of one or more values');
    if (members.has('value') || members.has('expected_path')) {
      members.problem('values', 'cannot be given together with value or expected_path');
    }
  },
  regex(members) {
    path(members, 'path');
    if (!members.required('pattern')) return;
    const [pattern, flags] = [members.raw('pattern'), members.raw('flags') ?? ''];
    if (typeof pattern !== 'string') return members.problem('pattern', 'must be a string');
    if (typeof flags !== 'string')
      return members.problem('flags', 'must be a string of flags out of i, m, s and u');
    try {
      LinearRegExp.compile(pattern, flags);
    } catch (error) {
      if (!(error instanceof PatternRefused)) throw error;
      members.problem('pattern', `cannot be used: ${error.message}`);
    }
  },
  json_schema(members) {
    path(members, 'path');
    members.flag('parse_json');
    if (!members.required('schema')) return;
    try {
      compileJsonSchema(members.raw('schema'));
    } catch (error) {
      if (!(error instanceof SchemaRefused)) throw error;
      members.problem(`schema${error.pointer}`, error.message);
    }
  },
  levenshtein(members) {
    path(members, 'path');
    comparand(members);
    members.flag('case_sensitive');
    members.number('threshold', 0, 1);
  },
  numeric_range(members) {
    path(members, 'path');
    const min = members.number('min');
    const max = members.number('max');
    if (!members.has('min') && !members.has('max')) members.problem('', 'needs min, max or both');
    if (min !== undefined && max !== undefined && min > max) members.problem('min', 'must not be above max');
  },
  tool_called(members) {
    members.text('tool', MAX_TOOL_NAME_LENGTH);
    members.texts('tools', MAX_TOOLS, MAX_TOOL_NAME_LENGTH);
    if (members.has('tool') === members.has('tools')) members.problem('', 'needs either tool or tools');
    const min = members.integer('min', 0, MAX_COUNT);
    const max = members.integer('max', 0, MAX_COUNT);
    if (min !== undefined && max !== undefined && min > max) members.problem('min', 'must not be above max');
    const wanted = members.raw('arguments');
    if (wanted !== undefined && !isJsonObject(wanted)) members.problem('arguments', 'must be an object');
  },
  tool_order(members) {
    if (members.required('tools')) members.texts('tools', MAX_TOOLS, MAX_TOOL_NAME_LENGTH);
    members.oneOf('mode', ['subsequence', 'exact']);
  },
  max_steps(members) {
    if (members.required('max')) members.integer('max', 0, MAX_COUNT);
    members.oneOf('count', ['model', 'tool']);
  },
  max_duration_ms(members) {
    if (members.required('max')) members.number('max', 0);
  },
  max_cost_usd(members) {
    if (members.required('max')) members.number('max', 0);
  },
};

/** The types a check can have. */
export const CHECK_TYPES = Object.keys(VALIDATORS) as CheckType[];

/** Whether a check is well formed; says in `problems` what is wrong. Members that its type does not know are let be. */
export function validateCheck(
  check: unknown,
  pointer: string,
  problems: DefinitionProblem[],
): check is Check {
  if (!isJsonObject(check)) {
    problems.push({ pointer, detail: 'must be an object with a type' });
    return false;
  }
  const before = problems.length;
  const members = new MemberReader(check, pointer, problems);
  members.text('name', MAX_NAME_LENGTH);
  members.flag('negate');
  const type = members.required('type') ? members.oneOf('type', CHECK_TYPES) : undefined;
  if (type) VALIDATORS[type](members);
  return problems.length === before;
}

function path(members: MemberReader, name: string): void {
  const text = members.text(name, MAX_PATH_LENGTH);
  if (text === undefined) return;
  try {
    const [first] = parsePath(text);
    if (!SUBJECT_MEMBERS.some((member) => member === first)) {
      members.problem(name, `must begin with one of ${SUBJECT_MEMBERS.join(', ')}`);
    }
  } catch (error) {
    members.problem(name, (error as Error).message);
  }
}

function comparand(members: MemberReader): void {
  path(members, 'expected_path');
  if (members.has('value') && members.has('expected_path')) {
    members.problem('expected_path', 'cannot be given together with value');
  }
}
