import { encodeCursor, type RowPage, withTotal } from '#platform/paging';

/**
 * Size limit of a page as JSON, in bytes. Without it, a page could be huge, because a record may have any size, and a resource
 * that is stored once for many records is repeated in each of them.
 */
export const PAGE_BYTES = 4 * 1024 * 1024;

/** A row of a page before its content is read: its size as JSON, and its position in the list. */
export interface SizedRow {
  response_size: number;
  page_key: string | null;
  page_id: string;
}

/** Ends a page before it exceeds `maxBytes`, but after at least one row. The cursor continues after the last row. */
export function cutPage<Row extends SizedRow>(
  { rows, page }: RowPage<Row>,
  sort: string,
  maxBytes = PAGE_BYTES,
): RowPage<Row> {
  let left = maxBytes;
  const end = rows.findIndex(({ response_size }, index) => (left -= response_size) < 0 && index > 0);
  const last = rows[end - 1];
  if (!last) return { rows, page };
  const position = encodeCursor({ sort, key: last.page_key, id: last.page_id });
  const next_cursor = withTotal(position, page.total);
  return { rows: rows.slice(0, end), page: { ...page, next_cursor } };
}
