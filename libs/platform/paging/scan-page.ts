import { empty, raw, type Sql, sql, type SqlExecutor, type Where } from '#platform/db';
import { decodeCursor, encodeCursor } from './cursor';
import type { RowPage } from './list-page';
import { type ListQueryDto, TOTAL_MAX } from './page.dto';
import {
  cursorAfter as cursorBehind,
  isAfter,
  orderBy,
  orderOf,
  type PageOrder,
  placeColumns,
  type RowPlace,
  toSql,
} from './page-order';
import type { SortKey } from './sorts';

/**
 * A list with conditions that no index serves. Its rows are read in their order and checked one by one. `columns` and
 * the conditions refer to a row `t`.
 */
export interface ScanSpec {
  columns: string | Sql;
  table: string | Sql;
  /** Conditions that an index serves, one that ends with the sort key and the id. */
  where: Where;
  /** A condition on the row's own columns. */
  condition?: Sql;
  /** A condition on other tables, by keys of the row. Only checked for rows that meet `condition`. */
  lookup?: Sql;
  /** About how many rows `lookup` reads: an expression over a row. */
  cost?: Sql;
  id: string;
  /** Defaults to `text`. */
  idType?: 'text' | 'int8';
  sorts: Record<string, SortKey>;
  defaultSort: string;
}

/** How many rows one statement reads, and the cost of its lookups. The row that reaches the second limit is the last. */
interface Reach {
  rows: number;
  lookups: number;
}

/** Some tens of milliseconds for rows, up to a second for lookups. */
const PAGE_REACH: Reach = { rows: 20_000, lookups: 50_000 };
const COUNT_REACH: Reach = { rows: TOTAL_MAX, lookups: 20_000 };

/**
 * Reads one page of such a list. It reads a bounded number of rows, however few of them belong to the list: then the
 * page ends early, may even be empty, and its cursor continues after the last row that was read. The total is null where
 * counting would read more. An offset skips rows that belong to the list; where a page finds fewer, it is empty, and its
 * cursor skips the others.
 *
 * The statements of a page must see the same rows: `on` is a transaction with one snapshot.
 */
export async function scanPage<Row>(
  on: SqlExecutor,
  spec: ScanSpec,
  query: ListQueryDto,
): Promise<RowPage<Row>> {
  const order = resumed(orderOf(query, spec.sorts, spec.defaultSort));
  const { limit, cursor } = order;
  const { found, skipped } =
    limit === 0 ? { found: [], skipped: order.offset } : await readFound<Row>(on, spec, order);
  const rows = found.slice(0, limit);
  const isFull = limit === 0 || found.length > limit;
  const end = isFull ? rows.at(-1) : await lastOfReach(on, spec, order);
  const isWhole = !isFull && !end && order.offset === 0 && cursor === undefined;
  const total = isWhole ? rows.length : await countFound(on, spec, order);
  const next_cursor = end ? cursorAfter(end, order, order.offset - skipped) : null;
  return { rows, page: { limit, offset: query.offset ?? 0, total, next_cursor } };
}

/** A cursor's sort, followed by how many rows of an offset are yet to be skipped. Other lists refuse that. */
const RESUMED_SORT = /^(.+)\+([1-9]\d{0,9})$/;

const cursorAfter = (row: RowPlace, order: PageOrder, toSkip: number): string =>
  cursorBehind(row, toSkip > 0 ? { ...order, sort: `${order.sort}+${toSkip}` } : order);

/** Restores the rest of the offset from the cursor. */
function resumed(order: PageOrder): PageOrder {
  if (order.cursor === undefined) return order;
  const position = decodeCursor(order.cursor);
  const [, sort, toSkip] = RESUMED_SORT.exec(position.sort) ?? [];
  if (sort === undefined) return order;
  return { ...order, offset: Number(toSkip), cursor: encodeCursor({ ...position, sort }) };
}

interface Found<Row> {
  /** Up to one more than the page has. */
  found: (Row & RowPlace)[];
  /** How many rows the offset has skipped. */
  skipped: number;
}

async function readFound<Row>(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<Found<Row>> {
  const { limit, offset } = order;
  const sort = sortOf(spec, order);
  const place = offset > 0 ? sql`, row_number() OVER (${sort}) AS page_place` : empty;
  const rows = sql`SELECT ${toSql(spec.columns)}, ${placeColumns(order, spec)}${place}
    FROM (${rowsOf(spec, startOf(spec, order), order, PAGE_REACH)}) t
    WHERE NOT is_beyond AND is_candidate${lookup(spec)}
    ${sort} LIMIT ${offset + limit + 1}`;
  if (offset === 0) return { found: await on.query(rows), skipped: 0 };
  const placed = await on.query<Row & RowPlace & { page_place: number }>(behind(offset, rows));
  const found = placed.filter(({ page_place }) => page_place > offset);
  return { found, skipped: Math.min(offset, placed.at(-1)?.page_place ?? 0) };
}

/** The rows after an offset. Where there are none, the last before it, whose place is the number of rows. */
const behind = (offset: number, rows: Sql): Sql =>
  sql`SELECT * FROM (SELECT *, count(*) OVER () AS page_found FROM (${rows}) found) counted
   WHERE page_place > ${offset} OR page_place = page_found ORDER BY page_place`;

/** The last row that a page has read; undefined where the list ends with it. */
async function lastOfReach(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<RowPlace | undefined> {
  const [last] = await on.query<RowPlace>(
    sql`SELECT page_key, page_id FROM (
       SELECT ${placeColumns(order, spec)}, is_beyond, lead(is_beyond) OVER (${sortOf(spec, order)}) AS is_last
       FROM (${rowsOf(spec, startOf(spec, order), order, PAGE_REACH)}) t
     ) looked_at WHERE is_last AND NOT is_beyond LIMIT 1`,
  );
  return last;
}

async function countFound(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<number | null> {
  const [counted] = await on.query<{ total: number; is_cut: boolean | null }>(
    sql`SELECT count(*) FILTER (WHERE NOT is_beyond AND is_candidate${lookup(spec)}) AS total,
       bool_or(is_beyond) AS is_cut
     FROM (${rowsOf(spec, spec.where, order, COUNT_REACH)}) t`,
  );
  return counted && counted.is_cut !== true ? counted.total : null;
}

/** The conditions for rows from the cursor on. */
const startOf = (spec: ScanSpec, order: PageOrder): Where =>
  order.cursor === undefined ? spec.where : spec.where.copy().add(isAfter(spec, order, order.cursor));

const sortOf = ({ id }: ScanSpec, order: PageOrder): Sql => orderBy(order, order.key.expression, id);

const lookup = (spec: ScanSpec): Sql => (spec.lookup ? sql` AND ${spec.lookup}` : empty);

/**
 * Rows in their order, each with whether it meets the condition, and whether it is beyond the reach. At least one row is
 * beyond it where there are more rows.
 */
function rowsOf(spec: ScanSpec, where: Where, order: PageOrder, { rows, lookups }: Reach): Sql {
  const sort = sortOf(spec, order);
  const spent = spec.cost ? sql`CASE WHEN is_candidate THEN ${spec.cost} ELSE 0 END` : raw('0');
  return sql`SELECT *, row_number() OVER page > ${rows}
      OR sum(${spent}) OVER page - ${spent} >= ${lookups} AS is_beyond
    FROM (
      SELECT *, coalesce(${spec.condition ?? raw('true')}, false) AS is_candidate
      FROM (SELECT * FROM ${toSql(spec.table)} t WHERE ${where.sql} ${sort} LIMIT ${rows + 1}) t
    ) t WINDOW page AS (${sort} ROWS UNBOUNDED PRECEDING)`;
}
