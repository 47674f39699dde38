import {
  countOf,
  isObject,
  type JsonObject,
  nameOf,
  numberOf,
  objectOf,
  textOf,
  withoutUndefined,
} from './json-shape';
import { usageOfChat } from './usage';

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

/** The members of a Response object that do not depend on the request. */
export interface ResponseState {
  id: string;
  /** In seconds since 1970. */
  createdAt: number;
  model: string | undefined;
  status: ItemStatus;
  output: readonly JsonObject[];
  /** The finish reason of the chat completion. */
  finishReason?: string | undefined;
  /** The chat completion, or the chunk that contains the usage. */
  usageSource?: JsonObject;
}

const INCOMPLETE_REASONS = new Map<unknown, string>([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
]);

/** Returns the final status of an answer for the finish reason of a chat completion. */
export function statusOf(finishReason: unknown): 'completed' | 'incomplete' {
  return INCOMPLETE_REASONS.has(finishReason) ? 'incomplete' : 'completed';
}

/** Returns a Response object, which repeats the request with the defaults of the API. */
export function responseOf(request: JsonObject, state: ResponseState): JsonObject {
  const reason = INCOMPLETE_REASONS.get(state.finishReason);
  return {
    id: state.id,
    object: 'response',
    created_at: state.createdAt,
    status: state.status,
    background: false,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    ...echoOf(request),
    model: state.model ?? textOf(request.model) ?? '',
    output: state.output,
    usage: state.usageSource === undefined ? null : responseUsage(state.usageSource),
  };
}

/** The members of a request that a Response repeats or replaces. */
export const ECHOED: ReadonlySet<string> = new Set([
  ...['instructions', 'max_output_tokens', 'metadata', 'model', 'parallel_tool_calls', 'reasoning'],
  ...['temperature', 'text', 'tool_choice', 'tools', 'top_p', 'user'],
]);

function echoOf(request: JsonObject): JsonObject {
  const reasoning = objectOf(request.reasoning);
  return {
    instructions: textOf(request.instructions) ?? null,
    max_output_tokens: numberOf(request.max_output_tokens) ?? null,
    max_tool_calls: null,
    metadata: objectOf(request.metadata),
    parallel_tool_calls: request.parallel_tool_calls !== false,
    previous_response_id: null,
    reasoning: { effort: textOf(reasoning.effort) ?? null, summary: null },
    service_tier: 'default',
    store: false,
    temperature: numberOf(request.temperature) ?? 1,
    text: { format: { type: 'text' }, ...textOptionsOf(request.text) },
    tool_choice: request.tool_choice ?? 'auto',
    tools: Array.isArray(request.tools) ? (request.tools as unknown[]) : [],
    top_logprobs: 0,
    top_p: numberOf(request.top_p) ?? 1,
    truncation: 'disabled',
    user: textOf(request.user) ?? null,
  };
}

function textOptionsOf(text: unknown): JsonObject {
  const { format, verbosity } = objectOf(text);
  return withoutUndefined({ format: isObject(format) ? format : undefined, verbosity: nameOf(verbosity) });
}

/** Returns the usage of a chat completion in the format of a Response, or null if it is unknown. */
function responseUsage(chat: JsonObject): JsonObject | null {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens } = usageOfChat(chat);
  if (inputTokens === null && outputTokens === null) return null;
  const details = objectOf(objectOf(chat.usage).completion_tokens_details);
  return {
    input_tokens: inputTokens ?? 0,
    input_tokens_details: {
      cached_tokens: cachedInputTokens ?? 0,
      cache_write_tokens: cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens ?? 0,
    output_tokens_details: { reasoning_tokens: countOf(details.reasoning_tokens) ?? 0 },
    total_tokens: (inputTokens ?? 0) + (outputTokens ?? 0),
  };
}

/** Returns a part of a message. */
export function outputPart(kind: 'text' | 'refusal', text: string): JsonObject {
  return kind === 'refusal'
    ? { type: 'refusal', refusal: text }
    : { type: 'output_text', text, annotations: [], logprobs: [] };
}
