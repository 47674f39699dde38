import { ChatMessageList, contentOfParts, textAndImages } from './chat-message.list';
import { isAbsent, isObject, type JsonObject, nameOf, objectOf } from './json-shape';
import { toolArgumentsOf } from './tool-input';
import { requiredText, UntranslatableError } from './request-members';

/**
 * Translates the system prompt and the turns of a Messages request to chat messages.
 *
 * @throws UntranslatableError for malformed turns, or turns with blocks that OpenAI does not accept
 */
export function chatMessagesOf(system: unknown, turns: unknown): JsonObject[] {
  if (!Array.isArray(turns))
    throw new UntranslatableError('/messages', 'Set `messages` to an array of messages.');
  const list = new ChatMessageList();
  if (!hasNoContent(system)) addSystem(list, system, '/system');
  for (const [index, turn] of turns.entries()) {
    const at = `/messages/${index}`;
    if (!isObject(turn)) throw new UntranslatableError(at, 'Set each message to an object with a `role`.');
    addTurn(list, turn, at);
  }
  return list.end();
}

function addTurn(list: ChatMessageList, turn: JsonObject, at: string): void {
  if (turn.role === 'user') return addUser(list, blockListOf(turn.content, `${at}/content`), `${at}/content`);
  if (turn.role === 'assistant') {
    return addAssistant(list, blockListOf(turn.content, `${at}/content`), `${at}/content`);
  }
  if (turn.role === 'system') return addSystem(list, turn.content, `${at}/content`);
  throw new UntranslatableError(`${at}/role`, 'Set `role` to user or assistant.');
}

function addSystem(list: ChatMessageList, content: unknown, at: string): void {
  const texts = blockListOf(content, at).map((block, index) => textOfBlock(block, `${at}/${index}`));
  if (texts.length > 0) list.add({ role: 'system', content: texts.join('\n\n') });
}

/** Adds the results before the rest of the turn, because OpenAI requires them right after the calls. */
function addUser(list: ChatMessageList, blocks: readonly JsonObject[], at: string): void {
  const parts: JsonObject[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'tool_result') addResult(list, block, `${at}/${index}`);
    else parts.push(partOf(block, `${at}/${index}`));
  }
  if (parts.length > 0) list.add({ role: 'user', content: contentOfParts(parts) });
}

/** Adds a result. OpenAI has no flag for errors, so the text starts with `Error:`. */
function addResult(list: ChatMessageList, block: JsonObject, at: string): void {
  const id = nameOf(block.tool_use_id);
  if (id === undefined) {
    throw new UntranslatableError(
      `${at}/tool_use_id`,
      'Set `tool_use_id` to the id of the call that this block answers.',
    );
  }
  const blocks = hasNoContent(block.content) ? [] : blockListOf(block.content, `${at}/content`);
  const parts = blocks.map((part, index) => partOf(part, `${at}/content/${index}`));
  const [text, images] = textAndImages(parts, '\n');
  list.addResult(id, block.is_error === true ? `Error: ${text}` : text, images);
}

function addAssistant(list: ChatMessageList, blocks: readonly JsonObject[], at: string): void {
  const texts: string[] = [];
  const calls: JsonObject[] = [];
  for (const [index, block] of blocks.entries()) {
    if (block.type === 'thinking' || block.type === 'redacted_thinking') continue;
    if (block.type === 'tool_use') calls.push(callOf(block, `${at}/${index}`));
    else if (block.type === 'text') texts.push(textOfBlock(block, `${at}/${index}`));
    else {
      throw new UntranslatableError(
        `${at}/${index}/type`,
        'Remove this block: providers of kind openai accept only text and tool_use blocks in assistant messages.',
      );
    }
  }
  if (texts.length === 0 && calls.length === 0) return;
  list.add({
    role: 'assistant',
    content: texts.length === 0 ? null : texts.join(''),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  });
}

function callOf(block: JsonObject, at: string): JsonObject {
  const id = nameOf(block.id);
  const name = nameOf(block.name);
  const isInput = isAbsent(block.input) || isObject(block.input);
  const text = isInput ? toolArgumentsOf(block.input) : undefined;
  if (id === undefined || name === undefined || text === undefined) {
    throw new UntranslatableError(at, 'Set each call to a block with `id`, `name` and an object as `input`.');
  }
  return { id, type: 'function', function: { name, arguments: text } };
}

/**
 * Returns Anthropic's content as an array of blocks. A string becomes one block.
 *
 * @param at the JSON Pointer of the content
 */
function blockListOf(content: unknown, at: string): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) {
    throw new UntranslatableError(at, 'Set `content` to a string or an array of blocks.');
  }
  for (const [index, block] of content.entries()) {
    if (!isObject(block)) {
      throw new UntranslatableError(`${at}/${index}`, 'Set each block to an object with a `type`.');
    }
  }
  return content as JsonObject[];
}

/** Translates a text, an image or a plain text document to a part of a chat message. */
function partOf(block: JsonObject, at: string): JsonObject {
  if (block.type === 'text') return { type: 'text', text: requiredText(block, 'text', at) };
  if (block.type === 'image') return { type: 'image_url', image_url: { url: imageUrlOf(block, at) } };
  const source = objectOf(block.source);
  if (block.type === 'document' && source.type === 'text') {
    return { type: 'text', text: requiredText(source, 'data', `${at}/source`) };
  }
  if (block.type === 'document') {
    throw new UntranslatableError(
      `${at}/source/type`,
      'Send the document as text: providers of kind openai accept no other documents here.',
    );
  }
  throw new UntranslatableError(
    `${at}/type`,
    'Remove this block: providers of kind openai do not support such content here.',
  );
}

/** Returns the text of a block, which must be a text block. */
function textOfBlock(block: JsonObject, at: string): string {
  if (block.type === 'text') return requiredText(block, 'text', at);
  throw new UntranslatableError(`${at}/type`, 'Use only blocks of type text: no others are accepted here.');
}

function imageUrlOf(block: JsonObject, at: string): string {
  const { type, url, media_type: mediaType, data } = objectOf(block.source);
  if (type === 'url' && nameOf(url) !== undefined) return url as string;
  if (type === 'base64' && nameOf(mediaType) !== undefined && typeof data === 'string') {
    return `data:${mediaType as string};base64,${data}`;
  }
  throw new UntranslatableError(
    `${at}/source`,
    'Set `source` to a URL, or to base64 data with a media type: providers of kind openai accept no other image.',
  );
}

/** Returns whether content is absent or empty, which Anthropic allows. */
function hasNoContent(content: unknown): boolean {
  return isAbsent(content) || content === '';
}
