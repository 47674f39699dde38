import { toJsonText } from './content.js';

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const isText = (value: unknown): value is string => typeof value === 'string';

/** Returns the model and the messages of a call, in OpenAI's or Anthropic's form, if an argument has them. */
export function requestAttributes(args: readonly unknown[]): Record<string, string> {
  const request = args.find((arg): arg is Json => isObject(arg) && isText(arg.model));
  if (!request) return {};
  return {
    'gen_ai.request.model': request.model as string,
    ...(Array.isArray(request.messages) && { 'gen_ai.input.messages': toJsonText(request.messages) }),
    ...(isText(request.system) && {
      'gen_ai.system_instructions': toJsonText([{ type: 'text', content: request.system }]),
    }),
  };
}

/** Returns the model, the usage and the messages of an answer of OpenAI's or Anthropic's API, as far as it has them. */
export function responseAttributes(response: unknown): Record<string, string | number> {
  if (!isObject(response)) return {};
  const { model, choices, role, content } = response;
  return {
    ...(isText(model) && { 'gen_ai.response.model': model }),
    ...(isObject(response.usage) && usageAttributes(response.usage)),
    ...(Array.isArray(choices) && { 'gen_ai.output.messages': toJsonText(messagesOfChoices(choices)) }),
    ...(role === 'assistant' && { 'gen_ai.output.messages': toJsonText([{ role, content }]) }),
  };
}

/** Returns the messages in the choices of a chat completion. */
export const messagesOfChoices = (choices: unknown[]): Json[] =>
  choices.filter(isObject).map(({ message, ...choice }) => (isObject(message) ? message : choice));

/** Returns the attributes of a usage in the form of OpenAI's APIs, of Anthropic or of the OpenAI Agents SDK. */
export function usageAttributes(usage: Json): Record<string, number> {
  const details = (...names: string[]): Json =>
    names.map((name) => usage[name]).find((value) => isObject(value)) ?? {};
  const input = details('prompt_tokens_details', 'input_tokens_details');
  const output = details('completion_tokens_details', 'output_tokens_details');
  const values = {
    'gen_ai.usage.input_tokens': usage.input_tokens ?? usage.prompt_tokens,
    'gen_ai.usage.output_tokens': usage.output_tokens ?? usage.completion_tokens,
    'gen_ai.usage.cache_read.input_tokens': input.cached_tokens ?? usage.cache_read_input_tokens,
    'gen_ai.usage.cache_write.input_tokens': usage.cache_creation_input_tokens,
    'gen_ai.usage.reasoning.output_tokens': output.reasoning_tokens,
  };
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}
