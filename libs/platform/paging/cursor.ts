import { problem } from '#platform/problem';

/** The end of a page: its sort, and the key and id of its last row. Opaque to clients. */
export interface CursorPosition {
  sort: string;
  /** Null if the id is the key. */
  key: string | null;
  id: string;
}

/** Encodes a position. A name of 255 characters takes up to 1.2 KB. Sorts and ids have no line breaks. */
export function encodeCursor({ sort, key, id }: CursorPosition): string {
  return Buffer.from([sort, id, ...(key === null ? [] : [key])].join('\n')).toString('base64url');
}

/** Decodes a cursor of this service. Throws 400 `invalid_query` for anything else. */
export function decodeCursor(text: string): CursorPosition {
  const decoded = Buffer.from(text, 'base64url').toString();
  const [sort, id, ...key] = decoded.split('\n');
  const position = { sort: sort!, id: id ?? '', key: key.length > 0 ? key.join('\n') : null };
  if (id === undefined || decoded.includes('\0') || encodeCursor(position) !== text) {
    throw problem.invalidQuery('cursor', 'must be the next_cursor of the previous page, unchanged');
  }
  return position;
}
