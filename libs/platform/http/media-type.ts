import type { IncomingMessage } from 'node:http';
import { Problem } from '#platform/problem';

/** The media type of a request's body in lower case, without parameters; undefined where none is named. */
export const mediaTypeOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined =>
  headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();

/** US-ASCII is UTF-8, too. */
const CHARSETS = new Set(['utf-8', 'utf8', 'us-ascii']);

/** 415 for text that is not UTF-8 by its own account. @param contentType of a body, or of a part of one; as sent */
export function checkCharset(contentType: string): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType)?.[1]?.toLowerCase();
  if (charset === undefined || CHARSETS.has(charset)) return;
  throw new Problem('unsupported_media_type', 'Send text in UTF-8.');
}
