import { problem } from '#platform/problem';

/** Where a page ended: the sort it belongs to, and the key and id of its last row. Opaque to clients. */
export interface CursorPosition {
  sort: string;
  key: string | number | null;
  id: string;
}

export function encodeCursor({ sort, key, id }: CursorPosition): string {
  return Buffer.from(JSON.stringify([sort, key, id])).toString('base64url');
}

/** Reads a cursor that was given out before; anything else is 400 `invalid_query`. */
export function decodeCursor(text: string): CursorPosition {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (Array.isArray(parts) && parts.length === 3) {
      const [sort, key, id] = parts as unknown[];
      const keyFits = key === null || typeof key === 'string' || typeof key === 'number';
      if (typeof sort === 'string' && typeof id === 'string' && keyFits && !/\0/.test(`${id}${key}`)) {
        return { sort, key, id };
      }
    }
  } catch {
    // not one of ours: told below
  }
  throw problem.invalidQuery('cursor', 'use the next_cursor of the page before, unchanged');
}
