import type { SqlExecutor, Where } from '#platform/db';
import { type ListQueryDto, PAGE_BYTES, TOTAL_MAX } from './page.dto';
import {
  addKeyset,
  cursorAfter,
  orderedBy,
  orderOf,
  type PageOrder,
  placeColumns,
  type RowPlace,
} from './page-order';
import { BY_CREATION, type SortKey } from './sorts';

export interface ListSpec<Row = never> {
  /** What follows SELECT. */
  columns: string;
  /** What follows FROM. */
  from: string;
  where: Where;
  /** The expression of the row's own id: unique, and ascending with creation. */
  id: string;
  /** `text` unless given. */
  idType?: 'text' | 'int8';
  /** Those that the list's query takes, see `SortedBy`; `BY_CREATION` unless given. */
  sorts?: Record<string, SortKey>;
  /** `-created_at` unless given. */
  defaultSort?: string;
  /** Excludes archived rows unless the query includes them. Absent: rows are never archived. */
  archivedAt?: string;
  /**
   * The column, or expression, that says how many bytes a row makes, where rows may be large: a page ends early, with
   * a cursor, when it has `PAGE_BYTES` of them. Absent: rows are small.
   */
  bytes?: string;
  /** Counts the rows where that is known without `from` and `where`, or they cannot tell. Null: over TOTAL_MAX. */
  count?: () => Promise<number | null>;
  /**
   * Answers those of the rows that belong to the list, in their order, where a part of its condition lies outside the
   * database. Goes with a `count` of its own.
   */
  keep?: (rows: Row[]) => Promise<Row[]>;
}

export interface RowPage<Row> {
  rows: Row[];
  page: { limit: number; offset: number; total: number | null; next_cursor: string | null };
}

type Keyed<Row> = Row &
  RowPlace & {
    /** False for the last row of the list; only where rows have `bytes`, because a page may end before its limit. */
    page_goes_on?: boolean;
  };

/**
 * Reads one page of a list by keyset: the rows after the cursor's, in the order asked for, and the total.
 * Errors: 400 `invalid_query` for a foreign cursor, or a cursor together with an offset.
 */
export async function listPage<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  query: ListQueryDto,
): Promise<RowPage<Row>> {
  const order = orderOf(query, spec.sorts ?? BY_CREATION, spec.defaultSort ?? '-created_at');
  const { limit, offset } = order;
  const where = spec.where.copy();
  if (spec.archivedAt && query.include_archived !== true) where.add(`${spec.archivedAt} IS NULL`);

  const count = spec.count ? spec.count() : countRows(on, spec.from, where);
  const read = spec.keep ? readKept<Row> : readRows<Row>;
  const rows = limit === 0 ? Promise.resolve([]) : read(on, spec, where, order);
  const [total, found] = await Promise.all([count, rows]);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const more = found.length > limit || last?.page_goes_on === true;
  return {
    rows: items,
    page: { limit, offset, total, next_cursor: last && more ? cursorAfter(last, order) : null },
  };
}

/** How many rows are read at once to find those that belong to a list: twice as many each time, between these. */
const KEPT_AT_FIRST = 100;
const KEPT_AT_ONCE = 3_200;

/** Reads rows of which only some belong to the list, until the page is full. */
async function readKept<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  where: Where,
  order: PageOrder,
): Promise<Keyed<Row>[]> {
  const found: Keyed<Row>[] = [];
  let { offset, cursor } = order;
  for (let limit = Math.max(order.limit, KEPT_AT_FIRST); ; limit = Math.min(limit * 2, KEPT_AT_ONCE)) {
    const rows = await readRows<Row>(on, spec, where, { ...order, limit, offset: 0, cursor });
    const kept = spec.keep ? ((await spec.keep(rows)) as Keyed<Row>[]) : rows;
    found.push(...kept.slice(offset));
    offset = Math.max(0, offset - kept.length);
    const last = rows.length > limit ? rows.at(-1) : undefined;
    if (!last || found.length > order.limit) return found.slice(0, order.limit + 1);
    cursor = cursorAfter(last, order);
  }
}

async function readRows<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  filter: Where,
  order: PageOrder,
): Promise<Keyed<Row>[]> {
  const { key } = order;
  const where = filter.copy();
  if (order.cursor !== undefined) addKeyset(where, spec, order, order.cursor);
  const orderBy = (...columns: string[]) => orderedBy(order, ...columns);
  const columns = [spec.columns, ...placeColumns(order, spec)];
  if (spec.bytes !== undefined) columns.push(`${spec.bytes} AS page_bytes`);
  if (spec.bytes !== undefined && key.type) columns.push(`${key.expression} AS page_sort`);
  const limit = where.parameter(order.limit + 1);
  const skip =
    order.cursor === undefined && order.offset > 0 ? ` OFFSET ${where.parameter(order.offset)}` : '';
  const rows = `SELECT ${columns.join(', ')} FROM ${spec.from} WHERE ${where.toString()}
    ${key.type ? orderBy(key.expression, spec.id) : orderBy(spec.id)} LIMIT ${limit}${skip}`;
  const id = spec.idType === 'int8' ? 'page_id::int8' : 'page_id';
  const sort = key.type ? orderBy('page_sort', id) : orderBy(id);
  const statement = spec.bytes === undefined ? rows : withinBytes(rows, sort);
  return on.query<Keyed<Row>>(statement, where.values);
}

/**
 * Of the rows of a page, those that begin within its bytes, the first one always. Large values lie apart from their
 * rows and are not touched for rows that are left out.
 */
const withinBytes = (rows: string, sort: string): string =>
  `SELECT * FROM (
    SELECT *, sum(page_bytes) OVER page - page_bytes AS page_bytes_before,
      lead(true, 1, false) OVER page AS page_goes_on
    FROM (${rows}) found WINDOW page AS (${sort} ROWS UNBOUNDED PRECEDING)
  ) within WHERE page_bytes_before < ${PAGE_BYTES} ${sort}`;

async function countRows(on: SqlExecutor, from: string, where: Where): Promise<number | null> {
  const [row] = await on.query<{ total: number }>(
    `SELECT count(*) AS total FROM (SELECT 1 FROM ${from} WHERE ${where.toString()} LIMIT ${TOTAL_MAX + 1}) counted`,
    where.values,
  );
  return row && row.total <= TOTAL_MAX ? row.total : null;
}
