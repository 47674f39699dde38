import type { Pages } from '../api/calls.cjs';
import type {
  ChecksDefinition,
  HumanDefinition,
  LlmDefinition,
  Scorer,
  ScoringResult,
  ScriptDefinition,
} from '../api/types.cjs';
import { type BodyOf, idOrName, type ListOf, Resource } from './resource.js';

/**
 * How a scorer works: a function or the source of one (it runs in the service, so it can use nothing outside of itself), a
 * script with limits, checks without code, a prompt for a judge, or a rubric for people.
 */
export type ScorerSource =
  // eslint-disable-next-line typescript/no-explicit-any -- the subject has the members that the scorer names
  | ((subject: any) => unknown)
  | string
  | ScriptDefinition
  | ChecksDefinition
  | LlmDefinition
  | HumanDefinition;

/** What a scorer is tried on: at most 5 traces, sessions or results. */
export type TestTargets = Pick<BodyOf<'runScorer'>, 'trace_ids' | 'session_ids' | 'experiment_id' | 'limit'>;

/** Scorers that run in the service: code, judges and people. */
export class Scorers extends Resource {
  /** Lists the scorers of the workspace, newest first. */
  list(filters: ListOf<'listScorers'> = {}): Pages<Scorer> {
    return this.api.listScorers(filters);
  }

  /** Returns a scorer by its name or id. Throws 404 if there is none. */
  get(scorer: string): Promise<Scorer> {
    return this.api.getScorer({ scorer_id: idOrName(scorer) });
  }

  /** Creates the scorer with this name, or changes the existing one. A changed definition is a new version. */
  upsert(
    name: string,
    source: ScorerSource,
    fields: Omit<BodyOf<'createScorer'>, 'name' | 'definition' | 'scorer_kind'> = {},
  ): Promise<Scorer> {
    const body = { ...fields, name, ...kindAndDefinition(source) } as BodyOf<'createScorer'>;
    return this.api.createScorer({ on_conflict: 'update', body });
  }

  /** Scores up to 5 targets, and stores nothing. A judge is asked, and costs what it costs. */
  async test(scorer: string, targets: TestTargets): Promise<ScoringResult[]> {
    const body = { ...targets, mode: 'test' as const };
    const answer = await this.api.runScorer({ scorer_id: idOrName(scorer), body });
    return 'results' in answer ? answer.results : [];
  }
}

function kindAndDefinition(source: ScorerSource): { scorer_kind: string; definition: unknown } {
  if (typeof source === 'function')
    return { scorer_kind: 'code', definition: { source: `const score = ${expressionOf(source)};` } };
  if (typeof source === 'string') return { scorer_kind: 'code', definition: { source } };
  const kind = 'prompt' in source ? 'llm_judge' : 'rubric' in source ? 'human' : 'code';
  return { scorer_kind: kind, definition: source };
}

/** Returns the source of a function as an expression. That of a method is one only within an object. */
function expressionOf(source: (subject: never) => unknown): string {
  const text = source.toString();
  const isExpression = /^(?:async\s*)?(?:function\b|\(|[\w$]+\s*=>)/.test(text);
  return isExpression ? text : `Object.values({ ${text} })[0]`;
}
