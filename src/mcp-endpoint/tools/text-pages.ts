import { isUtf8 } from 'node:buffer';
import type { JsonSchema } from './tool';

/** The maximum size of a text in a result, in bytes. */
export const TEXT_PAGE_BYTES = 64 * 1024;

/** The maximum size of a character in UTF-8, in bytes. */
const CHARACTER_BYTES = 4;

/** The number of bytes to read for a page, with one more character to see whether the page would split it. */
export const READ_BYTES = TEXT_PAGE_BYTES + CHARACTER_BYTES;

export const OFFSET_INPUT = {
  offset: {
    type: 'integer',
    minimum: 0,
    maximum: 2 ** 40,
    description: 'next_offset of the previous part. Default: the beginning.',
  },
} satisfies Record<string, JsonSchema>;

export const NEXT_OFFSET: JsonSchema = {
  type: ['integer', 'null'],
  description: 'Pass it as offset to read on. Null at the end.',
};

/** A part of a text. */
interface TextPage<Text = string> {
  text: Text;
  next_offset: number | null;
}

/**
 * Returns the page of a text that begins at an offset. The page splits no characters.
 *
 * @param bytes the bytes from the offset on, at most `READ_BYTES`
 * @param size the size of the whole text, in bytes
 */
export function pageOfText(bytes: Buffer, offset: number, size: number): TextPage {
  const { page, next_offset } = pageOf(bytes, offset, size);
  return { text: page.toString('utf8'), next_offset };
}

/** Returns the page of a content that begins at an offset. The text of a binary content is null. */
export function pageOfContent(bytes: Buffer, offset: number, size: number): TextPage<string | null> {
  const { page, next_offset } = pageOf(bytes, offset, size);
  if (!isUtf8(page) || page.includes(0)) return { text: null, next_offset: null };
  return { text: page.toString('utf8'), next_offset };
}

function pageOf(bytes: Buffer, offset: number, size: number): { page: Buffer; next_offset: number | null } {
  const start = offset === 0 ? 0 : characterStart(bytes);
  const end = characterEnd(bytes, Math.min(bytes.length, TEXT_PAGE_BYTES));
  return { page: bytes.subarray(start, end), next_offset: offset + end < size ? offset + end : null };
}

/** Returns the page of a string that begins at an offset in its UTF-8 bytes. */
export function pageOfString(text: string, offset: number): TextPage {
  // most texts fit on one page and need no copy
  if (offset === 0 && text.length * 3 <= TEXT_PAGE_BYTES) return { text, next_offset: null };
  const bytes = Buffer.from(text);
  return pageOfText(bytes.subarray(offset, offset + READ_BYTES), offset, bytes.length);
}

/** Returns the start of the first whole character. */
function characterStart(bytes: Buffer): number {
  let at = 0;
  while (at < CHARACTER_BYTES - 1 && isContinuation(bytes[at])) at++;
  return at;
}

/** Returns an end that does not split a character. */
function characterEnd(bytes: Buffer, end: number): number {
  let at = end;
  while (at > 0 && end - at < CHARACTER_BYTES - 1 && isContinuation(bytes[at])) at--;
  return at;
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
