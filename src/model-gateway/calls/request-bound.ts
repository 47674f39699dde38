import { isAbsent, isObject, type JsonObject, listOf, objectOf, textOf } from '../formats/json-shape';
import { TOKENS_MAX, tokensOf, type Usage } from '../formats/usage';
import type { CallFormat, RequestBound } from './call.types';
import { foldedName } from './json-splice';

/** More tokens than an image takes in any of the known models. */
const IMAGE_TOKENS = 50_000;
/** The most rounds in which a provider runs tools: Anthropic stops after this number. */
const TOOL_ROUNDS = 10;
/** The most answers that OpenAI gives. Assumed for an `n` that is not a positive integer. */
const ASSUMED_ANSWERS = 128;

/** The members that limit an answer. Those of other formats can only raise the bound. */
const LIMITS: Readonly<Record<CallFormat, readonly string[]>> = {
  chat: ['max_tokens', 'max_completion_tokens'],
  responses: ['max_output_tokens'],
  messages: ['max_tokens'],
  embeddings: [],
};
/** The limit of chat completions that some servers ignore, because it is newer than `max_tokens`. */
const NEWER_LIMIT = 'max_completion_tokens';
const NO_LIMIT = { maxTokens: null, isNewerLimit: false };
/** The members with a number of answers. */
const ANSWERS: ReadonlySet<string> = new Set(['n', 'best_of']);
/** Other names of the limit, which llama.cpp, Ollama and servers of Hugging Face read. */
const ALIASES = ['n_predict', 'num_predict', 'max_new_tokens'];
const ALL_LIMITS: ReadonlySet<string> = new Set([...Object.values(LIMITS).flat(), ...ALIASES]);

/** Members that bring more input than the request contains: earlier answers, prompts, files and searches. */
const STORED = ['previous_response_id', 'conversation', 'prompt', 'container'];
/** Members that let the provider run tools. */
const PROVIDER_TOOLS = ['web_search_options', 'mcp_servers', 'plugins'];
/** Tools that the client runs. Anthropic's have dates in their names. */
const CLIENT_TOOL = /^(?:function|custom|local_shell|apply_patch|(?:bash|text_editor|computer|memory)_\d+)$/;

const IMAGES: ReadonlySet<unknown> = new Set(['image', 'image_url', 'input_image']);
/** Types of items and parts that contain only texts, and parts in `content` and `output`. */
const TEXTS: ReadonlySet<unknown> = new Set([
  ...['message', 'text', 'input_text', 'output_text', 'refusal', 'summary_text', 'search_result'],
  ...['thinking', 'redacted_thinking', 'reasoning', 'reasoning_text', 'tool_use', 'tool_result', 'function'],
  ...['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'],
]);
/** Members of parts without a type that contain only texts. */
const UNTYPED: ReadonlySet<string> = new Set(['text', 'cache_control']);

/** Returns the most that a request can use. Invalid values never lower it, because providers may read them differently. */
export function boundOf(request: JsonObject, bytes: number, format: CallFormat): RequestBound {
  const content = contentOf([request.messages, request.system, request.input]);
  const tools = listOf(request.tools).map(objectOf);
  const runsTools =
    tools.some(({ type }) => !isAbsent(type) && !CLIENT_TOOL.test(textOf(type) ?? '')) ||
    PROVIDER_TOOLS.some((name) => !isAbsent(request[name]));
  return {
    inputTokens: bytes + content.images * IMAGE_TOKENS,
    isInputOpen: content.isOpen || runsTools || STORED.some((name) => !isAbsent(request[name])),
    rounds: runsTools ? TOOL_ROUNDS : 1,
    writesCache: content.isCached || [request, ...tools].some(({ cache_control: one }) => !isAbsent(one)),
    answers: format === 'embeddings' ? 0 : answersOf(request),
    ...limitOf(request, format),
    isInBackground: !isAbsent(request.background) && request.background !== false,
  };
}

/**
 * Returns the largest limit of an answer that a request names, or null if it names none, or one that is not a positive integer,
 * which some providers take as no limit. Names are compared without case, as some providers do.
 */
function limitOf(request: JsonObject, format: CallFormat): Pick<RequestBound, 'maxTokens' | 'isNewerLimit'> {
  // rejected tokens of a prediction are charged too
  if (!isAbsent(request.prediction)) return NO_LIMIT;
  let largest = tokensOf(objectOf(request.thinking).budget_tokens) ?? 0;
  const limits = new Set<string>();
  for (const [name, value] of Object.entries(request)) {
    if (isAbsent(value) || !ALL_LIMITS.has(foldedName(name))) continue;
    const tokens = tokensOf(value);
    if (tokens === null || tokens === 0) return NO_LIMIT;
    largest = Math.max(largest, tokens);
    if (LIMITS[format].includes(name)) limits.add(name);
  }
  if (limits.size === 0) return NO_LIMIT;
  return { maxTokens: largest, isNewerLimit: limits.size === 1 && limits.has(NEWER_LIMIT) };
}

/** Returns the largest number of answers that a request names, in any case. */
function answersOf(request: JsonObject): number {
  let answers = 1;
  for (const [name, value] of Object.entries(request)) {
    if (isAbsent(value) || !ANSWERS.has(foldedName(name))) continue;
    // some servers read texts as numbers
    const number = Number(value);
    const isValid = Number.isSafeInteger(number) && number > 0;
    answers = Math.max(answers, isValid ? Math.min(number, TOKENS_MAX) : ASSUMED_ANSWERS);
  }
  return answers;
}

/** What messages and their parts contain besides text. */
interface Content {
  images: number;
  isOpen: boolean;
  isCached: boolean;
}

function contentOf(roots: readonly unknown[]): Content {
  const content: Content = { images: 0, isOpen: false, isCached: false };
  const open = [...roots];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) for (const one of value) open.push(one);
    if (!isObject(value)) continue;
    content.isCached ||= !isAbsent(value.cache_control);
    if (IMAGES.has(value.type)) content.images++;
    else if (isText(value)) open.push(value.content, value.output);
    else content.isOpen = true;
  }
  return content;
}

/** Returns whether an item or a part contains only texts, and parts in `content` and `output`. */
function isText(value: JsonObject): boolean {
  if (!isAbsent(value.type)) return TEXTS.has(value.type);
  if (isAbsent(value.role)) return Object.keys(value).every((name) => UNTYPED.has(name));
  return isAbsent(value.audio) && isAbsent(value.images);
}

/** Tokens of the largest request and answer of a model, as far as they are known. */
export interface ModelLimits {
  maxInputTokens: number | null;
  maxOutputTokens: number | null;
  /** Maximum tokens of both together. */
  contextTokens: number | null;
}

/** Assumed for the largest request and the largest answer of an unknown model. */
export const ASSUMED_TOKENS = 128_000;
/** More tokens than any model answers, whatever a request names. */
const ANSWER_MAX = 1_000_000;

/** Returns the most tokens that a request can use with a model. */
export function mostTokens(
  bound: RequestBound,
  { maxInputTokens, maxOutputTokens, contextTokens }: ModelLimits,
): { inputTokens: number; outputTokens: number } {
  const maxInput = maxInputTokens ?? contextTokens;
  let input = bound.inputTokens;
  if (bound.isInputOpen) input = maxInput ?? input + ASSUMED_TOKENS;
  // embeddings have many inputs, each with the limit of the model
  else if (bound.answers > 0) input = Math.min(input, maxInput ?? Infinity);
  const maxOutput = Math.min(
    bound.maxTokens ?? maxOutputTokens ?? ASSUMED_TOKENS,
    maxOutputTokens ?? Infinity,
    contextTokens ?? ANSWER_MAX,
  );
  return {
    inputTokens: Math.min(input * bound.rounds, TOKENS_MAX),
    outputTokens: Math.min(maxOutput * bound.answers, TOKENS_MAX),
  };
}

/** The limits of a model that nobody has registered. */
export const UNKNOWN_LIMITS: ModelLimits = {
  maxInputTokens: null,
  maxOutputTokens: null,
  contextTokens: null,
};

/** Returns usage in which the counts that were not reported are the most that the request can use. */
export const completedUsage = (
  reported: Usage,
  most: Pick<Usage, 'inputTokens' | 'outputTokens'>,
): Usage => ({
  ...reported,
  inputTokens: reported.inputTokens ?? most.inputTokens,
  outputTokens: reported.outputTokens ?? most.outputTokens,
});
