import { empty, raw, type Sql, sql, type SqlExecutor, type Statement, type Where } from '#platform/db';
import type { ListSpec, RowPlace, ScanRules } from './list-spec';
import { TOTAL_MAX } from './page.dto';
import {
  cursorAfter,
  afterCursor,
  named,
  orderBy,
  type PageOrder,
  type Placed,
  placeColumns,
  toSql,
  withinBytes,
} from './page-order';

/** Limits on the rows that one statement reads and on the cost of its lookups. The row that reaches the cost is the last. */
interface ScanLimit {
  rows: number;
  lookups: number;
}

/** Maximum number of rows that one statement of a page reads. They take some tens of milliseconds. */
export const SCANNED_MAX = 20_000;
/** The lookups take up to a second. */
const PAGE_LIMIT: ScanLimit = { rows: SCANNED_MAX, lookups: 50_000 };
/** Maximum time that a page without any row continues to scan, in milliseconds. */
const SCAN_MS = 5_000;
const COUNT_LIMIT: ScanLimit = { rows: TOTAL_MAX, lookups: 20_000 };

/** Returns when a page without any row stops scanning: after a few seconds, or half of the time left for the request. */
export function scanEnd({ deadline = Infinity }: Pick<SqlExecutor, 'deadline'>): number {
  const now = performance.now();
  return now + Math.min(SCAN_MS, (deadline - now) / 2);
}

/** The rows of a page that are in one range. */
export interface PagePart<Row> {
  rows: Placed<Row>[];
  /** Number of rows that the offset has skipped. */
  skipped: number;
  /** The row after which the next page continues. Undefined if the range ends there. */
  end: RowPlace | undefined;
}

/**
 * Scans until it has found a row, or until a time. Does not continue a page with an offset, because its next page skips the
 * rest.
 */
export async function scan<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  rules: ScanRules,
  order: PageOrder,
  until: number,
): Promise<PagePart<Row>> {
  for (let part = order; ;) {
    const scanned = await scanPart<Row>(on, spec, rules, part);
    const isDone = scanned.rows.length > 0 || scanned.end === undefined || order.offset > 0;
    if (isDone || performance.now() > until) return scanned;
    part = { ...order, cursor: cursorAfter(scanned.end!, order) };
  }
}

async function scanPart<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  rules: ScanRules,
  order: PageOrder,
): Promise<PagePart<Row>> {
  const { limit, offset } = order;
  const table = rowsOf(spec, rules, afterCursor(spec, order), order, PAGE_LIMIT);
  const placed = await readMatches<Row>(on, spec, rules, order, table);
  const matches = placed.filter(({ page_place }) => offset === 0 || page_place! > offset);
  const skipped = offset === 0 ? 0 : Math.min(offset, placed.at(-1)?.page_place ?? 0);
  const rows = matches.slice(0, limit);
  const last = rows.at(-1);
  const isFull = matches.length > limit || last?.page_has_more === true;
  return { rows, skipped, end: isFull ? last : await lastScanned(on, spec, order, table) };
}

/** Returns up to one more row than the limit of the page. With an offset, the first may be one that it skips. */
function readMatches<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  rules: ScanRules,
  order: PageOrder,
  table: Sql,
): Promise<(Placed<Row> & { page_place?: number })[]> {
  const { limit, offset } = order;
  const sort = sortOf(spec, order);
  const isSized = spec.bytes !== undefined;
  const place = offset > 0 || isSized ? sql`, row_number() OVER (${sort}) AS page_place` : empty;
  const size = isSized ? sql`, ${toSql(spec.bytes!)} AS page_bytes` : empty;
  const rows = sql`SELECT ${toSql(spec.columns)}, ${placeColumns(order, spec)}${place}${size}
    FROM (${table}) t
    WHERE NOT is_beyond AND is_candidate${lookup(rules)}
    ${sort} LIMIT ${offset + limit + 1}`;
  const variant = `${order.descending ? 'descending' : 'ascending'}${order.cursor === undefined ? '' : '.after'}${offset === 0 ? '' : '.offset'}`;
  const page = offset === 0 ? rows : afterOffset(offset, rows);
  const statement: Statement = isSized ? withinBytes(page, raw('ORDER BY page_place'), spec) : page;
  return on.query(named(spec, variant, statement));
}

/** Selects the rows after an offset, or else the last row before it, whose place is the number of rows. */
const afterOffset = (offset: number, rows: Sql): Sql =>
  sql`SELECT * FROM (SELECT *, count(*) OVER () AS page_count FROM (${rows}) page_rows) counted
   WHERE page_place > ${offset} OR page_place = page_count ORDER BY page_place`;

/** Returns the last row that a page has read; undefined if the list ends there. */
async function lastScanned<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  order: PageOrder,
  table: Sql,
): Promise<RowPlace | undefined> {
  const [last] = await on.query<RowPlace>(
    sql`SELECT page_key, page_id FROM (
       SELECT ${placeColumns(order, spec)}, is_beyond, lead(is_beyond) OVER (${sortOf(spec, order)}) AS is_last
       FROM (${table}) t
     ) scanned WHERE is_last AND NOT is_beyond LIMIT 1`,
  );
  return last;
}

/** Counts the rows that meet all conditions. Returns null if that would read too many rows. */
export async function countScanned<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  rules: ScanRules,
  order: PageOrder,
): Promise<number | null> {
  const table = rowsOf(spec, rules, spec.where, { ...order, limit: COUNT_LIMIT.rows }, COUNT_LIMIT);
  const [counted] = await on.query<{ total: number; is_cut: boolean | null }>(
    sql`SELECT count(*) FILTER (WHERE NOT is_beyond AND is_candidate${lookup(rules)}) AS total,
       bool_or(is_beyond) AS is_cut
     FROM (${table}) t`,
  );
  return counted && counted.is_cut !== true ? counted.total : null;
}

const sortOf = <Row>({ id }: ListSpec<Row>, order: PageOrder): Sql =>
  order.key.type ? orderBy(order, order.key.expression, id) : orderBy(order, id);

const lookup = (rules: ScanRules): Sql => (rules.lookup ? sql` AND ${rules.lookup}` : empty);

/**
 * Selects rows in their order, with `is_candidate` if they meet the condition, and `is_beyond` if they are beyond the
 * limit. If there are more rows than the limit, at least one of them is returned.
 */
function rowsOf<Row>(
  spec: ListSpec<Row>,
  { condition, lookup, cost }: ScanRules,
  where: Where,
  order: PageOrder,
  { rows: most, lookups }: ScanLimit,
): Sql {
  // Without a condition, a page needs no further rows. The planner then follows the order of the index.
  const needed = condition || lookup ? most : order.offset + order.limit + 1;
  const rows = Math.min(most, needed);
  const sort = sortOf(spec, order);
  const spent = cost ? sql`CASE WHEN is_candidate THEN ${cost} ELSE 0 END` : raw('0');
  return sql`SELECT *, row_number() OVER page > ${rows}
      OR sum(${spent}) OVER page - ${spent} >= ${lookups} AS is_beyond
    FROM (
      SELECT *, coalesce(${condition ?? raw('true')}, false) AS is_candidate
      FROM (SELECT * FROM ${toSql(spec.from)} WHERE ${where.sql} ${sort} LIMIT ${rows + 1}) t
    ) t WINDOW page AS (${sort} ROWS UNBOUNDED PRECEDING)`;
}
