import { problem } from '#platform/problem';

/** Where a page ended: the sort it belongs to, and the key and id of its last row. Opaque to clients. */
export interface CursorPosition {
  sort: string;
  /** Null where the id is the key. */
  key: string | null;
  id: string;
}

/** As short as its parts: a name of 255 characters of any kind makes 1.2 KB. Sorts and ids hold no line break. */
export function encodeCursor({ sort, key, id }: CursorPosition): string {
  return Buffer.from([sort, id, ...(key === null ? [] : [key])].join('\n')).toString('base64url');
}

/** Reads a cursor that was given out before; anything else is 400 `invalid_query`. */
export function decodeCursor(text: string): CursorPosition {
  const decoded = Buffer.from(text, 'base64url').toString();
  const [sort, id, ...key] = decoded.split('\n');
  const position = { sort: sort!, id: id ?? '', key: key.length > 0 ? key.join('\n') : null };
  if (id === undefined || decoded.includes('\0') || encodeCursor(position) !== text) {
    throw problem.invalidQuery('cursor', 'use the next_cursor of the page before, unchanged');
  }
  return position;
}
