import { encodeCursor, type RowPage } from '#platform/paging';

/**
 * What a page may come to as it is answered, in bytes. A client may send as much as it likes in one record, and a resource
 * once for many, with each of which it is answered.
 */
export const PAGE_BYTES = 32 * 1024 * 1024;

/** A row of a page before it is read, with its place in the list. */
export interface SizedRow {
  answered_size: number;
  page_key: string | null;
  page_id: string;
}

/** The first rows of a page that come to no more than `maxBytes`, always one, and a cursor that goes on after them. */
export function cutPage<Row extends SizedRow>(
  { rows, page }: RowPage<Row>,
  sort: string,
  maxBytes = PAGE_BYTES,
): RowPage<Row> {
  let room = maxBytes;
  const over = rows.findIndex(({ answered_size }, index) => (room -= answered_size) < 0 && index > 0);
  const last = rows[over - 1];
  if (!last) return { rows, page };
  const next_cursor = encodeCursor({ sort, key: last.page_key, id: last.page_id });
  return { rows: rows.slice(0, over), page: { ...page, next_cursor } };
}
