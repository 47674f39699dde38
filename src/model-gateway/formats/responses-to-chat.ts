import {
  isAbsent,
  isObject,
  type JsonObject,
  nameOf,
  objectOf,
  textOf,
  withoutUndefined,
} from './json-shape';
import { chatMessagesOfInput } from './response-items';
import {
  checkSupported,
  optionalNumber,
  toolsOf,
  type UnsupportedMember,
  UntranslatableError,
} from './request-members';

/** Members that need a provider with state or with its own tools. */
const UNSUPPORTED: readonly UnsupportedMember[] = [
  [
    'previous_response_id',
    () => true,
    'Remove `previous_response_id`, and send the whole conversation as `input`: this provider does not store responses.',
  ],
  [
    'conversation',
    () => true,
    'Remove `conversation`, and send its items as `input`: this provider does not store conversations.',
  ],
  [
    'background',
    (background) => background !== false,
    'Remove `background`: this provider only responds while the client waits.',
  ],
  [
    'prompt',
    () => true,
    'Remove `prompt`, and send its text as `input`: this provider does not store prompts.',
  ],
  [
    'top_logprobs',
    (count) => count !== 0,
    'Remove `top_logprobs`: the gateway does not translate probabilities.',
  ],
];

/**
 * Translates a request of OpenAI's Responses API to a request for a chat completion. Ignores `store` and unknown members.
 *
 * @throws UntranslatableError for members that only a provider with this API supports or that are malformed
 */
export function responsesToChatRequest(request: JsonObject): JsonObject {
  checkSupported(request, UNSUPPORTED);
  return withoutUndefined({
    model: request.model,
    messages: chatMessagesOfInput(request.instructions, request.input),
    max_completion_tokens: optionalNumber(request, 'max_output_tokens'),
    temperature: optionalNumber(request, 'temperature'),
    top_p: optionalNumber(request, 'top_p'),
    tools: toolsOf(request.tools, toolOf),
    tool_choice: toolChoiceOf(request.tool_choice),
    parallel_tool_calls: booleanOf(request.parallel_tool_calls),
    reasoning_effort: nameOf(objectOf(request.reasoning).effort),
    response_format: responseFormatOf(request.text),
    verbosity: nameOf(objectOf(request.text).verbosity),
    metadata: isObject(request.metadata) ? request.metadata : undefined,
    user: nameOf(request.user),
    safety_identifier: nameOf(request.safety_identifier),
    prompt_cache_key: nameOf(request.prompt_cache_key),
    stream: booleanOf(request.stream),
    // The last event of a stream reports the usage.
    stream_options: request.stream === true ? { include_usage: true } : undefined,
  });
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

function toolOf(tool: JsonObject, at: string): JsonObject {
  if (tool.type !== 'function') {
    throw new UntranslatableError(
      `${at}/type`,
      'Remove this tool, or use a model whose provider runs it. This provider only supports tools of type function.',
    );
  }
  const name = nameOf(tool.name);
  if (name === undefined) throw new UntranslatableError(`${at}/name`, 'Give the function a name.');
  if (!isAbsent(tool.parameters) && !isObject(tool.parameters)) {
    throw new UntranslatableError(`${at}/parameters`, 'Set `parameters` to a JSON Schema.');
  }
  return {
    type: 'function',
    function: withoutUndefined({
      name,
      description: textOf(tool.description),
      parameters: tool.parameters ?? undefined,
      strict: booleanOf(tool.strict),
    }),
  };
}

function toolChoiceOf(choice: unknown): unknown {
  if (isAbsent(choice)) return undefined;
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice;
  const { type, name } = objectOf(choice);
  if (type === 'function' && nameOf(name) !== undefined) return { type: 'function', function: { name } };
  throw new UntranslatableError(
    '/tool_choice',
    'Set `tool_choice` to auto, none, required or one function: this provider supports no others.',
  );
}

function responseFormatOf(text: unknown): JsonObject | undefined {
  const { format } = objectOf(text);
  if (isAbsent(format)) return undefined;
  const { type, name, description, schema, strict } = objectOf(format);
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type: 'json_object' };
  if (type !== 'json_schema' || !isObject(schema)) {
    throw new UntranslatableError(
      '/text/format',
      'Set the type of `format` to text, json_object or json_schema, and for json_schema also its `schema`.',
    );
  }
  return {
    type: 'json_schema',
    json_schema: withoutUndefined({
      name: nameOf(name) ?? 'answer',
      description: textOf(description),
      schema,
      strict: booleanOf(strict),
    }),
  };
}
