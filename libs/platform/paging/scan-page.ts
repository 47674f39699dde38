import type { SqlExecutor, Where } from '#platform/db';
import { decodeCursor, encodeCursor } from './cursor';
import type { RowPage } from './list-page';
import { type ListQueryDto, TOTAL_MAX } from './page.dto';
import {
  addKeyset,
  cursorAfter as cursorBehind,
  orderedBy,
  orderOf,
  type PageOrder,
  placeColumns,
  type RowPlace,
} from './page-order';
import type { SortKey } from './sorts';

/**
 * A list with conditions that no index serves: its rows are gone through in their order, and looked at one by one. What
 * follows SELECT and the conditions are about rows `t`.
 */
export interface ScanSpec {
  columns: string;
  table: string;
  /** What an index serves that ends with the sort key and the id. */
  where: Where;
  /** What a row itself tells. Its values become parameters of the statement. */
  condition?: (where: Where) => string;
  /** What other tables have to be asked for, by keys of the row. Only of rows that meet the condition. */
  lookup?: (where: Where) => string;
  /** How many rows that looking up goes through, about: an expression over a row. */
  cost?: string;
  id: string;
  /** `text` unless given. */
  idType?: 'text' | 'int8';
  sorts: Record<string, SortKey>;
  defaultSort: string;
}

/** Rows that one statement goes through, and those that it looks up; a row that begins within the second is the last. */
interface Reach {
  rows: number;
  lookups: number;
}

/** Some tens of milliseconds for rows, up to a second for lookups. */
const PAGE_REACH: Reach = { rows: 20_000, lookups: 50_000 };
const COUNT_REACH: Reach = { rows: TOTAL_MAX, lookups: 20_000 };

/**
 * Reads one page of such a list. It goes through a bounded number of rows, however few of them belong to the list: then
 * the page ends early, may even be empty, and its cursor goes on after the last row that was looked at. The total is
 * null where to count would mean to go through more. An offset passes over rows that belong to the list; where a page
 * finds fewer, it is empty, and its cursor passes over the others.
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

/** What a cursor says behind its sort: how many rows of an offset it has yet to pass over. Other lists refuse that. */
const RESUMED_SORT = /^(.+)\+([1-9]\d{0,9})$/;

const cursorAfter = (row: RowPlace, order: PageOrder, toSkip: number): string =>
  cursorBehind(row, toSkip > 0 ? { ...order, sort: `${order.sort}+${toSkip}` } : order);

/** An order with the rest of the offset that its cursor carries. */
function resumed(order: PageOrder): PageOrder {
  if (order.cursor === undefined) return order;
  const position = decodeCursor(order.cursor);
  const [, sort, toSkip] = RESUMED_SORT.exec(position.sort) ?? [];
  if (sort === undefined) return order;
  return { ...order, offset: Number(toSkip), cursor: encodeCursor({ ...position, sort }) };
}

interface Found<Row> {
  /** One more than the page has, where there are more within its reach. */
  found: (Row & RowPlace)[];
  /** How many rows the offset has passed over. */
  skipped: number;
}

async function readFound<Row>(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<Found<Row>> {
  const { limit, offset } = order;
  const where = startOf(spec, order);
  const sort = orderedBy(order, order.key.expression, spec.id);
  const columns = [spec.columns, ...placeColumns(order, spec)];
  if (offset > 0) columns.push(`row_number() OVER (${sort}) AS page_place`);
  const statement = `SELECT ${columns.join(', ')} FROM (${rowsOf(spec, where, order, PAGE_REACH)}) t
    WHERE NOT is_beyond AND is_candidate${lookedUp(spec, where)}
    ${sort} LIMIT ${where.parameter(offset + limit + 1)}`;
  if (offset === 0) return { found: await on.query(statement, where.values), skipped: 0 };
  const placed = await on.query<Row & RowPlace & { page_place: number }>(
    behind(where.parameter(offset), statement),
    where.values,
  );
  const found = placed.filter(({ page_place }) => page_place > offset);
  return { found, skipped: Math.min(offset, placed.at(-1)?.page_place ?? 0) };
}

/** The rows behind an offset; where there are none, the last before it, whose place tells how many there are. */
const behind = (offset: string, rows: string): string =>
  `SELECT * FROM (SELECT *, count(*) OVER () AS page_found FROM (${rows}) found) counted
   WHERE page_place > ${offset} OR page_place = page_found ORDER BY page_place`;

/** The row that a page was the last to look at; undefined where that is the last of all. */
async function lastOfReach(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<RowPlace | undefined> {
  const where = startOf(spec, order);
  const sort = orderedBy(order, order.key.expression, spec.id);
  const [last] = await on.query<RowPlace>(
    `SELECT page_key, page_id FROM (
       SELECT ${placeColumns(order, spec).join(', ')}, is_beyond, lead(is_beyond) OVER (${sort}) AS is_last
       FROM (${rowsOf(spec, where, order, PAGE_REACH)}) t
     ) looked_at WHERE is_last AND NOT is_beyond LIMIT 1`,
    where.values,
  );
  return last;
}

async function countFound(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<number | null> {
  const where = spec.where.copy();
  const [counted] = await on.query<{ total: number; is_cut: boolean | null }>(
    `SELECT count(*) FILTER (WHERE NOT is_beyond AND is_candidate${lookedUp(spec, where)}) AS total,
       bool_or(is_beyond) AS is_cut
     FROM (${rowsOf(spec, where, order, COUNT_REACH)}) t`,
    where.values,
  );
  return counted && counted.is_cut !== true ? counted.total : null;
}

/** The rows from the cursor on. */
function startOf(spec: ScanSpec, order: PageOrder): Where {
  const where = spec.where.copy();
  if (order.cursor !== undefined) addKeyset(where, spec, order, order.cursor);
  return where;
}

const lookedUp = ({ lookup }: ScanSpec, where: Where): string => (lookup ? ` AND ${lookup(where)}` : '');

/**
 * Rows in their order, as they are read, each with whether it meets the condition, and whether it is beyond the reach:
 * of those, there is at least one where there are more rows.
 */
function rowsOf(
  { table, id, condition, cost }: ScanSpec,
  where: Where,
  order: PageOrder,
  { rows, lookups }: Reach,
): string {
  const sort = orderedBy(order, order.key.expression, id);
  const isCandidate = condition?.(where) ?? 'true';
  const spent = cost ? `CASE WHEN is_candidate THEN ${cost} ELSE 0 END` : '0';
  return `SELECT *, row_number() OVER page > ${rows}
      OR sum(${spent}) OVER page - ${spent} >= ${lookups} AS is_beyond
    FROM (
      SELECT *, coalesce(${isCandidate}, false) AS is_candidate
      FROM (SELECT * FROM ${table} t WHERE ${where.toString()} ${sort} LIMIT ${rows + 1}) t
    ) t WINDOW page AS (${sort} ROWS UNBOUNDED PRECEDING)`;
}
