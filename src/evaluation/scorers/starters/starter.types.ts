import type { HumanDefinition } from '../definitions/human.definition';
import type { Answer, Output } from '../definitions/output.answer';
import type { Aggregate, Check } from '../engine/checks/check.types';
import type { Grain } from '../scorer.entity';

/** What an example shows to the scorer, as it would see it; what is left out is null. */
export interface ExampleSubject {
  input?: unknown;
  output?: unknown;
  expected?: unknown;
  metadata?: unknown;
  trace?: ExampleTrace;
  session?: { messages: { role: string; content: string }[] };
}

/** A trace of an example, as much of one as scorers look at. */
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

/** One subject, and what comes of it. */
export interface StarterExample {
  subject: ExampleSubject;
  /** What the judge or the person answers; a code scorer computes its score by itself. */
  answer?: Answer;
  score: number;
}

interface Starter {
  /** Names the starter for good. */
  starter_id: string;
  /** A name for the scorer to be made of it. */
  name: string;
  /** What it says, what it needs, and what to change where that is elsewhere. */
  description: string;
  tags: string[];
  grain: Grain;
  /** Of what is as it should be. */
  passing: StarterExample;
  /** Of what is not. */
  failing: StarterExample;
}

/** A scorer that the service runs by itself. */
export interface CodeStarter extends Starter {
  scorer_kind: 'code';
  definition:
    | { checks: Check[]; aggregate: Aggregate }
    | { language: 'javascript'; source: string; timeout_ms?: number };
}

/** A scorer that asks a model. */
export interface JudgeStarter extends Starter {
  scorer_kind: 'llm_judge';
  definition: { backend: 'llm'; prompt: string; output: Output; reasoning: boolean };
}

/** A scorer that asks people. */
export interface HumanStarter extends Starter {
  scorer_kind: 'human';
  definition: HumanDefinition;
}

export type ScorerStarter = CodeStarter | JudgeStarter | HumanStarter;
