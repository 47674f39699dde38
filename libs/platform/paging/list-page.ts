import type { SqlExecutor, Where } from '#platform/db';
import { problem } from '#platform/problem';
import { decodeCursor, encodeCursor } from './cursor';
import { type ListQueryDto, PAGE_BYTES, PAGE_SIZE_DEFAULT, TOTAL_MAX } from './page.dto';
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

type Keyed<Row> = Row & {
  page_key: string | null;
  page_id: string;
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
  const limit = query.limit ?? PAGE_SIZE_DEFAULT;
  const offset = query.offset ?? 0;
  if (query.cursor !== undefined && query.offset !== undefined) {
    throw problem.invalidQuery('cursor', 'cannot be combined with offset');
  }
  const sorts: Record<string, SortKey> = spec.sorts ?? BY_CREATION;
  const sort = query.sort ?? spec.defaultSort ?? '-created_at';
  const descending = sort.startsWith('-');
  const key = sorts[sort.slice(descending ? 1 : 0)];
  if (!key) throw new Error(`The list's query takes the sort ${sort}, which the list does not have.`);
  const where = spec.where.copy();
  if (spec.archivedAt && query.include_archived !== true) where.add(`${spec.archivedAt} IS NULL`);

  const count = spec.count ? spec.count() : countRows(on, spec.from, where);
  const order = { sort, key, descending, limit, offset, cursor: query.cursor };
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

interface PageOrder {
  sort: string;
  key: SortKey;
  descending: boolean;
  limit: number;
  offset: number;
  cursor: string | undefined;
}

const cursorAfter = (row: Keyed<unknown>, { sort, key }: PageOrder): string =>
  encodeCursor({ sort, key: key.type ? row.page_key : null, id: row.page_id });

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
  const direction = order.descending ? 'DESC' : 'ASC';
  const orderBy = (...columns: string[]) =>
    `ORDER BY ${columns.map((column) => `${column} ${direction}`).join(', ')}`;
  const cursorKey = key.type ? KEYS[key.type].written(key.expression) : 'NULL';
  const columns = [spec.columns, `${cursorKey} AS page_key`, `${spec.id}${spec.idType === 'int8' ? '::text' : ''} AS page_id`];
  if (spec.bytes !== undefined) columns.push(`${spec.bytes} AS page_bytes`);
  if (spec.bytes !== undefined && key.type) columns.push(`${key.expression} AS page_sort`);
  const limit = where.parameter(order.limit + 1);
  const skip =
    order.cursor === undefined && order.offset > 0 ? ` OFFSET ${where.parameter(order.offset)}` : '';
  const rows = `SELECT ${columns.join(', ')} FROM ${spec.from} WHERE ${where.toString()}
    ${key.type ? orderBy(key.expression, spec.id) : orderBy(spec.id)} LIMIT ${limit}${skip}`;
  const sort = key.type ? orderBy('page_sort', 'page_id') : orderBy('page_id');
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

function addKeyset(
  where: Where,
  { id, idType = 'text' }: Pick<ListSpec, 'id' | 'idType'>,
  { sort, key, descending }: PageOrder,
  cursor: string,
): void {
  const position = decodeCursor(cursor);
  const than = descending ? '<' : '>';
  if (position.sort !== sort || (idType === 'int8' && !isInt8(position.id))) throw foreign();
  if (!key.type) {
    if (position.key !== null) throw foreign();
    where.add(`${id} ${than} ?`, position.id);
    return;
  }
  const { form, read } = KEYS[key.type];
  if (position.key === null || !form.test(position.key)) throw foreign();
  where.add(`(${key.expression}, ${id}) ${than} (${read}, ?)`, position.key, position.id);
}

const isInt8 = (text: string): boolean => {
  if (!/^-?\d{1,19}$/.test(text)) return false;
  const integer = BigInt(text);
  return integer === BigInt.asIntN(64, integer);
};

const foreign = () => problem.invalidQuery('cursor', 'belongs to another list or sort');

/** How keys stand in a cursor, such that whatever is of the form can be read. Times are microseconds since 1970. */
const KEYS = {
  text: { written: (expression: string) => `(${expression})::text`, form: /^[^\0]*$/, read: '?::text' },
  timestamptz: {
    written: (expression: string) => `(extract(epoch FROM ${expression}) * 1000000)::bigint::text`,
    form: /^\d{1,17}$/,
    read: `timestamptz '1970-01-01 00:00:00+00' + ?::bigint * interval '1 microsecond'`,
  },
};

async function countRows(on: SqlExecutor, from: string, where: Where): Promise<number | null> {
  const [row] = await on.query<{ total: number }>(
    `SELECT count(*) AS total FROM (SELECT 1 FROM ${from} WHERE ${where.toString()} LIMIT ${TOTAL_MAX + 1}) counted`,
    where.values,
  );
  return row && row.total <= TOTAL_MAX ? row.total : null;
}
