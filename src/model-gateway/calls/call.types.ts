import type { ByteLease, Owner } from '#platform/concurrency';
import type { Usage } from '../formats/usage';
import type { CalledModel, CalledTarget } from '../models/model-directory';
import type { AnswerFacts } from './answer-shapes';
import type { CallFormat } from './call-format';
import type { RequestFacts } from './request-shapes';

/** The caller of a model. */
export interface Caller {
  orgId: string;
  principalId: string;
  /** The principal if it is a service account. */
  serviceAccountId: string | null;
}

/** A model call that passed all checks. */
export interface Call {
  caller: Caller;
  model: CalledModel;
  format: CallFormat;
  /** The client's request. */
  body: Buffer;
  facts: RequestFacts;
  /** The client's headers that belong to its format, by lower-case name. */
  headers: Readonly<Record<string, string>>;
  /** The trace of the call, and its span. */
  span: CallSpan;
  /** Aborted once nobody waits for the answer. */
  signal: AbortSignal;
  /** Takes turns with others for worker threads. */
  owner: Owner;
  /** Memory for the answer. Undefined for calls of the service itself. */
  lease: ByteLease | undefined;
  /** Called once, when the call is recorded. */
  onRecorded: (recorded: Recorded) => void;
}

/** The usage and the cost of a call. */
export interface Recorded {
  usage: Usage;
  /** In US dollars. Null if the price is unknown. */
  costUsd: number | null;
}

/** The ids of a call's span (W3C Trace Context). */
export interface CallSpan {
  traceId: string;
  spanId: string;
  /** The span of the caller, if it sent one. */
  parentSpanId: string | null;
}

/** The outcome of a call. */
export interface CallOutcome {
  /** Null if no target was called. */
  target: CalledTarget | null;
  facts: AnswerFacts;
  /** Number of requests to providers. */
  attempts: number;
  /** The type of the error, or null. */
  error: string | null;
  isCached: boolean;
  /** Milliseconds from the call to the first byte of a stream. Null for other answers. */
  firstByteMs: number | null;
}

export const NO_USAGE = {
  inputTokens: null,
  outputTokens: null,
  cachedInputTokens: null,
  cacheWriteTokens: null,
} as const;

export const NO_FACTS: AnswerFacts = {
  usage: NO_USAGE,
  id: null,
  model: null,
  finishReason: null,
  text: '',
  toolCalls: [],
};
