import type { ByteLease } from '#platform/concurrency';
import type { JsonObject } from '../formats/json-shape';
import { NO_USAGE, type Usage } from '../formats/usage';
import type { CalledModel, CalledTarget } from '../models/model-directory';
import type { ProviderKind } from '../providers/provider.entity';

/** The format of a client's request: OpenAI's chat completions, Responses or embeddings, or Anthropic's messages. */
export const CALL_FORMATS = ['chat', 'responses', 'embeddings', 'messages'] as const;
export type CallFormat = (typeof CALL_FORMATS)[number];

/** The format of the request to each kind of provider, by the client's format. Absent if the provider does not support it. */
const WIRE_FORMATS: Readonly<Record<ProviderKind, Readonly<Partial<Record<CallFormat, CallFormat>>>>> = {
  openai: { chat: 'chat', responses: 'responses', embeddings: 'embeddings', messages: 'chat' },
  anthropic: { chat: 'messages', responses: 'messages', messages: 'messages' },
};

export const wireFormatOf = (kind: ProviderKind, format: CallFormat): CallFormat | undefined =>
  WIRE_FORMATS[kind][format];

/** The path of each format below the base URL of a provider. */
export const WIRE_PATHS: Readonly<Record<CallFormat, string>> = {
  chat: '/chat/completions',
  responses: '/responses',
  embeddings: '/embeddings',
  messages: '/messages',
};

/** The caller of a model. */
export interface Caller {
  orgId: string;
  principalId: string;
  /** The principal if it is a service account. */
  serviceAccountId: string | null;
}

/** The most tokens that a request can use, as far as its JSON tells. The rest depends on the model. */
export interface RequestBound {
  /** A token has at least one byte. Images count separately. */
  inputTokens: number;
  /** Whether the input includes more than the request contains, such as stored files, so that only the model limits it. */
  isInputOpen: boolean;
  /** How often the model may read the input: more than once if the provider runs tools. */
  rounds: number;
  /** Whether tokens may be written to the provider's cache, which may cost more. */
  writesCache: boolean;
  /** Number of answers. 0 for embeddings. */
  answers: number;
  /** Maximum tokens of each answer. Null if the request does not limit them. */
  maxTokens: number | null;
  /** Whether `max_completion_tokens` is the only limit, which some servers ignore. */
  isNewerLimit: boolean;
  /** Whether the provider continues after its response, so that disconnecting does not stop it. */
  isInBackground: boolean;
}

/** The facts that the gateway needs from a request. */
export interface RequestFacts {
  /** The name or id that the client sent. */
  model: string;
  isStream: boolean;
  /** Whether the client of a chat completion requested a last chunk with the usage. */
  includesUsage: boolean;
  /** The most tokens that the request can use. */
  bound: RequestBound;
  temperature: number | null;
}

/** Facts about an answer, for usage and spans. */
export interface AnswerFacts {
  usage: Usage;
  /** Whether the usage is that of the whole answer, not a count from its start. */
  isUsageFinal: boolean;
  id: string | null;
  /** The model that answered, by its name at the provider. */
  model: string | null;
  finishReason: string | null;
  /** The text of the answer. */
  text: string;
  /** The tool calls, in the format of chat completions. */
  toolCalls: JsonObject[];
}

export const NO_FACTS: AnswerFacts = {
  usage: NO_USAGE,
  isUsageFinal: false,
  id: null,
  model: null,
  finishReason: null,
  text: '',
  toolCalls: [],
};

/** The ids of a call's span (W3C Trace Context). */
export interface CallSpan {
  traceId: string;
  spanId: string;
  /** The span of the caller, if it sent one. */
  parentSpanId: string | null;
}

/** The share of the budgets that is reserved for a call, until the call is recorded. */
export interface Reservation {
  /**
   * Reserves the most that the next request can cost: instead of the last request, or in addition if that may be charged. Returns
   * whether the budgets allow it. The first request is always allowed.
   */
  next: (target: CalledTarget) => boolean | Promise<boolean>;
  /** Keeps what is reserved for the last request, which may be charged. */
  keep: () => void;
  /** Call it once the call is recorded, with what it has cost. */
  release: (spentUsd: number) => void;
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
  /** Memory for the answer. */
  lease: ByteLease | undefined;
  /** Maximum size of the answer, in bytes. */
  maxBytes: number;
  reservation: Reservation;
  /** Called once, when the call is recorded. */
  onRecorded: (recorded: Recorded) => void;
  /** What has been done so far. */
  progress: CallProgress;
}

/** A request to a provider. */
export interface Attempt {
  target: CalledTarget;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Whether the attempt failed because of the target. */
  isFailed: boolean;
}

/** The requests to providers that a call has taken. Updated while it runs, so that a failed call is recorded too. */
export interface CallProgress {
  /** The last target that was called. */
  target: CalledTarget | null;
  attempts: Attempt[];
  /** Requests without a usable answer that may be charged, with the usage that was reported. */
  lost: { target: CalledTarget; reported: Usage }[];
  /** The states of targets that are being stored. */
  writes: Promise<void>[];
}

export const newProgress = (): CallProgress => ({ target: null, attempts: [], lost: [], writes: [] });

/** The usage and the cost of a call. */
export interface Recorded {
  usage: Usage;
  /** In US dollars. Null if the price is unknown. */
  costUsd: number | null;
}

/** The outcome of a call. */
export interface CallOutcome {
  facts: AnswerFacts;
  /** The type of the error, or null. */
  error: string | null;
  isCached: boolean;
  /** Milliseconds from the call to the first byte of a stream. Null for other answers. */
  firstByteMs: number | null;
}
