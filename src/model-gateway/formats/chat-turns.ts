import { blocksOf, textBlocks } from './chat-parts';
import { toolUseId } from './foreign-id';
import { isAbsent, isObject, type JsonObject, listOf, nameOf, objectOf } from './json-shape';
import { toolInputOf } from './tool-input';
import { UntranslatableError } from './request-members';

/** A turn in Anthropic's format. Roles alternate, and tool results are blocks of user turns. */
interface Turn {
  role: 'user' | 'assistant';
  content: JsonObject[];
}

export interface Turns {
  /** The blocks of all system and developer messages, regardless of their position. */
  system: JsonObject[];
  messages: Turn[];
}

/**
 * Translates the messages of a chat request to turns. Leaves out messages without content.
 *
 * @throws UntranslatableError for malformed messages, or messages with parts that Anthropic does not accept
 */
export function turnsOf(messages: unknown): Turns {
  if (!Array.isArray(messages)) {
    throw new UntranslatableError('/messages', 'Set `messages` to an array of messages.');
  }
  const turns: Turns = { system: [], messages: [] };
  for (const [index, message] of messages.entries()) {
    const at = `/messages/${index}`;
    if (!isObject(message)) throw new UntranslatableError(at, 'Set each message to an object with a `role`.');
    add(turns, message, at);
  }
  if (turns.messages.length === 0) {
    throw new UntranslatableError('/messages', 'Add a user message with content.');
  }
  for (const turn of turns.messages) {
    turn.content = resultsFirst(turn.content);
  }
  return turns;
}

function add(turns: Turns, message: JsonObject, at: string): void {
  switch (message.role) {
    case 'system':
    case 'developer':
      turns.system.push(...blocksOf(required(message, at), `${at}/content`, ['text']));
      return;
    case 'user':
      return addTurn(
        turns,
        'user',
        blocksOf(required(message, at), `${at}/content`, ['text', 'image_url', 'file']),
      );
    case 'assistant':
      return addTurn(turns, 'assistant', assistantBlocks(message, at));
    case 'tool':
      return addTurn(turns, 'user', [toolResult(message, at)]);
    default:
      throw new UntranslatableError(
        `${at}/role`,
        'Set `role` to system, developer, user, assistant or tool.',
      );
  }
}

function required(message: JsonObject, at: string): unknown {
  if (isAbsent(message.content)) {
    throw new UntranslatableError(`${at}/content`, 'Set `content` to a string or an array of parts.');
  }
  return message.content;
}

function addTurn(turns: Turns, role: Turn['role'], content: JsonObject[]): void {
  const last = turns.messages.at(-1);
  if (content.length === 0) return;
  if (last?.role === role) last.content.push(...content);
  else turns.messages.push({ role, content });
}

/** Moves the results of a turn before its other blocks, as Anthropic requires. */
function resultsFirst(content: JsonObject[]): JsonObject[] {
  const results = content.filter(({ type }) => type === 'tool_result');
  if (results.length === 0) return content;
  return [...results, ...content.filter(({ type }) => type !== 'tool_result')];
}

function assistantBlocks(message: JsonObject, at: string): JsonObject[] {
  if (!isAbsent(message.function_call)) {
    throw new UntranslatableError(`${at}/function_call`, 'Use `tool_calls` instead of `function_call`.');
  }
  if (!isAbsent(message.audio)) {
    throw new UntranslatableError(
      `${at}/audio`,
      'Send the transcript as `content`: providers of kind anthropic accept no audio.',
    );
  }
  if (!isAbsent(message.tool_calls) && !Array.isArray(message.tool_calls)) {
    throw new UntranslatableError(`${at}/tool_calls`, 'Set `tool_calls` to an array of calls.');
  }
  return [
    ...blocksOf(message.content, `${at}/content`, ['text', 'refusal']),
    ...textBlocks(nameOf(message.refusal) ?? ''),
    ...listOf(message.tool_calls).map((call, index) => toolUse(call, `${at}/tool_calls/${index}`)),
  ];
}

function toolUse(value: unknown, at: string): JsonObject {
  const call = objectOf(value);
  if (!isAbsent(call.type) && call.type !== 'function') {
    throw new UntranslatableError(
      `${at}/type`,
      'Use a call of type function: providers of kind anthropic support no others.',
    );
  }
  const { name, arguments: text } = objectOf(call.function);
  if (nameOf(call.id) === undefined || nameOf(name) === undefined || typeof (text ?? '') !== 'string') {
    throw new UntranslatableError(
      at,
      'Set each call to an object with `id`, `function.name` and `function.arguments`.',
    );
  }
  return {
    type: 'tool_use',
    id: toolUseId(call.id as string),
    name,
    input: toolInputOf((text ?? '') as string),
  };
}

function toolResult(message: JsonObject, at: string): JsonObject {
  const id = nameOf(message.tool_call_id);
  if (id === undefined) {
    throw new UntranslatableError(
      `${at}/tool_call_id`,
      'Set `tool_call_id` to the id of the call that this message answers.',
    );
  }
  const content = blocksOf(message.content, `${at}/content`, ['text', 'image_url']);
  return {
    type: 'tool_result',
    tool_use_id: toolUseId(id),
    ...(content.length === 0
      ? {}
      : { content: typeof message.content === 'string' ? message.content : content }),
  };
}
