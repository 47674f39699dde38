import { isJsonObject } from '#platform/json';
import {
  cutText,
  DEFAULT_MEMORY_MB,
  DEFAULT_TIMEOUT_MS,
  MAX_CHECKS,
  MAX_CHECKS_LENGTH,
  MAX_ERROR_LENGTH,
  MAX_MEMORY_MB,
  MAX_SOURCE_BYTES,
  MAX_TIMEOUT_MS,
  MIN_MEMORY_MB,
} from '../limits';
import type { Check, ChecksDefinition } from '../checks/check.types';
import { validateCheck } from './check.validator';
import type { CodeDefinition, DefinitionProblem, ScriptDefinition } from './code.definition';
import { MemberReader } from './member.reader';

const MAX_PROBLEMS = 50;

/**
 * What is wrong with the definition of a scorer of kind `code`; nothing where it can be used.
 *
 * It is a script (`source`) or checks (`checks`), not both and not neither. Unknown types of checks and members of the
 * wrong type are refused, members that nothing knows are let be. A source is not looked into, and patterns and schemas
 * are compiled in the caller's thread: `ScorerEngine.validate` looks into all of it and does so in a thread of its own.
 */
export function validateCodeDefinition(definition: unknown): DefinitionProblem[] {
  const parsed = parseCodeDefinition(definition);
  return 'problems' in parsed ? parsed.problems : [];
}

/** The definition with its defaults filled in, or what is wrong with it; see {@link validateCodeDefinition}. */
export function parseCodeDefinition(
  definition: unknown,
): { definition: CodeDefinition } | { problems: DefinitionProblem[] } {
  if (!isJsonObject(definition)) return { problems: [{ pointer: '', detail: 'must be an object' }] };
  const problems: DefinitionProblem[] = [];
  const members = new MemberReader(definition, '', problems);
  const [hasSource, hasChecks] = [members.has('source'), members.has('checks')];
  if (hasSource === hasChecks) {
    const detail = hasSource
      ? 'holds both source and checks; a scorer is one or the other'
      : 'needs source (with "language": "javascript") or checks';
    return { problems: [{ pointer: '', detail }] };
  }
  const parsed = hasSource ? parseScript(members) : parseChecks(members, problems);
  return problems.length > 0 ? { problems: problems.slice(0, MAX_PROBLEMS) } : { definition: parsed };
}

/** The problems as the error of an item that such a definition was to score. */
export function describeProblems(problems: DefinitionProblem[]): string {
  const listed = problems.map(({ pointer, detail }) => `${pointer} ${detail}`.trim());
  return cutText(`the definition cannot be used: ${listed.join('; ')}`, MAX_ERROR_LENGTH);
}

function parseScript(members: MemberReader): ScriptDefinition {
  const language = members.oneOf('language', ['javascript']) ?? 'javascript';
  const source = members.raw('source');
  if (typeof source !== 'string' || source.trim() === '') {
    members.problem('source', 'must be a string that defines a function score');
  } else if (Buffer.byteLength(source) > MAX_SOURCE_BYTES) {
    members.problem('source', `has ${Buffer.byteLength(source)} bytes; ${MAX_SOURCE_BYTES} are the most`);
  }
  return {
    language,
    source: String(source),
    timeout_ms: members.integer('timeout_ms', 1, MAX_TIMEOUT_MS) ?? DEFAULT_TIMEOUT_MS,
    memory_mb: members.integer('memory_mb', MIN_MEMORY_MB, MAX_MEMORY_MB) ?? DEFAULT_MEMORY_MB,
  };
}

function parseChecks(members: MemberReader, problems: DefinitionProblem[]): ChecksDefinition {
  const aggregate = members.oneOf('aggregate', ['all', 'any', 'mean']) ?? 'all';
  const given = members.raw('checks');
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_CHECKS) {
    members.problem('checks', `must be a list of 1 to ${MAX_CHECKS} checks`);
    return { checks: [], aggregate };
  }
  const length = JSON.stringify(given).length;
  if (length > MAX_CHECKS_LENGTH) {
    members.problem('checks', `have ${length} characters; ${MAX_CHECKS_LENGTH} are the most`);
    return { checks: [], aggregate };
  }
  const checks: Check[] = [];
  const names = new Set<string>();
  for (const [index, check] of given.entries()) {
    if (problems.length >= MAX_PROBLEMS) break;
    if (!validateCheck(check, `/checks/${index}`, problems)) continue;
    if (check.name !== undefined && names.has(check.name)) {
      problems.push({
        pointer: `/checks/${index}/name`,
        detail: `"${check.name}" is the name of another check`,
      });
    }
    if (check.name !== undefined) names.add(check.name);
    checks.push(check);
  }
  return { checks, aggregate };
}
