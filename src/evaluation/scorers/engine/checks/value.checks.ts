import { isJsonObject, jsonFault } from '#platform/json';
import { distance } from 'fastest-levenshtein';
import type { CompiledSchema } from '#platform/json-schema';
import type { LinearRegExp } from '#platform/linear-regexp';
import { MAX_LEVENSHTEIN_LENGTH } from '../../definitions/limits';
import type { ScoringSubject } from '../subject';
import type { CheckOf } from '../../definitions/check.forms';
import { parsePath, resolvePath } from '../../definitions/json.path';
import { brief, fold, includes, isSame } from './json.value';
import { CannotCheck, isPathTruncated, type Verdict } from './verdict';

const DEFAULT_PATH = 'output';
const DEFAULT_EXPECTED_PATH = 'expected';
const NUMBER = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

/** Returns the value to check, or a failed verdict if there is no value. */
export function readValue(
  check: { path?: string },
  subject: ScoringSubject,
): { value: unknown } | { failed: Verdict } {
  const path = check.path ?? DEFAULT_PATH;
  const { exists, value } = lookUp(subject, path);
  return exists ? { value } : { failed: { passed: false, reason: `there is no value at ${path}` } };
}

export function checkEquals(check: CheckOf<'equals'>, value: unknown, subject: ScoringSubject): Verdict {
  const expected = comparand(check, subject);
  const passed = isSame(value, expected, check.case_sensitive ?? true);
  return { passed, reason: `${brief(value)} ${passed ? 'equals' : 'is not'} ${brief(expected)}` };
}

export function checkContains(check: CheckOf<'contains'>, value: unknown, subject: ScoringSubject): Verdict {
  const expected = check.values ?? [comparand(check, subject)];
  const caseSensitive = check.case_sensitive ?? true;
  const missing = expected.filter((part) => !containsPart(value, part, caseSensitive));
  const passed = check.match === 'any' ? missing.length < expected.length : missing.length === 0;
  const reason = passed
    ? `${brief(value)} contains ${brief(expected.find((part) => !missing.includes(part)))}`
    : `${brief(value)} does not contain ${missing.map(brief).slice(0, 5).join(' or ')}`;
  return { passed, reason };
}

export function checkRegex(check: CheckOf<'regex'>, value: unknown, pattern: LinearRegExp): Verdict {
  const passed = value !== null && pattern.test(textOf(value));
  return {
    passed,
    reason: `${brief(value)} ${passed ? 'matches' : 'does not match'} ${brief(check.pattern)}`,
  };
}

export function checkJsonSchema(
  check: CheckOf<'json_schema'>,
  value: unknown,
  schema: CompiledSchema,
): Verdict {
  let instance = value;
  if (check.parse_json) {
    if (typeof value !== 'string')
      return { passed: false, reason: `${brief(value)} is not a string, so it cannot be parsed as JSON` };
    try {
      instance = JSON.parse(value);
    } catch {
      const fault = jsonFault(value);
      return { passed: false, reason: `${brief(value)} is not JSON${fault === null ? '' : `: ${fault}`}` };
    }
  }
  const violations = schema.validate(instance);
  if (violations.length === 0) return { passed: true, reason: `${brief(instance)} is valid` };
  const undecided = violations.find(({ isUndecided }) => isUndecided);
  if (undecided) throw new CannotCheck(`the value ${undecided.detail}`);
  const listed = violations.slice(0, 5).map(({ pointer, detail }) => `${pointer || 'the value'} ${detail}`);
  return { passed: false, reason: listed.join('; ') };
}

export function checkLevenshtein(
  check: CheckOf<'levenshtein'>,
  value: unknown,
  subject: ScoringSubject,
): Verdict {
  const caseSensitive = check.case_sensitive ?? true;
  const expected = fold(textOf(comparand(check, subject)), caseSensitive);
  if (value === null) return { passed: false, value: 0, reason: 'there is no text to compare' };
  const actual = fold(textOf(value), caseSensitive);
  const longest = Math.max(actual.length, expected.length);
  if (longest > MAX_LEVENSHTEIN_LENGTH) {
    throw new CannotCheck(
      `texts of more than ${MAX_LEVENSHTEIN_LENGTH} characters cannot be compared; the longer one has ${longest}`,
    );
  }
  const similarity = longest === 0 ? 1 : 1 - distance(actual, expected) / longest;
  const passed = similarity >= (check.threshold ?? 1);
  return {
    passed,
    value: similarity,
    ...(check.threshold === undefined && { grade: similarity }),
    reason: `the similarity is ${round(similarity)}${passed ? '' : `, below ${check.threshold ?? 1}`}`,
  };
}

export function checkNumericRange(check: CheckOf<'numeric_range'>, value: unknown): Verdict {
  const number = typeof value === 'string' && NUMBER.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) {
    return { passed: false, reason: `${brief(value)} is not a number` };
  }
  const { min = -Infinity, max = Infinity } = check;
  if (number < min) return { passed: false, value: number, reason: `${number} is below ${min}` };
  if (number > max) return { passed: false, value: number, reason: `${number} is above ${max}` };
  return { passed: true, value: number, reason: `${number} is within the range` };
}

/** @throws CannotCheck when the value at the path was truncated */
function lookUp(subject: ScoringSubject, path: string): { exists: boolean; value: unknown } {
  const steps = parsePath(path);
  if (isPathTruncated(subject, steps)) {
    throw new CannotCheck(`the value at ${path} is too large to be shown to a scorer in full`);
  }
  return resolvePath(subject, steps);
}

function comparand(check: { value?: unknown; expected_path?: string }, subject: ScoringSubject): unknown {
  if (check.value !== undefined) return check.value;
  const path = check.expected_path ?? DEFAULT_EXPECTED_PATH;
  const { value } = lookUp(subject, path);
  if (value === undefined || value === null)
    throw new CannotCheck(`there is no value at ${path} to compare with`);
  return value;
}

function containsPart(whole: unknown, part: unknown, caseSensitive: boolean): boolean {
  if (Array.isArray(whole)) return whole.some((item) => isSame(item, part, caseSensitive));
  if (isJsonObject(whole)) return isJsonObject(part) && includes(whole, part, caseSensitive);
  if (whole === null || part === null || typeof part === 'object') return false;
  return fold(textOf(whole), caseSensitive).includes(fold(textOf(part), caseSensitive));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
