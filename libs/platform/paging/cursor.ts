import { problem } from '#platform/problem';
import { type ListQueryDto, type Page, type PageMetaDto, PAGE_SIZE_DEFAULT, TOTAL_MAX } from './page.dto';

/** A page of rows. */
export interface RowPage<Row> {
  rows: Row[];
  page: PageMetaDto;
}

/** Converts the rows of a page to views. */
export const toPage = <Row, View>({ rows, page }: RowPage<Row>, toView: (row: Row) => View): Page<View> => ({
  items: rows.map((row) => toView(row)),
  page,
});

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
export function decodeCursor(cursor: string): CursorPosition {
  const [text] = split(cursor);
  const decoded = Buffer.from(text, 'base64url').toString();
  const [sort, id, ...key] = decoded.split('\n');
  const position = { sort: sort!, id: id ?? '', key: key.length > 0 ? key.join('\n') : null };
  if (id === undefined || decoded.includes('\0') || encodeCursor(position) !== text) {
    throw invalidCursor();
  }
  return position;
}

type PageQuery = Pick<ListQueryDto, 'cursor' | 'limit' | 'offset' | 'total'>;

/**
 * Returns a page of a list that continues after a cursor, if any. The total is in the cursor of the page, or on the last page
 * of a list without a cursor the number of rows. Counts only if neither is known and the query wants it. The next cursor carries the total, so that
 * only the first page counts.
 *
 * @param count returns null for more than TOTAL_MAX
 */
export async function pageOf<Row>(
  { cursor, limit = PAGE_SIZE_DEFAULT, offset = 0, total: isCounted }: PageQuery,
  rows: Row[],
  next: string | null,
  count: () => Promise<number | null>,
): Promise<RowPage<Row>> {
  const isLast = limit > 0 && next === null;
  const total =
    isCounted === false ? null : await totalOf({ cursor, offset }, { rows: rows.length, isLast }, count);
  return { rows, page: { limit, offset, total, next_cursor: next && withTotal(next, total) } };
}

/** Adds the total of a list to a cursor. */
const withTotal = (cursor: string, total: number | null): string => `${cursor}.${total ?? ''}`;

async function totalOf(
  { cursor, offset }: { cursor: string | undefined; offset: number },
  page: { rows: number; isLast: boolean },
  count: () => Promise<number | null>,
): Promise<number | null> {
  const [, listTotal] = cursor === undefined ? [] : split(cursor);
  if (listTotal !== undefined) return listTotal === '' ? null : Number(listTotal);
  const isWhole = cursor === undefined && page.isLast && (offset === 0 || page.rows > 0);
  if (!isWhole) return count();
  const total = offset + page.rows;
  return total > TOTAL_MAX ? null : total;
}

/** Splits a cursor into its position and the total of its list, if it carries one. Over HTTP, a mark of the list follows. */
function split(cursor: string): [position: string, total?: string] {
  const [unmarked] = cursor.split('~', 1) as [string];
  const at = unmarked.indexOf('.');
  if (at < 0) return [unmarked];
  const total = unmarked.slice(at + 1);
  if (!/^\d{0,6}$/.test(total) || Number(total) > TOTAL_MAX) throw invalidCursor();
  return [unmarked.slice(0, at), total];
}

/** Throws 400 `invalid_query` for a cursor together with an offset. */
export function checkStart({ cursor, offset }: Pick<ListQueryDto, 'cursor' | 'offset'>): void {
  if (cursor === undefined || offset === undefined) return;
  throw problem.invalidQuery('cursor', 'cannot be combined with offset');
}

export const foreignCursor = () => problem.invalidQuery('cursor', 'belongs to another list or sort');

const invalidCursor = () =>
  problem.invalidQuery('cursor', 'must be the next_cursor of the previous page, unchanged');
