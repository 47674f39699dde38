import { LRUCache } from 'lru-cache';
import { ChecksRunner } from '../checks/checks.runner';
import type { ScoreOutcome, ScoringSubject } from '../score-outcome';
import { isScript } from './code.definition';
import { describeProblems, parseCodeDefinition } from './definition.validator';

type Parsed = ReturnType<typeof parseCodeDefinition>;

/** Runs definitions by checks as they are stored. Each is parsed once, the least recently used leaving first. */
export class DefinitionRunner {
  private readonly parsed = new LRUCache<string, Parsed>({ max: 50 });
  private readonly checks = new ChecksRunner();

  /** Scores one subject by a definition given as JSON text; a definition that is not well formed is the item's error. */
  run(definition: string, subject: ScoringSubject): ScoreOutcome {
    const parsed = this.parse(definition);
    if ('problems' in parsed) return { error: describeProblems(parsed.problems) };
    if (isScript(parsed.definition)) return { error: 'the definition holds no checks' };
    return this.checks.run(parsed.definition, subject);
  }

  private parse(definition: string): Parsed {
    const known = this.parsed.get(definition);
    if (known) return known;
    const parsed = parseCodeDefinition(JSON.parse(definition));
    this.parsed.set(definition, parsed);
    return parsed;
  }
}
