import {
  empty,
  indexOrdered,
  prepared,
  raw,
  type Sql,
  sql,
  type SqlExecutor,
  type Statement,
  type Where,
} from '#platform/db';
import { totalOf, withTotal } from './cursor';
import { type ListQueryDto, PAGE_BYTES, TOTAL_MAX } from './page.dto';
import {
  cursorAfter,
  isAfter,
  orderBy,
  orderOf,
  type PageOrder,
  placeColumns,
  type RowPlace,
  toSql,
} from './page-order';
import { BY_CREATION, type SortKey } from './sorts';

export interface ListSpec<Row = never> {
  /** The expressions after SELECT. */
  columns: string | Sql;
  /** The tables after FROM. */
  from: string | Sql;
  where: Where;
  /** The expression of the row's own id: unique, and ascending with creation. */
  id: string;
  /** Defaults to `text`. */
  idType?: 'text' | 'int8';
  /** The sorts that the list's query allows, see `SortedBy`. Defaults to `BY_CREATION`. */
  sorts?: Record<string, SortKey>;
  /** Defaults to `-created_at`. */
  defaultSort?: string;
  /** Excludes archived rows unless the query includes them. Absent: rows are never archived. */
  archivedAt?: string;
  /**
   * The expression of a row's size in bytes, for rows that may be large: a page ends early, with a cursor, once it has
   * `PAGE_BYTES`. Absent: rows are small.
   */
  bytes?: string | Sql;
  /** Counts the rows. Default: by `from` and `where`. Returns null for more than TOTAL_MAX. */
  count?: () => Promise<number | null>;
  /**
   * Filters rows by a part of the condition that is outside the database. Keeps their order. Requires `count`.
   */
  keep?: (rows: Row[]) => Promise<Row[]>;
  /**
   * Prepares the statements under this name. Only for a hot list whose plan does not depend on the values. `columns`, `from`
   * and the text of `where` must always be the same, and rows must never be archived.
   */
  name?: string;
}

export interface RowPage<Row> {
  rows: Row[];
  page: { limit: number; offset: number; total: number | null; next_cursor: string | null };
}

type Keyed<Row> = Row &
  RowPlace & {
    /** Whether another selected row follows. Only set for rows with `bytes`, whose page may end before its limit. */
    page_has_more?: boolean;
  };

/**
 * Reads one page of a list by keyset: the rows after the cursor, in the order of the query. Then counts the list, unless the
 * page is the complete list or its cursor contains the total. Throws 400 `invalid_query` for the cursor of another list, and
 * for a cursor together with an offset.
 */
export async function listPage<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  query: ListQueryDto,
): Promise<RowPage<Row>> {
  const order = orderOf(query, spec.sorts ?? BY_CREATION, spec.defaultSort ?? '-created_at');
  const { limit, offset } = order;
  const where = spec.where.copy();
  if (spec.archivedAt && query.include_archived !== true) where.add(raw(`${spec.archivedAt} IS NULL`));

  const read = spec.keep ? readFiltered<Row> : readRows<Row>;
  const rows = limit === 0 ? [] : await read(on, spec, where, order);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const more = limit === 0 || rows.length > limit || last?.page_has_more === true;
  const count = spec.count ?? (() => countRows(on, spec, where));
  const total = await totalOf(query, { rows: items.length, isLast: !more }, count);
  return {
    rows: items,
    page: {
      limit,
      offset,
      total,
      next_cursor: last && more ? withTotal(cursorAfter(last, order), total) : null,
    },
  };
}

/** Batch sizes for reading rows that are then filtered. Each batch is twice the previous one. */
const FIRST_BATCH = 100;
const BATCH_MAX = 3_200;

/** Reads rows and filters them by `keep`, until the page is full. */
async function readFiltered<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  where: Where,
  order: PageOrder,
): Promise<Keyed<Row>[]> {
  const page: Keyed<Row>[] = [];
  let { offset, cursor } = order;
  for (let limit = Math.max(order.limit, FIRST_BATCH); ; limit = Math.min(limit * 2, BATCH_MAX)) {
    const rows = await readRows<Row>(on, spec, where, { ...order, limit, offset: 0, cursor });
    const matches = spec.keep ? ((await spec.keep(rows)) as Keyed<Row>[]) : rows;
    page.push(...matches.slice(offset));
    offset = Math.max(0, offset - matches.length);
    const last = rows.length > limit ? rows.at(-1) : undefined;
    if (!last || page.length > order.limit) return page.slice(0, order.limit + 1);
    cursor = cursorAfter(last, order);
  }
}

async function readRows<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  filter: Where,
  order: PageOrder,
): Promise<Keyed<Row>[]> {
  const { key, cursor, offset } = order;
  const where = filter.copy();
  if (cursor !== undefined) where.add(isAfter(spec, order, cursor));
  const sized = spec.bytes === undefined ? empty : sql`, ${toSql(spec.bytes)} AS page_bytes`;
  const sorted = spec.bytes !== undefined && key.type ? `, ${key.expression} AS page_sort` : '';
  const keys = [key.minute, key.type && key.expression, spec.id];
  const sort = orderBy(order, ...keys.flatMap((one) => one ?? []));
  const skip = cursor === undefined && offset > 0 ? sql` OFFSET ${offset}` : empty;
  const rows = sql`SELECT ${toSql(spec.columns)}, ${placeColumns(order, spec)}${sized}${raw(sorted)}
    FROM ${toSql(spec.from)} WHERE ${where.sql} ${sort} LIMIT ${order.limit + 1}${skip}`;
  const variant = `${order.sort}${cursor === undefined ? '' : '.after'}${skip === empty ? '' : '.offset'}`;
  const isInOrder = spec.name === undefined && filter.isInOrder(key.type === undefined);
  const planned = (statement: Sql) =>
    isInOrder ? indexOrdered(statement, !hasWildcard(spec)) : named(spec, variant, statement);
  if (spec.bytes === undefined) return on.query<Keyed<Row>>(planned(rows));
  const id = spec.idType === 'int8' ? 'page_id::int8' : 'page_id';
  const page = key.type ? orderBy(order, 'page_sort', id) : orderBy(order, id);
  return on.query<Keyed<Row>>(planned(withinBytes(rows, page)));
}

/** Tells whether a list has all columns of its table. Preparing it would fail once a migration has added a column. */
const hasWildcard = ({ columns }: { columns: string | Sql }): boolean => toSql(columns).sql.endsWith('*');

/** Prepares a statement if the list has a name. */
export const named = ({ name }: { name?: string }, variant: string, statement: Sql): Statement =>
  name === undefined ? statement : prepared(`${name}.${variant}`, statement);

/**
 * Selects the rows of a page that start within its byte limit, and at least the first. PostgreSQL stores large values apart
 * from their rows, and does not read the values of omitted rows.
 */
export const withinBytes = (rows: Sql, sort: Sql): Sql =>
  sql`SELECT * FROM (
    SELECT *, sum(page_bytes) OVER page - page_bytes AS page_bytes_before,
      lead(true, 1, false) OVER page AS page_has_more
    FROM (${rows}) page_rows WINDOW page AS (${sort} ROWS UNBOUNDED PRECEDING)
  ) within WHERE page_bytes_before < ${PAGE_BYTES} ${sort}`;

async function countRows<Row>(on: SqlExecutor, spec: ListSpec<Row>, where: Where): Promise<number | null> {
  const most = raw(String(TOTAL_MAX + 1));
  const statement = sql`SELECT count(*) AS total
    FROM (SELECT 1 FROM ${toSql(spec.from)} WHERE ${where.sql} LIMIT ${most}) counted`;
  // Counts a single filter in its index. The planner chooses for everything else.
  const counting = where.isOfOneFilter ? indexOrdered(statement, true) : named(spec, 'count', statement);
  const [row] = await on.query<{ total: number }>(counting);
  return row && row.total <= TOTAL_MAX ? row.total : null;
}
