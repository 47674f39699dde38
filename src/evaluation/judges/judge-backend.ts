import type { ScoringSubject } from '../scorers/engine/score-outcome';
import type { JudgeDefinition } from '../scorers/definitions/judge.definition';
import type { Answer } from '../scorers/definitions/output.answer';

/** What a judge said of one subject, once. */
export interface Judgement extends Answer {
  /** Finite. */
  score: number;
  reasoning?: string;
  /** Of each choice, or of `true` and `false`, by what the model itself says; they add up to 1. */
  probabilities?: Record<string, number>;
  /** The model that answered, as it names itself. */
  model?: string;
  /** In US dollars, as it was charged to the call; absent where it is not known. */
  costUsd?: number;
  /** SHA-256 of the request that was answered, hexadecimal. */
  requestSha256: string;
}

/** How long a judge may be asked about one target, and what becomes of the worker's slot meanwhile. */
export interface JudgeCall {
  /** Aborted when there is no more time for the target, or nobody wants its score any more. */
  readonly signal: AbortSignal;
  /** Milliseconds until the deadline of the target. */
  msLeft(): number;
  /** Waits for something without taking up a slot of the worker, until a signal says that it is in vain. */
  idle<Result>(waiting: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** The same for its turn among others, which is not of the target's own time. */
  queue<Result>(waiting: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** A request about the target has been sent: its further ones go before those of targets that have not begun. */
  hasBegun: boolean;
  /** Says what something cost, in US dollars, as soon as that is known. */
  charge(costUsd: number): void;
  /** Throws `JudgeFailure` where nothing more may be spent. */
  checkBudget(): void;
}

/** A request to a judge, ready to be sent. */
export interface JudgeRequest {
  /** JSON: exactly what is sent. */
  readonly body: string;
  /** SHA-256 of the body, hexadecimal. */
  readonly sha256: string;
  /** SHA-256 of what is asked, hexadecimal: the same whatever the judge is found to take of a request. */
  readonly questionSha256: string;
  /**
   * Sends it, and reads the answer. Throws `JudgeFailure` where there is none that counts, and the signal's reason when
   * it is aborted.
   */
  ask(call: JudgeCall): Promise<Judgement>;
}

/** What an `llm_judge` scorer asks. */
export interface JudgeBackend {
  /** How often a definition has it asked about each subject. */
  samplesOf(definition: JudgeDefinition): number;
  /** Whether what it is asked by this definition has a known price. */
  isPriced(definition: JudgeDefinition): boolean;
  /** Throws `CannotJudge` for a subject or a definition that makes no request. */
  prepare(definition: JudgeDefinition, subject: ScoringSubject): Promise<JudgeRequest>;
}
