import { isObject, type JsonObject, listOf, objectOf, textOf } from './json-shape';

/** Approximate bytes of JSON per token. */
const BYTES_PER_TOKEN = 4;
/** Approximate characters of a base64 document per token. */
const DOCUMENT_CHARACTERS_PER_TOKEN = 40;
/** The tokens of an image of about one megapixel. */
const IMAGE_TOKENS = 1_600;

/**
 * Estimates the input tokens of a Messages request: images and documents separately, and all else by its size.
 *
 * @param bytes the size of the request
 */
export function estimatedInputTokens({ messages }: JsonObject, bytes: number): number {
  let tokens = 0;
  let textBytes = bytes;
  const addFiles = (content: unknown): void => {
    for (const block of listOf(content)) {
      if (!isObject(block)) continue;
      const { type, data } = objectOf(block.source);
      const fileBytes = type === 'base64' ? (textOf(data)?.length ?? 0) : 0;
      if (block.type === 'image') tokens += IMAGE_TOKENS;
      else if (block.type === 'document') tokens += fileBytes / DOCUMENT_CHARACTERS_PER_TOKEN;
      else continue;
      textBytes -= fileBytes;
    }
  };
  for (const message of listOf(messages)) {
    const { content } = objectOf(message);
    addFiles(content);
    // results of tools have blocks of their own
    for (const block of listOf(content)) addFiles(objectOf(block).content);
  }
  return Math.ceil(tokens + Math.max(textBytes, 0) / BYTES_PER_TOKEN);
}
