import { LRUCache } from 'lru-cache';
import { JsonSchemaCache } from '#platform/json-schema';
import { LinearRegExp } from '#platform/linear-regexp';
import { cutText, MAX_ERROR_LENGTH, MAX_REASONING_LENGTH } from '../../definitions/limits';
import type { ScoreOutcome, ScoringSubject } from '../subject';
import type { Check, ValueCheck } from '../../definitions/check.forms';
import {
  type Aggregate,
  type ChecksDefinition,
  describeFaults,
  faultsOfCode,
  isScript,
} from '../../definitions/definition.forms';
import { TraceReader } from './trace.reader';
import { checkTrace } from './trace.checks';
import {
  checkContains,
  checkEquals,
  checkJsonSchema,
  checkLevenshtein,
  checkNumericRange,
  checkRegex,
  readValue,
} from './value.checks';
import { CannotCheck, type Verdict } from './verdict';

/**
 * Runs the checks of scorers. Caches parsed definitions, and compiled patterns and schemas.
 *
 * Hostile patterns and subjects may take seconds, so use it in a thread that can be terminated.
 */
export class ChecksRunner {
  private readonly definitions = new LRUCache<string, ChecksDefinition | { error: string }>({ max: 50 });
  private readonly patterns = new LRUCache<string, LinearRegExp>({ max: 200 });
  private readonly schemas = new JsonSchemaCache();

  /**
   * Scores one subject with a definition in JSON. An invalid definition results in the item's error.
   *
   * `reasoning` says which checks failed and why. `answers` has an entry for each check: what it measured (a similarity, a
   * number or a count), else whether it passed. A check that lacks its data makes the outcome an error.
   */
  run(text: string, subject: ScoringSubject): ScoreOutcome {
    const definition = this.parse(text);
    return 'error' in definition ? definition : this.score(definition, subject);
  }

  /** Scores one subject with a valid definition. */
  score(definition: ChecksDefinition, subject: ScoringSubject): ScoreOutcome {
    const aggregate = definition.aggregate ?? 'all';
    const verdicts: { name: string; verdict: Verdict }[] = [];
    for (const { name, check } of nameChecks(definition.checks)) {
      try {
        verdicts.push({ name, verdict: this.check(check, subject) });
      } catch (error) {
        if (error instanceof CannotCheck)
          return { error: cutText(`${name}: ${error.message}`, MAX_ERROR_LENGTH) };
        if (error instanceof RangeError)
          return { error: `${name}: the value is too large or nested too deeply` };
        throw error;
      }
    }
    return {
      score: aggregateVerdicts(
        aggregate,
        verdicts.map(({ verdict }) => verdict),
      ),
      reasoning: explain(aggregate, verdicts),
      answers: Object.fromEntries(
        verdicts.map(({ name, verdict }) => [name, verdict.value ?? verdict.passed]),
      ),
    };
  }

  private parse(text: string): ChecksDefinition | { error: string } {
    const cached = this.definitions.get(text);
    if (cached) return cached;
    const definition = JSON.parse(text) as ChecksDefinition;
    const faults = faultsOfCode(definition);
    const error =
      faults.length > 0 ? describeFaults(faults) : isScript(definition) && 'the definition has no checks';
    const parsed = error ? { error } : definition;
    this.definitions.set(text, parsed);
    return parsed;
  }

  private check(check: Check, subject: ScoringSubject): Verdict {
    switch (check.type) {
      case 'tool_called':
      case 'tool_order':
      case 'max_steps':
      case 'max_duration_ms':
      case 'max_cost_usd':
        return negate(check, checkTrace(check, new TraceReader(subject)));
      default: {
        const read = readValue(check, subject);
        return 'failed' in read ? read.failed : negate(check, this.checkValue(check, read.value, subject));
      }
    }
  }

  private checkValue(check: ValueCheck, value: unknown, subject: ScoringSubject): Verdict {
    switch (check.type) {
      case 'equals':
        return checkEquals(check, value, subject);
      case 'contains':
        return checkContains(check, value, subject);
      case 'regex':
        return checkRegex(check, value, this.pattern(check.pattern, check.flags ?? ''));
      case 'json_schema':
        return checkJsonSchema(check, value, this.schemas.compile(check.schema));
      case 'levenshtein':
        return checkLevenshtein(check, value, subject);
      case 'numeric_range':
        return checkNumericRange(check, value);
    }
  }

  private pattern(source: string, flags: string): LinearRegExp {
    const key = `${flags}/${source}`;
    const cached = this.patterns.get(key);
    if (cached) return cached;
    const pattern = LinearRegExp.compile(source, flags);
    this.patterns.set(key, pattern);
    return pattern;
  }
}

function negate(check: Check, verdict: Verdict): Verdict {
  if (!check.negate) return verdict;
  const grade = verdict.grade === undefined ? undefined : 1 - verdict.grade;
  return { ...verdict, passed: !verdict.passed, grade };
}

/** Adds names to checks. A check without a name is named by its type, with a number from the second of its type on. */
function nameChecks(checks: Check[]): { name: string; check: Check }[] {
  const names = new Set(checks.map(({ name }) => name));
  return checks.map((check) => {
    let name = check.name;
    for (let count = 1; name === undefined; count++) {
      const candidate = count === 1 ? check.type : `${check.type}_${count}`;
      if (!names.has(candidate)) name = candidate;
    }
    names.add(name);
    return { name, check };
  });
}

function aggregateVerdicts(aggregate: Aggregate, verdicts: Verdict[]): number {
  switch (aggregate) {
    case 'all':
      return Number(verdicts.every(({ passed }) => passed));
    case 'any':
      return Number(verdicts.some(({ passed }) => passed));
    case 'mean':
      return (
        verdicts.reduce((sum, { passed, grade }) => sum + (grade ?? Number(passed)), 0) / verdicts.length
      );
  }
}

function explain(aggregate: Aggregate, verdicts: { name: string; verdict: Verdict }[]): string {
  const failed = verdicts.filter(({ verdict }) => !verdict.passed);
  if (failed.length === 0) {
    return verdicts.length === 1 ? 'The check passed.' : `All ${verdicts.length} checks passed.`;
  }
  const passed = verdicts.filter(({ verdict }) => verdict.passed).map(({ name }) => name);
  // The reasons of failed checks would not explain a score of 1.
  if (aggregate === 'any' && passed.length > 0) {
    const text = `${passed.length} of ${verdicts.length} checks passed: ${passed.join(', ')}.`;
    return cutText(text, MAX_REASONING_LENGTH);
  }
  const reasons = failed.map(({ name, verdict }) => `${name}: ${verdict.reason}`);
  const text = `${failed.length} of ${verdicts.length} checks failed. ${reasons.join('. ')}.`;
  return cutText(text, MAX_REASONING_LENGTH);
}
