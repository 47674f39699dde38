import { Injectable } from '@nestjs/common';
import type { Owner } from '#platform/concurrency';
import { problem } from '#platform/problem';
import type { Answer, JudgeBackendName, JudgeDefinition, ScoringSubject } from '../scorers';

/** A target cannot be judged at all. The message becomes the item's `error` and is meant for the scorer's author. */
export class CannotJudge extends Error {}

/** A judge was asked and gave no usable answer. The message becomes the item's `error`. */
export class JudgeFailure extends Error {
  /** @param requestSha256 SHA-256 of the request, where it was answered */
  constructor(
    message: string,
    readonly requestSha256?: string,
  ) {
    super(message);
  }
}

/** One answer of a judge about one subject. */
export interface Judgement extends Answer {
  /** Finite. */
  score: number;
  reasoning?: string;
  /** The model's own probability of each choice, or of `true` and `false`. They add up to 1. */
  probabilities?: Record<string, number>;
  /** The name that the answering model gave itself. */
  model?: string;
  /** In US dollars, as charged to the call. Absent where it is not known. */
  costUsd?: number;
  /** SHA-256 of the request that was answered, hexadecimal. */
  requestSha256: string;
}

/** The terms on which a judge is asked about one target: time, budget, and the worker's slot while waiting. */
export interface JudgeCall {
  /** Owners take turns at a judge that limits its rate. */
  readonly owner: Owner;
  /** Aborted when the target's time is over, or its score is no longer wanted. */
  readonly signal: AbortSignal;
  /** Milliseconds until the deadline of the target. */
  msLeft(): number;
  /** Waits without holding a slot of the worker. Passes a signal that ends the waiting. */
  idle<Result>(waiting: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Waits like `idle`, for a turn among others. This time does not count towards the target's deadline. */
  queue<Result>(waiting: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
  /** Whether a request about the target has been sent. Its further requests go before those of new targets. */
  hasBegun: boolean;
  /** Charges a cost, in US dollars, as soon as it is known. */
  charge(costUsd: number): void;
  /** Throws `JudgeFailure` when the budget is spent. */
  checkBudget(): void;
}

/** A request to a judge, ready to be sent. */
export interface JudgeRequest {
  /** The JSON text that is sent. */
  readonly body: string;
  /** SHA-256 of the body, hexadecimal. */
  readonly sha256: string;
  /** SHA-256 of the question, hexadecimal. Does not depend on the features that the judge supports. */
  readonly questionSha256: string;
  /**
   * Sends the request and reads the answer. Throws `JudgeFailure` without a usable answer, and the signal's reason when
   * it is aborted.
   */
  ask(call: JudgeCall): Promise<Judgement>;
}

/** A judge that `llm_judge` scorers ask. */
export interface JudgeBackend {
  /** How many times a definition asks about each subject. */
  samplesOf(definition: JudgeDefinition): number;
  /** Whether the price of this definition's requests is known. */
  isPriced(definition: JudgeDefinition): boolean;
  /** Throws `CannotJudge` for a subject or a definition that makes no request. */
  prepare(definition: JudgeDefinition, subject: ScoringSubject): Promise<JudgeRequest>;
}

/** The judge backends that are configured. */
@Injectable()
export class JudgeBackends {
  constructor(private readonly configured: Readonly<Record<JudgeBackendName, JudgeBackend | undefined>>) {}

  find(name: JudgeBackendName): JudgeBackend | undefined {
    return this.configured[name];
  }

  /** Returns a backend. Errors: 503 unless it is configured. */
  require(name: JudgeBackendName): JudgeBackend {
    const backend = this.configured[name];
    if (!backend) throw problem.unavailable(missing(name));
    return backend;
  }
}

const VARIABLE = { llm: 'JUDGE_BASE_URL', classifier: 'CLASSIFIER_BASE_URL' } as const;

const missing = (name: JudgeBackendName): string =>
  `This service has no judge backend of kind \`${name}\`, so it cannot run, test or preview this scorer. Nothing was stored. ` +
  `Ask the operator to set ${VARIABLE[name]}, run a scorer of kind \`code\`, or ask the judge yourself and upload its scores with this scorer_id.`;
