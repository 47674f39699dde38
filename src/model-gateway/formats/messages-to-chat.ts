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
import { chatMessagesOf } from './message-turns';
import {
  checkSupported,
  optionalNumber,
  toolsOf,
  type UnsupportedMember,
  UntranslatableError,
} from './request-members';

/** Maximum characters of `user` at OpenAI. */
const MAX_USER_LENGTH = 64;

/** Maximum budgets for the efforts low and medium, chosen between the budgets of the opposite translation. */
const LOW_BUDGET = 2048;
const MEDIUM_BUDGET = 8192;

/** Anthropic's levels of effort. OpenAI's have the same names. */
const EFFORTS = new Set<unknown>(['low', 'medium', 'high', 'xhigh', 'max']);

const UNSUPPORTED: readonly UnsupportedMember[] = [
  ['container', () => true, 'Remove `container`: only providers of kind anthropic support containers.'],
  ['mcp_servers', () => true, 'Remove `mcp_servers`: only providers of kind anthropic call MCP servers.'],
];

/**
 * Translates a request for an Anthropic message to a request for a chat completion. Drops unknown members, and members without a
 * counterpart: `top_k`, `cache_control` and the thinking of earlier turns.
 *
 * @throws UntranslatableError for members that a chat completion cannot express or that are malformed
 */
export function toChatRequest(messages: JsonObject): JsonObject {
  checkSupported(messages, UNSUPPORTED);
  const isStream = messages.stream === true;
  return withoutUndefined({
    model: messages.model,
    messages: chatMessagesOf(messages.system, messages.messages),
    max_completion_tokens: optionalNumber(messages, 'max_tokens'),
    temperature: optionalNumber(messages, 'temperature'),
    top_p: optionalNumber(messages, 'top_p'),
    stop: stopOf(messages.stop_sequences),
    tools: toolsOf(messages.tools, toolOf),
    ...toolChoiceOf(messages.tool_choice),
    user: userOf(messages.metadata),
    reasoning_effort: effortOf(messages),
    response_format: responseFormatOf(messages.output_config),
    stream: typeof messages.stream === 'boolean' ? messages.stream : undefined,
    // Anthropic's streams always report the usage.
    stream_options: isStream ? { include_usage: true } : undefined,
  });
}

function stopOf(sequences: unknown): unknown {
  if (isAbsent(sequences)) return undefined;
  if (!Array.isArray(sequences) || sequences.some((sequence) => typeof sequence !== 'string')) {
    throw new UntranslatableError('/stop_sequences', 'Set `stop_sequences` to an array of strings.');
  }
  return sequences.length === 0 ? undefined : sequences;
}

/** Returns the user id unless it is too long, because OpenAI would reject the request. */
function userOf(metadata: unknown): string | undefined {
  const user = nameOf(objectOf(metadata).user_id);
  return user !== undefined && user.length <= MAX_USER_LENGTH ? user : undefined;
}

function toolOf(tool: JsonObject, at: string): JsonObject {
  if (!isAbsent(tool.type) && tool.type !== 'custom') {
    throw new UntranslatableError(
      `${at}/type`,
      'Remove this tool: only providers of kind anthropic run it. Tools of type custom are translated.',
    );
  }
  const name = nameOf(tool.name);
  if (name === undefined) throw new UntranslatableError(`${at}/name`, 'Give the tool a name.');
  if (!isObject(tool.input_schema)) {
    throw new UntranslatableError(`${at}/input_schema`, 'Set `input_schema` to a JSON Schema.');
  }
  return {
    type: 'function',
    function: withoutUndefined({
      name,
      description: textOf(tool.description),
      parameters: tool.input_schema,
      strict: tool.strict === true ? true : undefined,
    }),
  };
}

function toolChoiceOf(choice: unknown): JsonObject {
  if (isAbsent(choice)) return {};
  const { type, name, disable_parallel_tool_use: isSerial } = objectOf(choice);
  const parallel = isSerial === true ? { parallel_tool_calls: false } : {};
  if (type === 'auto') return { tool_choice: 'auto', ...parallel };
  if (type === 'any') return { tool_choice: 'required', ...parallel };
  if (type === 'none') return { tool_choice: 'none' };
  if (type === 'tool' && nameOf(name) !== undefined) {
    return { tool_choice: { type: 'function', function: { name } }, ...parallel };
  }
  throw new UntranslatableError(
    '/tool_choice',
    'Set the type of `tool_choice` to auto, any, none or tool, and for tool also its `name`.',
  );
}

function effortOf(messages: JsonObject): string | undefined {
  const { effort } = objectOf(messages.output_config);
  if (EFFORTS.has(effort)) return textOf(effort);
  const thinking = objectOf(messages.thinking);
  const budget = numberOf(thinking.budget_tokens);
  if (thinking.type !== 'enabled' || budget === undefined) return undefined;
  if (budget <= LOW_BUDGET) return 'low';
  return budget <= MEDIUM_BUDGET ? 'medium' : 'high';
}

/** Uses the strict mode, because Anthropic also guarantees that the answer matches the schema. */
function responseFormatOf(outputConfig: unknown): JsonObject | undefined {
  const { format } = objectOf(outputConfig);
  if (isAbsent(format)) return undefined;
  const { type, schema } = objectOf(format);
  if (type !== 'json_schema' || !isObject(schema)) {
    throw new UntranslatableError(
      '/output_config/format',
      'Set `format` to the type json_schema with a JSON Schema as `schema`.',
    );
  }
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
}
