import { ChatMessageList, contentOfParts, textAndImages } from './chat-message.list';
import { isAbsent, isObject, type JsonObject, nameOf, textOf, withoutUndefined } from './json-shape';
import { requiredText, UntranslatableError } from './request-members';

const TEXT_TYPES: readonly unknown[] = ['input_text', 'output_text', 'text'];

/**
 * Translates the instructions and the input of a Responses request to chat messages. Drops reasoning, because only the provider
 * that created it can read it.
 *
 * @throws UntranslatableError for items that are malformed or that only OpenAI's own service can process
 */
export function chatMessagesOfInput(instructions: unknown, input: unknown): JsonObject[] {
  const list = new ChatMessageList();
  if (!isAbsent(instructions)) list.add({ role: 'system', content: instructionsOf(instructions) });
  if (typeof input === 'string') {
    list.add({ role: 'user', content: input });
    return list.end();
  }
  if (!Array.isArray(input))
    throw new UntranslatableError('/input', 'Set `input` to a string or an array of items.');
  for (const [index, item] of input.entries()) {
    const at = `/input/${index}`;
    if (!isObject(item)) throw new UntranslatableError(at, 'Set each item to an object with a `type`.');
    addItem(list, item, at);
  }
  return list.end();
}

function instructionsOf(instructions: unknown): string {
  if (typeof instructions === 'string') return instructions;
  throw new UntranslatableError('/instructions', 'Set `instructions` to a string.');
}

function addItem(list: ChatMessageList, item: JsonObject, at: string): void {
  switch (item.type ?? (isAbsent(item.role) ? 'item_reference' : 'message')) {
    case 'message':
      return addMessage(list, item, at);
    case 'function_call':
      return list.addCall(callOf(item, at));
    case 'function_call_output':
      return addOutput(list, item, at);
    case 'reasoning':
      return;
    case 'item_reference':
      throw new UntranslatableError(
        at,
        'Send the whole item instead of a reference: this provider does not store items of earlier responses.',
      );
    default:
      throw new UntranslatableError(
        `${at}/type`,
        'Remove this item: with this provider, items are messages, function calls and their outputs.',
      );
  }
}

function addMessage(list: ChatMessageList, item: JsonObject, at: string): void {
  const pointer = `${at}/content`;
  switch (item.role) {
    case 'user':
      return list.add({ role: 'user', content: contentOfParts(partsOf(item.content, pointer)) });
    case 'system':
    case 'developer': // Few servers other than OpenAI know this role.
      return list.add({ role: 'system', content: textsOf(item.content, pointer, '\n\n') });
    case 'assistant':
      return addAnswer(list, textsOf(item.content, pointer, ''));
    default:
      throw new UntranslatableError(`${at}/role`, 'Set `role` to user, assistant, system or developer.');
  }
}

function addAnswer(list: ChatMessageList, text: string): void {
  if (text !== '') list.add({ role: 'assistant', content: text });
}

function textsOf(content: unknown, at: string, separator: string): string {
  const [text, others] = textAndImages(partsOf(content, at), separator);
  if (others.length === 0) return text;
  throw new UntranslatableError(at, 'Use only parts of type text: images and files belong in user messages.');
}

function partsOf(content: unknown, at: string): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) {
    throw new UntranslatableError(at, 'Set this member to a string or an array of parts.');
  }
  return content.map((part, index) => partOf(part, `${at}/${index}`));
}

function partOf(part: unknown, at: string): JsonObject {
  if (!isObject(part)) throw new UntranslatableError(at, 'Set each part to an object with a `type`.');
  if (TEXT_TYPES.includes(part.type)) return { type: 'text', text: requiredText(part, 'text', at) };
  if (part.type === 'refusal') return { type: 'text', text: requiredText(part, 'refusal', at) };
  if (part.type === 'input_image') return imageOf(part, at);
  if (part.type === 'input_file') return fileOf(part, at);
  throw new UntranslatableError(
    `${at}/type`,
    'Remove this part: with this provider, parts are input_text, input_image and input_file.',
  );
}

function imageOf(part: JsonObject, at: string): JsonObject {
  const url = nameOf(part.image_url);
  if (url === undefined) {
    throw new UntranslatableError(
      `${at}/image_url`,
      'Set `image_url` to a URL or a data URL: this provider has no uploaded files.',
    );
  }
  return { type: 'image_url', image_url: withoutUndefined({ url, detail: textOf(part.detail) }) };
}

function fileOf(part: JsonObject, at: string): JsonObject {
  const data = nameOf(part.file_data);
  if (data === undefined) {
    throw new UntranslatableError(
      `${at}/file_data`,
      'Set `file_data` to a data URL: this provider has no uploaded files, and does not download files.',
    );
  }
  return { type: 'file', file: withoutUndefined({ filename: textOf(part.filename), file_data: data }) };
}

function callOf(item: JsonObject, at: string): JsonObject {
  const id = nameOf(item.call_id);
  const name = nameOf(item.name);
  if (id === undefined || name === undefined || typeof item.arguments !== 'string') {
    throw new UntranslatableError(at, 'Set `call_id`, `name` and `arguments` of the call to strings.');
  }
  return { id, type: 'function', function: { name, arguments: item.arguments } };
}

function addOutput(list: ChatMessageList, item: JsonObject, at: string): void {
  const id = nameOf(item.call_id);
  if (id === undefined) {
    throw new UntranslatableError(
      `${at}/call_id`,
      'Set `call_id` to the id of the call that this item answers.',
    );
  }
  const [text, images] = textAndImages(partsOf(item.output, `${at}/output`), '\n');
  list.addResult(id, text, images);
}
