import { cacheControlOf } from './chat-parts';
import { type Turns, turnsOf } from './chat-turns';
import {
  isAbsent,
  isObject,
  type JsonObject,
  nameOf,
  numberOf,
  objectOf,
  textOf,
  withoutUndefined,
} from './json-shape';
import {
  checkSupported,
  optionalNumber,
  toolsOf,
  type UnsupportedMember,
  UntranslatableError,
} from './request-members';

/** Anthropic requires a limit. Every model supports this one. */
export const DEFAULT_MAX_TOKENS = 4096;

/** The minimum budget that Anthropic accepts. */
const MIN_THINKING_TOKENS = 1024;

const THINKING_TOKENS = new Map<unknown, number>([
  ['low', 1024],
  ['medium', 4096],
  ['high', 16_384],
  ['xhigh', 32_768],
  ['max', 32_768],
]);

const JSON_INSTRUCTION = 'Answer with one JSON object, and with nothing before or after it.';

/** Members that change the answer and that Anthropic does not support. */
const UNSUPPORTED: readonly UnsupportedMember[] = [
  ['n', (n) => n !== 1, 'Remove `n`, or set it to 1: providers of kind anthropic return one answer.'],
  ['audio', () => true, 'Remove `audio`: providers of kind anthropic return only text.'],
  [
    'modalities',
    (modalities) => !Array.isArray(modalities) || modalities.some((modality) => modality !== 'text'),
    'Remove `modalities`, or set it to ["text"]: providers of kind anthropic return only text.',
  ],
  ['functions', () => true, 'Use `tools` instead of `functions`.'],
  ['function_call', () => true, 'Use `tool_choice` instead of `function_call`.'],
  [
    'logprobs',
    (logprobs) => logprobs !== false,
    'Remove `logprobs`: providers of kind anthropic do not return probabilities.',
  ],
  [
    'logit_bias',
    (bias) => !isObject(bias) || Object.keys(bias).length > 0,
    'Remove `logit_bias`: providers of kind anthropic have no such setting.',
  ],
  [
    'frequency_penalty',
    (penalty) => penalty !== 0,
    'Remove `frequency_penalty`, or set it to 0: providers of kind anthropic have no such setting.',
  ],
  [
    'presence_penalty',
    (penalty) => penalty !== 0,
    'Remove `presence_penalty`, or set it to 0: providers of kind anthropic have no such setting.',
  ],
  [
    'web_search_options',
    () => true,
    'Remove `web_search_options`: the gateway does not translate searches by the provider.',
  ],
];

/**
 * Translates a request for a chat completion to a request for an Anthropic message.
 *
 * Drops unknown members, and hints that do not change the form of the answer, such as `seed` and `verbosity`. Passes on
 * Anthropic's own members: `thinking`, `top_k`, `output_config` and `cache_control`.
 *
 * @throws UntranslatableError for members that Anthropic cannot express or that are malformed
 */
export function toMessagesRequest(chat: JsonObject): JsonObject {
  checkSupported(chat, UNSUPPORTED);
  const turns = turnsOf(chat.messages);
  const tools = toolsOf(chat.tools, toolOf);
  const request = withoutUndefined({
    model: chat.model,
    max_tokens: maxTokensOf(chat),
    system: systemOf(turns, chat.response_format),
    messages: turns.messages,
    tools,
    tool_choice: toolChoiceOf(chat, tools !== undefined),
    stop_sequences: stopSequencesOf(chat.stop),
    temperature: temperatureOf(chat),
    top_p: optionalNumber(chat, 'top_p'),
    top_k: optionalNumber(chat, 'top_k'),
    metadata: metadataOf(chat),
    output_config: outputConfigOf(chat),
    stream: streamOf(chat.stream),
    ...cacheControlOf(chat),
  });
  return withoutUndefined({ ...request, thinking: thinkingOf(chat, request, turns) });
}

/** Limits the temperature to 1, the maximum at Anthropic. OpenAI's maximum is 2. */
function temperatureOf(chat: JsonObject): number | undefined {
  const temperature = optionalNumber(chat, 'temperature');
  return temperature === undefined ? undefined : Math.min(temperature, 1);
}

function maxTokensOf(chat: JsonObject): number {
  const name = isAbsent(chat.max_completion_tokens) ? 'max_tokens' : 'max_completion_tokens';
  const value = optionalNumber(chat, name) ?? DEFAULT_MAX_TOKENS;
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new UntranslatableError(`/${name}`, `Set \`${name}\` to an integer of at least 1.`);
  }
  return value;
}

/** Returns a string, or blocks if one of them has `cache_control`. */
function systemOf({ system }: Turns, responseFormat: unknown): string | JsonObject[] | undefined {
  const isJson = objectOf(responseFormat).type === 'json_object';
  const blocks = isJson ? [...system, { type: 'text', text: JSON_INSTRUCTION }] : system;
  if (blocks.length === 0) return undefined;
  if (blocks.some((block) => 'cache_control' in block)) return blocks;
  return blocks.map((block) => block.text).join('\n\n');
}

function stopSequencesOf(stop: unknown): string[] | undefined {
  if (isAbsent(stop)) return undefined;
  const sequences: unknown[] = Array.isArray(stop) ? stop : [stop];
  for (const sequence of sequences) {
    if (typeof sequence !== 'string' || sequence.trim() === '') {
      throw new UntranslatableError(
        '/stop',
        'Set `stop` to strings that are not blank: providers of kind anthropic reject blank ones.',
      );
    }
  }
  return sequences.length === 0 ? undefined : (sequences as string[]);
}

function metadataOf(chat: JsonObject): JsonObject | undefined {
  const user = nameOf(chat.user) ?? nameOf(chat.safety_identifier) ?? nameOf(objectOf(chat.metadata).user_id);
  return user === undefined ? undefined : { user_id: user };
}

function streamOf(stream: unknown): boolean | undefined {
  if (isAbsent(stream)) return undefined;
  if (typeof stream !== 'boolean') throw new UntranslatableError('/stream', 'Set `stream` to true or false.');
  return stream;
}

function outputConfigOf(chat: JsonObject): JsonObject | undefined {
  const own = isObject(chat.output_config) ? chat.output_config : undefined;
  const format = objectOf(chat.response_format);
  if (isAbsent(chat.response_format) || format.type === 'text' || format.type === 'json_object') return own;
  if (format.type !== 'json_schema') {
    throw new UntranslatableError(
      '/response_format/type',
      'Set the type of `response_format` to text, json_object or json_schema.',
    );
  }
  const { schema } = objectOf(format.json_schema);
  if (!isObject(schema)) {
    throw new UntranslatableError('/response_format/json_schema/schema', 'Set `schema` to a JSON Schema.');
  }
  return { ...own, format: { type: 'json_schema', schema } };
}

/**
 * Returns the budget for thinking. The effort is only a hint, so it is ignored where Anthropic would reject the request: with a
 * temperature, with a forced tool, and within a tool loop, because chat messages do not contain the earlier thinking. At most
 * half of `max_tokens` is for thinking, because the answer needs the rest.
 */
function thinkingOf(chat: JsonObject, request: JsonObject, { messages }: Turns): JsonObject | undefined {
  if (isObject(chat.thinking)) return chat.thinking;
  const requested = THINKING_TOKENS.get(chat.reasoning_effort);
  if (requested === undefined || isSampled(request) || isForced(request)) return undefined;
  const last = messages.at(-1);
  if (last?.role !== 'user' || last.content.some(({ type }) => type === 'tool_result')) return undefined;
  const budget = Math.min(requested, Math.floor((request.max_tokens as number) / 2));
  return budget < MIN_THINKING_TOKENS ? undefined : { type: 'enabled', budget_tokens: budget };
}

function isSampled({ temperature, top_p: topP, top_k: topK }: JsonObject): boolean {
  return (numberOf(temperature) ?? 1) !== 1 || (numberOf(topP) ?? 1) < 0.95 || topK !== undefined;
}

function isForced({ tool_choice: choice }: JsonObject): boolean {
  const { type } = objectOf(choice);
  return type === 'any' || type === 'tool';
}

function toolOf(tool: JsonObject, at: string): JsonObject {
  if (tool.type !== 'function') {
    throw new UntranslatableError(
      `${at}/type`,
      'Use a tool of type function: the gateway translates no other tools for providers of kind anthropic.',
    );
  }
  const definition = objectOf(tool.function);
  const name = nameOf(definition.name);
  if (name === undefined) throw new UntranslatableError(`${at}/function/name`, 'Give the function a name.');
  if (!isAbsent(definition.parameters) && !isObject(definition.parameters)) {
    throw new UntranslatableError(`${at}/function/parameters`, 'Set `parameters` to a JSON Schema.');
  }
  return withoutUndefined({
    name,
    description: textOf(definition.description),
    input_schema: schemaOf(definition.parameters),
    strict: definition.strict === true ? true : undefined,
    ...cacheControlOf(tool),
  });
}

/** Returns a schema of type object, which Anthropic requires. OpenAI allows functions without parameters. */
function schemaOf(parameters: JsonObject | null | undefined): JsonObject {
  if (isAbsent(parameters)) return { type: 'object', properties: {} };
  return isAbsent(parameters.type) ? { ...parameters, type: 'object' } : parameters;
}

/**
 * Translates `tool_choice` and `parallel_tool_calls`, which Anthropic combines in one member.
 *
 * @returns undefined if the defaults apply, or if there are no tools to choose from
 */
function toolChoiceOf(chat: JsonObject, hasTools: boolean): JsonObject | undefined {
  const choice = choiceOf(chat.tool_choice);
  const isSerial = chat.parallel_tool_calls === false;
  if (!hasTools && (choice === undefined || choice.type === 'auto' || choice.type === 'none')) {
    return undefined;
  }
  if (!isSerial || choice?.type === 'none') return choice;
  return { ...(choice ?? { type: 'auto' }), disable_parallel_tool_use: true };
}

function choiceOf(choice: unknown): JsonObject | undefined {
  if (isAbsent(choice)) return undefined;
  if (choice === 'auto' || choice === 'none') return { type: choice };
  if (choice === 'required') return { type: 'any' };
  const name = nameOf(objectOf(objectOf(choice).function).name);
  if (objectOf(choice).type === 'function' && name !== undefined) return { type: 'tool', name };
  throw new UntranslatableError(
    '/tool_choice',
    'Set `tool_choice` to auto, none, required or one function: providers of kind anthropic support no others.',
  );
}
