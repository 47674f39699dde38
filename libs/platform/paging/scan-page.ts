import { empty, raw, type Sql, sql, type SqlExecutor, type Statement, type Where } from '#platform/db';
import { decodeCursor, encodeCursor, totalOf, withTotal } from './cursor';
import { named, type RowPage, withinBytes } from './list-page';
import { type ListQueryDto, TOTAL_MAX } from './page.dto';
import {
  cursorAfter as plainCursorAfter,
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
 * A list with conditions that no index serves. Rows are read in their order and checked one by one. `columns` and the
 * conditions refer to a row `t`.
 */
export interface ScanSpec {
  /** Prepares the statement of a page under this name. The text of the list must then always be the same, but for `sorts`. */
  name?: string;
  columns: string | Sql;
  table: string | Sql;
  /** Conditions that an index serves. The index must end with the sort key and the id. */
  where: Where;
  /** A condition on the row's own columns. */
  condition?: Sql;
  /** A condition on other tables, by keys of the row. Only checked for rows that meet `condition`. */
  lookup?: Sql;
  /** The approximate number of rows that `lookup` reads, as an expression over a row. */
  cost?: Sql;
  id: string;
  /** Defaults to `text`. */
  idType?: 'text' | 'int8';
  sorts: Record<string, SortKey>;
  defaultSort: string;
  /** The expression of a row's size in bytes, see `ListSpec`. */
  bytes?: string | Sql;
  /** Filters rows by a part of the condition that is outside of this statement. Keeps their order. */
  keep?: (rows: readonly RowPlace[]) => Promise<RowPlace[]>;
}

/** Limits on the rows that one statement reads and on the cost of its lookups. The row that reaches the cost is the last. */
interface ScanLimit {
  rows: number;
  lookups: number;
}

/** The rows take some tens of milliseconds, the lookups up to a second. */
const PAGE_LIMIT: ScanLimit = { rows: 20_000, lookups: 50_000 };
/** Maximum time that a page without any row continues to scan, in milliseconds. */
const SCAN_MS = 5_000;
const COUNT_LIMIT: ScanLimit = { rows: TOTAL_MAX, lookups: 20_000 };

/**
 * Reads one page of a list with conditions that no index serves. The number of rows that it reads at once is limited, even
 * if few of them belong to the list. A page that has found a row may then end early. A page that has found no row continues
 * until `scanEnd`. The cursor of a page continues after the last row that was read. The total is null if counting would read
 * too many rows. An offset skips rows that belong to the list. If a page finds fewer rows than the offset, it is empty, and
 * its cursor skips the rest.
 *
 * The statements of a page must see the same rows, so `on` must be a transaction with one snapshot.
 */
export const scanPage = <Row>(on: SqlExecutor, spec: ScanSpec, query: ListQueryDto): Promise<RowPage<Row>> =>
  scanRanges(on, [spec], query);

/** Returns when a page without any row stops scanning: after a few seconds, or half of the time left for the request. */
export function scanEnd({ deadline = Infinity }: SqlExecutor): number {
  const now = performance.now();
  return now + Math.min(SCAN_MS, (deadline - now) / 2);
}

/**
 * Reads one page of a list that consists of consecutive ranges, like `scanPage`. For a sort by a value that some rows do not
 * have: each range has its own sort key.
 *
 * @param count counts the rows of all ranges. Default: counts each range
 */
export async function scanRanges<Row>(
  on: SqlExecutor,
  ranges: readonly ScanSpec[],
  query: ListQueryDto,
  count: () => Promise<number | null> = () => countRanges(on, ranges, query),
): Promise<RowPage<Row>> {
  const { cursor: _, ...withoutCursor } = query;
  const { sort, limit, offset } = orderOf(query, ranges[0]!.sorts, ranges[0]!.defaultSort);
  const start = startOf(query.cursor, sort, ranges.length, offset);
  const until = scanEnd(on);
  const rows: Row[] = [];
  let toSkip = start.toSkip;
  let next_cursor: string | null = null;
  for (let index = start.range; limit > 0 && next_cursor === null && index < ranges.length; index++) {
    const spec = ranges[index]!;
    if (rows.length === limit) {
      next_cursor = encodeCursor({ sort: placeOf(sort, index, toSkip), key: null, id: RANGE_START });
      break;
    }
    const order = {
      ...orderOf(withoutCursor, spec.sorts, spec.defaultSort),
      limit: limit - rows.length,
      offset: toSkip,
      cursor: index === start.range ? start.cursor : undefined,
    };
    const part = await (spec.keep ? scanFiltered<Row> : scanRange<Row>)(on, spec, order, until);
    rows.push(...part.rows);
    toSkip -= part.skipped;
    if (part.end) next_cursor = plainCursorAfter(part.end, { ...order, sort: placeOf(sort, index, toSkip) });
  }
  const isLast = limit > 0 && next_cursor === null && offset === 0;
  const total = await totalOf(query, { rows: rows.length, isLast }, count);
  return {
    rows,
    page: {
      limit,
      offset: query.offset ?? 0,
      total,
      next_cursor: next_cursor && withTotal(next_cursor, total),
    },
  };
}

/** Where a page starts: a range, the cursor within it, and the number of rows to skip. */
interface PageStart {
  range: number;
  cursor: string | undefined;
  toSkip: number;
}

/** The id in the cursor of a page that starts at the beginning of a range. */
const RANGE_START = '';

/**
 * The sort of a cursor, followed by its range unless that is the first one, and by the number of rows of the offset that
 * remain to be skipped. Other lists reject it.
 */
const PLACE = /^(.+?)(?:\/([1-9]))?(?:\+([1-9]\d{0,9}))?$/;

const placeOf = (sort: string, range: number, toSkip: number): string =>
  `${sort}${range > 0 ? `/${range}` : ''}${toSkip > 0 ? `+${toSkip}` : ''}`;

/** Restores the place of a page from its cursor. */
function startOf(cursor: string | undefined, sort: string, ranges: number, offset: number): PageStart {
  if (cursor === undefined) return { range: 0, cursor, toSkip: offset };
  const position = decodeCursor(cursor);
  const [, ownSort, range = '0', toSkip = '0'] = PLACE.exec(position.sort) ?? [];
  if (ownSort !== sort || Number(range) >= ranges) return { range: 0, cursor, toSkip: 0 };
  const isStart = Number(range) > 0 && position.id === RANGE_START;
  return {
    range: Number(range),
    cursor: isStart ? undefined : encodeCursor({ ...position, sort }),
    toSkip: Number(toSkip),
  };
}

async function countRanges(
  on: SqlExecutor,
  ranges: readonly ScanSpec[],
  { cursor: _, ...query }: ListQueryDto,
): Promise<number | null> {
  if (ranges.some(({ keep }) => keep)) return null;
  let total = 0;
  for (const spec of ranges) {
    const count = await countMatches(on, spec, orderOf(query, spec.sorts, spec.defaultSort));
    if (count === null) return null;
    total += count;
  }
  return total;
}

/** The rows of a page that are in one range. */
interface RangePart<Row> {
  rows: Row[];
  /** Number of rows that the offset has skipped. */
  skipped: number;
  /** The row after which the next page continues. Undefined if the range ends there. */
  end: RowPlace | undefined;
}

/**
 * Scans until it has found a row, or until a time. Does not continue a page with an offset, because its next page skips the
 * rest.
 */
async function scanRange<Row>(
  on: SqlExecutor,
  spec: ScanSpec,
  order: PageOrder,
  until: number,
): Promise<RangePart<Row>> {
  for (let part = order; ;) {
    const scanned = await scanPart<Row>(on, spec, part);
    const isDone = scanned.rows.length > 0 || scanned.end === undefined || order.offset > 0;
    if (isDone || performance.now() > until) return scanned;
    part = { ...order, cursor: plainCursorAfter(scanned.end!, order) };
  }
}

async function scanPart<Row>(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<RangePart<Row>> {
  const { limit } = order;
  const { matches, skipped } = await readMatches<Row>(on, spec, order);
  const rows = matches.slice(0, limit);
  const last = rows.at(-1);
  const isFull = matches.length > limit || last?.page_has_more === true;
  return { rows, skipped, end: isFull ? last : await lastScanned(on, spec, order) };
}

/** Batch sizes for reading rows that `keep` then filters. Each batch is twice the previous one. */
const FIRST_BATCH = 100;
const BATCH_MAX = 3_200;

/**
 * Scans batches of rows and filters them by `keep`, until the page is full, or it has read its limit and found a row, or
 * until a time.
 */
async function scanFiltered<Row>(
  on: SqlExecutor,
  { keep, ...spec }: ScanSpec,
  order: PageOrder,
  until: number,
): Promise<RangePart<Row>> {
  const rows: (Row & RowPlace)[] = [];
  let { cursor, offset: toSkip } = order;
  let limit = Math.max(order.limit, FIRST_BATCH);
  for (let read = 0; ; limit = Math.min(limit * 2, BATCH_MAX)) {
    const part = await scanRange<Row & RowPlace>(on, spec, { ...order, limit, offset: 0, cursor }, until);
    for (const row of (await keep!(part.rows)) as (Row & RowPlace)[]) {
      if (toSkip > 0) toSkip -= 1;
      else if (rows.length < order.limit) rows.push(row);
      else return { rows, skipped: order.offset, end: rows.at(-1) };
    }
    read += limit;
    const skipped = order.offset - toSkip;
    const isDone = (read >= PAGE_LIMIT.rows && rows.length > 0) || performance.now() > until;
    if (!part.end || isDone) return { rows, skipped, end: part.end };
    cursor = plainCursorAfter(part.end, order);
  }
}

interface Matches<Row> {
  /** Up to one more than the limit of the page. */
  matches: (Row & RowPlace & { page_has_more?: boolean })[];
  /** Number of rows that the offset has skipped. */
  skipped: number;
}

async function readMatches<Row>(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<Matches<Row>> {
  const { limit, offset } = order;
  const sort = sortOf(spec, order);
  const isSized = spec.bytes !== undefined;
  const place = offset > 0 || isSized ? sql`, row_number() OVER (${sort}) AS page_place` : empty;
  const size = isSized ? sql`, ${toSql(spec.bytes!)} AS page_bytes` : empty;
  const rows = sql`SELECT ${toSql(spec.columns)}, ${placeColumns(order, spec)}${place}${size}
    FROM (${rowsOf(spec, startOfRange(spec, order), order, PAGE_LIMIT)}) t
    WHERE NOT is_beyond AND is_candidate${lookup(spec)}
    ${sort} LIMIT ${offset + limit + 1}`;
  const variant = `${order.descending ? 'descending' : 'ascending'}${order.cursor === undefined ? '' : '.after'}${offset === 0 ? '' : '.offset'}`;
  const limited = (page: Sql): Statement =>
    named(spec, variant, isSized ? withinBytes(page, raw('ORDER BY page_place')) : page);
  if (offset === 0) return { matches: await on.query(limited(rows)), skipped: 0 };
  const placed = await on.query<Matches<Row>['matches'][number] & { page_place: number }>(
    limited(afterOffset(offset, rows)),
  );
  const matches = placed.filter(({ page_place }) => page_place > offset);
  return { matches, skipped: Math.min(offset, placed.at(-1)?.page_place ?? 0) };
}

/** Selects the rows after an offset, or else the last row before it, whose place is the number of rows. */
const afterOffset = (offset: number, rows: Sql): Sql =>
  sql`SELECT * FROM (SELECT *, count(*) OVER () AS page_count FROM (${rows}) page_rows) counted
   WHERE page_place > ${offset} OR page_place = page_count ORDER BY page_place`;

/** Returns the last row that a page has read; undefined if the list ends there. */
async function lastScanned(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<RowPlace | undefined> {
  const [last] = await on.query<RowPlace>(
    sql`SELECT page_key, page_id FROM (
       SELECT ${placeColumns(order, spec)}, is_beyond, lead(is_beyond) OVER (${sortOf(spec, order)}) AS is_last
       FROM (${rowsOf(spec, startOfRange(spec, order), order, PAGE_LIMIT)}) t
     ) scanned WHERE is_last AND NOT is_beyond LIMIT 1`,
  );
  return last;
}

async function countMatches(on: SqlExecutor, spec: ScanSpec, order: PageOrder): Promise<number | null> {
  const [counted] = await on.query<{ total: number; is_cut: boolean | null }>(
    sql`SELECT count(*) FILTER (WHERE NOT is_beyond AND is_candidate${lookup(spec)}) AS total,
       bool_or(is_beyond) AS is_cut
     FROM (${rowsOf(spec, spec.where, { ...order, limit: COUNT_LIMIT.rows }, COUNT_LIMIT)}) t`,
  );
  return counted && counted.is_cut !== true ? counted.total : null;
}

/** Returns the conditions for rows after the cursor. */
const startOfRange = (spec: ScanSpec, order: PageOrder): Where =>
  order.cursor === undefined ? spec.where : spec.where.copy().add(isAfter(spec, order, order.cursor));

const sortOf = ({ id }: ScanSpec, order: PageOrder): Sql =>
  order.key.type ? orderBy(order, order.key.expression, id) : orderBy(order, id);

const lookup = (spec: ScanSpec): Sql => (spec.lookup ? sql` AND ${spec.lookup}` : empty);

/**
 * Selects rows in their order, with `is_candidate` if they meet the condition, and `is_beyond` if they are beyond the
 * limit. If there are more rows than the limit, at least one of them is returned.
 */
function rowsOf(spec: ScanSpec, where: Where, order: PageOrder, { rows: most, lookups }: ScanLimit): Sql {
  // Without a condition, a page needs no further rows. The planner then follows the order of the index.
  const needed = spec.condition || spec.lookup ? most : order.offset + order.limit + 1;
  const rows = Math.min(most, needed);
  const sort = sortOf(spec, order);
  const spent = spec.cost ? sql`CASE WHEN is_candidate THEN ${spec.cost} ELSE 0 END` : raw('0');
  return sql`SELECT *, row_number() OVER page > ${rows}
      OR sum(${spent}) OVER page - ${spent} >= ${lookups} AS is_beyond
    FROM (
      SELECT *, coalesce(${spec.condition ?? raw('true')}, false) AS is_candidate
      FROM (SELECT * FROM ${toSql(spec.table)} t WHERE ${where.sql} ${sort} LIMIT ${rows + 1}) t
    ) t WINDOW page AS (${sort} ROWS UNBOUNDED PRECEDING)`;
}
