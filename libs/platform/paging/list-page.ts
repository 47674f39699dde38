import { empty, indexOrdered, join, raw, type Sql, sql, type SqlExecutor, type Where } from '#platform/db';
import { createdWithin } from './created';
import { decodeCursor, encodeCursor, pageOf, type RowPage } from './cursor';
import type { ListSpec } from './list-spec';
import { type ListQueryDto, TOTAL_MAX } from './page.dto';
import {
  cursorAfter,
  afterCursor,
  named,
  orderBy,
  orderOf,
  type PageOrder,
  type Placed,
  placeColumns,
  toSql,
  withinBytes,
} from './page-order';
import { countScanned, type PagePart, scan, scanEnd, SCANNED_MAX } from './scan';

/**
 * Reads one page of a list by keyset: the rows after the cursor, in the order of the query. Then counts the list, unless the
 * page is the complete list or its cursor contains the total. Throws 400 `invalid_query` for the cursor of another list, and
 * for a cursor together with an offset.
 *
 * If no index serves some of the conditions (`scan`, `keep`), the number of rows that are read at once is limited, even if
 * few of them belong to the list. A page that has found a row may then end early. A page that has found no row continues
 * until `scanEnd`. The cursor continues after the last row that was read. The total is null if counting would read too many
 * rows. If a page finds fewer rows than the offset skips, it is empty, and its cursor skips the rest. The statements of such
 * a page must see the same rows, so `on` must be a transaction with one snapshot.
 *
 * @param list one list, or consecutive ranges of a list that is sorted by a value that some rows do not have. Each range has
 *   its own sort key and a `scan`, because an offset may skip a whole range
 */
export async function listPage<Row>(
  on: SqlExecutor,
  list: ListSpec<Row> | readonly ListSpec<Row>[],
  query: ListQueryDto,
): Promise<RowPage<Row>> {
  const ranges = 'columns' in list ? [list] : list;
  const first = ranges[0]!;
  const { sort, limit, offset } = orderOf(query, first);
  const until = scanEnd(on);
  const start = startOf(query.cursor, sort, ranges, offset);
  const rows: Row[] = [];
  let { toSkip } = start;
  let next: string | null = null;
  for (let index = start.range; limit > 0 && next === null && index < ranges.length; index++) {
    if (rows.length === limit) {
      next = encodeCursor({ sort: placeOf(sort, index, toSkip), key: null, id: RANGE_START });
      break;
    }
    const range = ranges[index]!;
    const order = {
      ...orderOf({ sort: query.sort }, range),
      limit: limit - rows.length,
      offset: toSkip,
      cursor: index === start.range ? start.cursor : undefined,
    };
    const spec = { ...range, where: conditionsOf(range, query) };
    const part = await (range.keep ? readKept : readPart)<Row>(on, spec, order, until);
    rows.push(...part.rows);
    toSkip -= part.skipped;
    if (part.end) next = cursorAfter(part.end, { ...order, sort: placeOf(sort, index, toSkip) });
  }
  return pageOf(query, rows, next, first.count ?? (() => countOf(on, first, query)));
}

function conditionsOf(spec: ListSpec, query: ListQueryDto): Where {
  const where = spec.where.copy();
  if (spec.archivedAt && query.include_archived !== true) where.add(raw(`${spec.archivedAt} IS NULL`));
  const bounds = spec.createdAt ? createdWithin(spec.id, spec.createdAt, query) : [];
  if (bounds.length > 0) where.addIndexedInParts(join(bounds, ' AND '), (condition) => condition);
  return where;
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
function startOf(
  cursor: string | undefined,
  sort: string,
  ranges: readonly ListSpec<never>[],
  offset: number,
): PageStart {
  const isScan = ranges.length > 1 || ranges[0]!.scan || ranges[0]!.keep;
  if (cursor === undefined || !isScan) return { range: 0, cursor, toSkip: offset };
  const position = decodeCursor(cursor);
  const [, ownSort, range = '0', toSkip = '0'] = PLACE.exec(position.sort) ?? [];
  if (ownSort !== sort || Number(range) >= ranges.length) return { range: 0, cursor, toSkip: 0 };
  const isStart = Number(range) > 0 && position.id === RANGE_START;
  return {
    range: Number(range),
    cursor: isStart ? undefined : encodeCursor({ ...position, sort }),
    toSkip: Number(toSkip),
  };
}

/** Batch sizes for reading rows that `keep` then filters. Each batch is twice the previous one. */
const FIRST_BATCH = 100;
const BATCH_MAX = 3_200;

/**
 * Reads batches of rows and filters them by `keep`, until the page is full, or it has read SCANNED_MAX rows and found one, or
 * until a time.
 */
async function readKept<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  order: PageOrder,
  until: number,
): Promise<PagePart<Row>> {
  const rows: Placed<Row>[] = [];
  let { cursor, offset: toSkip } = order;
  let limit = Math.max(order.limit, FIRST_BATCH);
  for (let read = 0; ; limit = Math.min(limit * 2, BATCH_MAX)) {
    const part = await readPart<Row>(on, spec, { ...order, limit, offset: 0, cursor }, until);
    for (const row of await spec.keep!(part.rows)) {
      if (toSkip > 0) toSkip -= 1;
      else if (rows.length < order.limit) rows.push(row);
      else return { rows, skipped: order.offset, end: rows.at(-1) };
    }
    read += limit;
    const skipped = order.offset - toSkip;
    const isDone = (read >= SCANNED_MAX && rows.length > 0) || performance.now() > until;
    if (!part.end || isDone) return { rows, skipped, end: part.end };
    cursor = cursorAfter(part.end, order);
  }
}

const readPart = <Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  order: PageOrder,
  until: number,
): Promise<PagePart<Row>> =>
  spec.scan ? scan(on, spec, spec.scan, order, until) : readIndexed(on, spec, order);

/** Reads rows whose conditions an index serves. */
async function readIndexed<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  order: PageOrder,
): Promise<PagePart<Row>> {
  const { key, cursor, offset, limit } = order;
  const sized = spec.bytes === undefined ? empty : sql`, ${toSql(spec.bytes)} AS page_bytes`;
  const sorted = spec.bytes !== undefined && key.type ? `, ${key.expression} AS page_sort` : '';
  const keys = [key.minute, key.type && key.expression, spec.id];
  const sort = orderBy(order, ...keys.flatMap((one) => one ?? []));
  const skip = cursor === undefined && offset > 0 ? sql` OFFSET ${offset}` : empty;
  const statement = sql`SELECT ${toSql(spec.columns)}, ${placeColumns(order, spec)}${sized}${raw(sorted)}
    FROM ${toSql(spec.from)} WHERE ${afterCursor(spec, order).sql} ${sort} LIMIT ${limit + 1}${skip}`;
  const variant = `${order.sort}${cursor === undefined ? '' : '.after'}${skip === empty ? '' : '.offset'}`;
  const isInOrder = spec.name === undefined && spec.where.isInOrder(key.type === undefined);
  const id = spec.idType === 'int8' ? 'page_id::int8' : 'page_id';
  const page = key.type ? orderBy(order, 'page_sort', id) : orderBy(order, id);
  const limited = spec.bytes === undefined ? statement : withinBytes(statement, page, spec);
  const found = await on.query<Placed<Row>>(
    isInOrder ? indexOrdered(limited, !hasWildcard(spec)) : named(spec, variant, limited),
  );
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const hasMore = found.length > limit || last?.page_has_more === true;
  return { rows, skipped: offset, end: hasMore ? last : undefined };
}

/** Tells whether a list has all columns of its table. Preparing it would fail once a migration has added a column. */
const hasWildcard = ({ columns }: { columns: string | Sql }): boolean => toSql(columns).sql.endsWith('*');

async function countOf<Row>(
  on: SqlExecutor,
  spec: ListSpec<Row>,
  query: ListQueryDto,
): Promise<number | null> {
  if (spec.keep) return null;
  const where = conditionsOf(spec, query);
  if (spec.scan) return countScanned(on, { ...spec, where }, spec.scan, orderOf({ sort: query.sort }, spec));
  const most = raw(String(TOTAL_MAX + 1));
  const statement = sql`SELECT count(*) AS total
    FROM (SELECT 1 FROM ${toSql(spec.from)} WHERE ${where.sql} LIMIT ${most}) counted`;
  // Counts a single filter in its index. The planner chooses for everything else.
  const counting = where.isOfOneFilter ? indexOrdered(statement, true) : named(spec, 'count', statement);
  const [row] = await on.query<{ total: number }>(counting);
  return row && row.total <= TOTAL_MAX ? row.total : null;
}
