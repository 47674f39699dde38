import { isAbsent, isObject, type JsonObject, nameOf, objectOf } from './json-shape';
import { UntranslatableError } from './untranslatable.error';

/**
 * Returns content of Anthropic as a list of blocks. A text is one block.
 *
 * @param at the JSON pointer of the content
 */
export function blockListOf(content: unknown, at: string): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) {
    throw new UntranslatableError(at, 'Set `content` to a text or to a list of blocks.');
  }
  for (const [index, block] of content.entries()) {
    if (!isObject(block)) {
      throw new UntranslatableError(`${at}/${index}`, 'Set each block to an object with a `type`.');
    }
  }
  return content as JsonObject[];
}

/** Translates a text, an image or a plain text document to a part of a chat message. */
export function partOf(block: JsonObject, at: string): JsonObject {
  if (block.type === 'text') return { type: 'text', text: textMember(block, 'text', at) };
  if (block.type === 'image') return { type: 'image_url', image_url: { url: imageUrlOf(block, at) } };
  const source = objectOf(block.source);
  if (block.type === 'document' && source.type === 'text') {
    return { type: 'text', text: textMember(source, 'data', `${at}/source`) };
  }
  if (block.type === 'document') {
    throw new UntranslatableError(
      `${at}/source/type`,
      'Send the document as text: providers of kind openai accept no other documents here.',
    );
  }
  throw new UntranslatableError(
    `${at}/type`,
    'Remove this block: providers of kind openai have no such content in this place.',
  );
}

/** Translates a block that must be a text. */
export function textOfBlock(block: JsonObject, at: string): string {
  if (block.type === 'text') return textMember(block, 'text', at);
  throw new UntranslatableError(`${at}/type`, 'Use blocks of type text only: here nothing else is accepted.');
}

function textMember(object: JsonObject, member: string, at: string): string {
  const text = object[member];
  if (typeof text === 'string') return text;
  throw new UntranslatableError(`${at}/${member}`, `Set \`${member}\` to a text.`);
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

/** Returns true for a content that Anthropic lets clients leave out. */
export function hasNoContent(content: unknown): boolean {
  return isAbsent(content) || content === '';
}
