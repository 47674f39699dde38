import {
  join,
  microsecondsToTime,
  minuteOf,
  prepared,
  raw,
  type Sql,
  sql,
  type Statement,
  type Where,
} from '#platform/db';
import { checkStart, decodeCursor, encodeCursor, foreignCursor } from './cursor';
import { BY_CREATION, type ListSpec, type RowPlace, type SortKey } from './list-spec';
import { type ListQueryDto, PAGE_BYTES, PAGE_SIZE_DEFAULT } from './page.dto';

/** The order of a page, and where it starts. */
export interface PageOrder {
  sort: string;
  key: SortKey;
  descending: boolean;
  limit: number;
  offset: number;
  cursor: string | undefined;
}

/** Identifies the rows of a list. */
type RowId = Pick<ListSpec, 'id' | 'idType'>;

/** A row of a page. */
export type Placed<Row> = Row &
  RowPlace & {
    /** Whether another selected row follows. Only set for rows with `bytes`, whose page may end before its limit. */
    page_has_more?: boolean;
  };

/** Reads the order of a query. Throws 400 `invalid_query` for a cursor together with an offset. */
export function orderOf(
  query: ListQueryDto,
  { sorts = BY_CREATION, defaultSort = '-created_at' }: Pick<ListSpec, 'sorts' | 'defaultSort'>,
): PageOrder {
  checkStart(query);
  const sort = query.sort ?? defaultSort;
  const descending = sort.startsWith('-');
  const key = (sorts as Record<string, SortKey>)[sort.slice(descending ? 1 : 0)];
  if (!key) throw new Error(`The list's query allows the sort ${sort}, but the list has no such sort.`);
  const limit = query.limit ?? PAGE_SIZE_DEFAULT;
  return { sort, key, descending, limit, offset: query.offset ?? 0, cursor: query.cursor };
}

/** Converts a column list or table name, which may be plain text because it is a constant in the code. */
export const toSql = (text: string | Sql): Sql => (typeof text === 'string' ? raw(text) : text);

/** Orders by these columns, in the direction of the page. */
export const orderBy = ({ descending }: PageOrder, ...columns: string[]): Sql =>
  raw(`ORDER BY ${columns.map((column) => `${column} ${descending ? 'DESC' : 'ASC'}`).join(', ')}`);

/** The columns that `cursorAfter` needs. */
export const placeColumns = ({ key }: PageOrder, { id, idType }: RowId): Sql =>
  raw(`${key.type ? KEYS[key.type].write(key.expression) : 'NULL'} AS page_key,
    ${id}${idType === 'int8' ? '::text' : ''} AS page_id`);

export const cursorAfter = (row: RowPlace, { sort, key }: PageOrder): string =>
  encodeCursor({ sort, key: key.type ? row.page_key : null, id: row.page_id });

/** Returns the conditions for rows after the cursor. Throws 400 `invalid_query` for the cursor of another list or sort. */
export const afterCursor = <Row>(spec: ListSpec<Row>, order: PageOrder): Where =>
  order.cursor === undefined ? spec.where : spec.where.copy().add(isAfter(spec, order, order.cursor));

function isAfter({ id, idType }: RowId, { sort, key, descending }: PageOrder, cursor: string): Sql {
  const position = decodeCursor(cursor);
  const than = raw(descending ? '<' : '>');
  if (position.sort !== sort || (idType === 'int8' && !isInt8(position.id))) throw foreignCursor();
  if (!key.type) {
    if (position.key !== null) throw foreignCursor();
    return sql`${raw(id)} ${than} ${position.id}`;
  }
  const { form, read } = KEYS[key.type];
  if (position.key === null || !form.test(position.key)) throw foreignCursor();
  const place = join([raw(key.expression), raw(id)], ', ');
  const after = sql`(${place}) ${than} (${read(position.key)}, ${position.id})`;
  if (!key.minute) return after;
  return sql`${raw(key.minute)} ${than}= ${minuteOf(read(position.key))} AND ${after}`;
}

const isInt8 = (text: string): boolean => {
  if (!/^-?\d{1,19}$/.test(text)) return false;
  const integer = BigInt(text);
  return integer === BigInt.asIntN(64, integer);
};

/** How keys are written to a cursor and read back. Every text that matches `form` can be read. */
const KEYS = {
  text: {
    write: (expression: string) => `(${expression})::text`,
    form: /^[^\0]*$/,
    read: (key: string) => sql`${key}::text`,
  },
  /** Microseconds since 1970. */
  timestamptz: {
    write: (expression: string) => `(extract(epoch FROM ${expression}) * 1000000)::bigint::text`,
    form: /^\d{1,17}$/,
    read: (key: string) => microsecondsToTime(sql`${key}`),
  },
  /** The shortest text that represents the number. */
  float8: {
    write: (expression: string) => `(${expression})::text`,
    form: /^-?\d{1,400}(\.\d{1,400})?(e[+-]?\d{1,4})?$/,
    read: (key: string) => sql`${Number(key)}::float8`,
  },
};

/** Prepares a statement if the list has a name. */
export const named = ({ name }: Pick<ListSpec, 'name'>, variant: string, statement: Sql): Statement =>
  name === undefined ? statement : prepared(`${name}.${variant}`, statement);

/**
 * Selects the rows of a page that are within its byte limit, and at least the first. PostgreSQL stores large values apart from
 * their rows, and does not read the values of omitted rows.
 */
export const withinBytes = (
  rows: Sql,
  sort: Sql,
  { maxBytes = PAGE_BYTES }: Pick<ListSpec, 'maxBytes'>,
): Sql =>
  sql`SELECT * FROM (
    SELECT *, sum(page_bytes) OVER page AS page_bytes_total, lead(true, 1, false) OVER page AS page_has_more
    FROM (${rows}) page_rows WINDOW page AS (${sort} ROWS UNBOUNDED PRECEDING)
  ) within WHERE page_bytes_total <= ${maxBytes} OR page_bytes_total = page_bytes ${sort}`;
