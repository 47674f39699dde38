import { cacheControlOf } from './chat-parts';
import {
  isAbsent,
  isObject,
  type JsonObject,
  nameOf,
  objectOf,
  textOf,
  withoutUndefined,
} from './json-shape';
import { UntranslatableError } from './untranslatable.error';

/** Translates the tools of a chat request. Returns undefined if there are none. */
export function messagesToolsOf(tools: unknown): JsonObject[] | undefined {
  if (isAbsent(tools)) return undefined;
  if (!Array.isArray(tools)) throw new UntranslatableError('/tools', 'Set `tools` to an array of tools.');
  if (tools.length === 0) return undefined;
  return tools.map((tool, index) => toolOf(objectOf(tool), `/tools/${index}`));
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
export function messagesToolChoiceOf(chat: JsonObject, hasTools: boolean): JsonObject | undefined {
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
