import type {
  ChecksDefinition,
  HumanDefinition,
  JudgeDefinition,
  ScriptDefinition,
} from '../definitions/definition.forms';
import type { Answer } from '../definitions/output.answer';
import type { Grain } from '../scorer.entity';

/** The subject of an example. The scorer sees absent members as null. */
export interface ExampleSubject {
  input?: unknown;
  output?: unknown;
  expected?: unknown;
  metadata?: unknown;
  trace?: ExampleTrace;
  session?: { messages: { role: string; content: string }[] };
}

/** The trace of an example, with the members that scorers read. */
export interface ExampleTrace {
  duration_ms: number;
  cost_usd: number | null;
  spans: ExampleSpan[];
}

export interface ExampleSpan {
  name: string;
  /** RFC 3339. */
  started_at: string;
  duration_ms: number;
  attributes: Record<string, string | number>;
}

/** A subject and its score. */
export interface StarterExample {
  subject: ExampleSubject;
  /**
   * The answer of the judge, or the members of a person's score. Absent for a code scorer, which computes the score itself.
   */
  answer?: Answer | { label: string };
  score: number;
}

interface Starter {
  /** The permanent name of the starter. */
  starter_id: string;
  /** The name of the scorer to create. */
  name: string;
  /** What it measures, what it needs and how to adapt it. */
  description: string;
  tags: string[];
  grain: Grain;
  /** An example that passes. */
  passing: StarterExample;
  /** An example that fails. */
  failing: StarterExample;
}

/** A scorer that the service runs itself. */
export interface CodeStarter extends Starter {
  scorer_kind: 'code';
  definition: ChecksDefinition | ScriptDefinition;
}

/** A scorer that asks a judge. */
export interface JudgeStarter extends Starter {
  scorer_kind: 'llm_judge';
  definition: JudgeDefinition;
}

/** A scorer that asks people. */
export interface HumanStarter extends Starter {
  scorer_kind: 'human';
  definition: HumanDefinition;
}

export type ScorerStarter = CodeStarter | JudgeStarter | HumanStarter;
