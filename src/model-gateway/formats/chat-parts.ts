import { isAbsent, isObject, type JsonObject, nameOf, objectOf, withoutUndefined } from './json-shape';
import { requiredText, UntranslatableError } from './request-members';

const PDF = 'application/pdf';

/** The kinds of parts that a message may have, depending on its role. */
export type PartKind = 'text' | 'image_url' | 'file' | 'refusal';

/**
 * Translates the content of a chat message to Anthropic's content blocks. Leaves out blank texts, because Anthropic rejects them.
 *
 * @param at the JSON Pointer of the content
 * @param kinds the parts that Anthropic accepts here
 */
export function blocksOf(content: unknown, at: string, kinds: readonly PartKind[]): JsonObject[] {
  if (isAbsent(content)) return [];
  if (typeof content === 'string') return textBlocks(content);
  if (!Array.isArray(content)) {
    throw new UntranslatableError(at, 'Set `content` to a string or an array of parts.');
  }
  return content.flatMap((part, index) => blocksOfPart(part, `${at}/${index}`, kinds));
}

/** Returns the block of a text, or none for a blank text. */
export function textBlocks(text: string, source?: JsonObject): JsonObject[] {
  return text.trim() === '' ? [] : [{ type: 'text', text, ...cacheControlOf(source) }];
}

/** Returns the member `cache_control` that clients of Anthropic's models add to parts and tools. OpenAI does not have it. */
export function cacheControlOf(source: JsonObject | undefined): JsonObject {
  return isObject(source?.cache_control) ? { cache_control: source.cache_control } : {};
}

function blocksOfPart(part: unknown, at: string, kinds: readonly PartKind[]): JsonObject[] {
  if (!isObject(part)) throw new UntranslatableError(at, 'Set each part to an object with a `type`.');
  if (!(kinds as readonly unknown[]).includes(part.type)) {
    throw new UntranslatableError(
      `${at}/type`,
      `Remove this part: providers of kind anthropic accept only ${kinds.join(', ')} here.`,
    );
  }
  if (part.type === 'image_url') return [{ ...imageOf(part, at), ...cacheControlOf(part) }];
  if (part.type === 'file') return [{ ...documentOf(part, at), ...cacheControlOf(part) }];
  return textBlocks(requiredText(part, part.type === 'refusal' ? 'refusal' : 'text', at), part);
}

function imageOf(part: JsonObject, at: string): JsonObject {
  const url = nameOf(objectOf(part.image_url).url);
  const pointer = `${at}/image_url/url`;
  if (url === undefined) throw new UntranslatableError(pointer, 'Set `url` to the URL of an image.');
  if (/^https?:/i.test(url)) return { type: 'image', source: { type: 'url', url } };
  const data = dataOf(url);
  if (data === undefined) {
    throw new UntranslatableError(
      pointer,
      'Set `url` to an https URL, or to a data URL with a media type and base64 data.',
    );
  }
  return { type: 'image', source: data };
}

function documentOf(part: JsonObject, at: string): JsonObject {
  const { file_data: url, filename } = objectOf(part.file);
  const data = dataOf(nameOf(url) ?? '');
  if (data?.media_type !== PDF) {
    throw new UntranslatableError(
      `${at}/file/file_data`,
      'Set `file_data` to a data URL with a PDF in base64: providers of kind anthropic accept no other files here.',
    );
  }
  return withoutUndefined({ type: 'document', source: data, title: nameOf(filename) });
}

/** Reads a data URL (RFC 2397) with base64 data and a media type. Returns undefined for any other URL. */
function dataOf(url: string): JsonObject | undefined {
  const comma = url.indexOf(',');
  const [mediaType = '', ...options] = url.slice(0, Math.max(comma, 0)).split(';');
  if (!/^data:./i.test(mediaType) || options.at(-1)?.toLowerCase() !== 'base64') return undefined;
  return {
    type: 'base64',
    media_type: mediaType.slice('data:'.length).toLowerCase(),
    data: url.slice(comma + 1),
  };
}
