import { encodeCursor, type RowPage } from '#platform/paging';

/**
 * Bytes of a page as it is answered. One record may be as large as the sender likes, and a resource that is stored once
 * for many records is answered with each of them.
 */
export const PAGE_BYTES = 32 * 1024 * 1024;

/** A row of a page before its content is read, with its place in the list. */
export interface SizedRow {
  answered_size: number;
  page_key: string | null;
  page_id: string;
}

/** Cuts a page to `maxBytes`, but to no less than one row. The cursor continues after its last row. */
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
