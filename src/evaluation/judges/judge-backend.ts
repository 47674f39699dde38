import { createHash } from 'node:crypto';
import type { ReportedError, RetriedWork } from '../../model-gateway';
import type { Answer, JudgeDefinition, ScoringSubject } from '../scorers';

/** No request can be built for a target. The message addresses the scorer's author and becomes the result's `error`. */
export class PromptError extends Error {
  /** @param isTooLarge whether the judge could not be shown the input, output or expected value whole */
  constructor(
    message: string,
    readonly isTooLarge = false,
  ) {
    super(message);
  }
}

/** A judge gave no usable answer. The message becomes the result's `error`. */
export class JudgeFailure extends Error {
  /**
   * @param requestSha256 SHA-256 of the request if the judge answered it
   * @param refusal the error that the judge reported, if the request is at fault
   */
  constructor(
    message: string,
    readonly requestSha256?: string,
    readonly refusal?: ReportedError,
  ) {
    super(message);
  }
}

/** The server that answered a judge's request. */
export interface JudgeServer {
  provider_kind: 'openai' | 'anthropic' | 'classifier';
  base_url: string;
}

/** One answer of a judge to one request. */
export interface Judgement extends Answer {
  /** Finite. */
  score: number;
  reasoning?: string;
  /** The model's probability of each choice, or of `true` and `false`. They add up to 1. */
  probabilities?: Record<string, number>;
  /** The name of the model, as the server returned it, or as requested if the server does not name it. */
  model?: string;
  server: JudgeServer;
  /** In US dollars, as charged to the call. Absent if unknown. */
  costUsd?: number;
  /** SHA-256 of the answered request, in hexadecimal. */
  requestSha256: string;
}

/** The context of the requests for one target: deadline, budget, and the worker's slot. */
export interface JudgeCall extends RetriedWork {
  /** Charges a cost in US dollars. Called as soon as the cost is known. */
  charge(costUsd: number): void;
  /** Throws `JudgeFailure` if the budget is spent. */
  checkBudget(): void;
}

/** A request to a judge that is ready to be sent. Does not reference its subject; see `JudgeService.prepare`. */
export interface JudgeRequest {
  /** The JSON body. */
  readonly body: string;
  /** SHA-256 of the body, in hexadecimal. */
  readonly sha256: string;
  /**
   * SHA-256 of the question and of the judge to which it goes, in hexadecimal. Independent of the features that the judge's
   * server supports.
   */
  readonly questionSha256: string;
  /** Whether a transcript or other data besides input, output and expected value is not shown whole. */
  readonly isTruncated: boolean;
  /** The number of answers that the definition requests for each target. */
  readonly samples: number;
  /**
   * Sends the request and reads the answer. Throws `JudgeFailure` if there is no usable answer, and the signal's reason
   * when it is aborted.
   */
  ask(call: JudgeCall): Promise<Judgement>;
}

/** A kind of judge that `llm_judge` scorers use. */
export interface JudgeBackend {
  /** Tells whether the price of the definition's requests is known. */
  isPriced(definition: JudgeDefinition): boolean;
  /** Builds the request about a subject. Throws `PromptError` if that is impossible. */
  prepare(definition: JudgeDefinition, subject: ScoringSubject): Promise<JudgeRequest>;
}

/** Returns a digest in hexadecimal. */
export const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');
