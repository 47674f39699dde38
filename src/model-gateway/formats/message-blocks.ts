import { isAbsent, isObject, type JsonObject, nameOf, objectOf } from './json-shape';
import { UntranslatableError } from './untranslatable.error';

/**
 * Returns Anthropic's content as an array of blocks. A string becomes one block.
 *
 * @param at the JSON Pointer of the content
 */
export function blockListOf(content: unknown, at: string): JsonObject[] {
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
    'Remove this block: providers of kind openai do not support such content here.',
  );
}

/** Returns the text of a block, which must be a text block. */
export function textOfBlock(block: JsonObject, at: string): string {
  if (block.type === 'text') return textMember(block, 'text', at);
  throw new UntranslatableError(`${at}/type`, 'Use only blocks of type text: no others are accepted here.');
}

function textMember(object: JsonObject, member: string, at: string): string {
  const text = object[member];
  if (typeof text === 'string') return text;
  throw new UntranslatableError(`${at}/${member}`, `Set \`${member}\` to a string.`);
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
export function hasNoContent(content: unknown): boolean {
  return isAbsent(content) || content === '';
}
