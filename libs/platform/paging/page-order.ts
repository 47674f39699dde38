import { join, microsecondsToTime, minuteOf, raw, type Sql, sql } from '#platform/db';
import { problem } from '#platform/problem';
import { decodeCursor, encodeCursor } from './cursor';
import { type ListQueryDto, PAGE_SIZE_DEFAULT } from './page.dto';
import type { SortKey } from './sorts';

/** The order of a page, and where it starts. */
export interface PageOrder {
  sort: string;
  key: SortKey;
  descending: boolean;
  limit: number;
  offset: number;
  cursor: string | undefined;
}

/** Position of a row in its list: the columns of `placeColumns`. */
export interface RowPlace {
  page_key: string | null;
  page_id: string;
}

/** Identifies the rows of a list. */
export interface RowId {
  /** The expression of the row's own id. */
  id: string;
  /** Defaults to `text`. */
  idType?: 'text' | 'int8';
}

/** Reads the order of a query. Throws 400 `invalid_query` for a cursor together with an offset. */
export function orderOf(query: ListQueryDto, sorts: Record<string, SortKey>, defaultSort: string): PageOrder {
  if (query.cursor !== undefined && query.offset !== undefined) {
    throw problem.invalidQuery('cursor', 'cannot be combined with offset');
  }
  const sort = query.sort ?? defaultSort;
  const descending = sort.startsWith('-');
  const key = sorts[sort.slice(descending ? 1 : 0)];
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

/** Returns the condition for rows after a cursor. Throws 400 `invalid_query` for the cursor of another list or sort. */
export function isAfter({ id, idType }: RowId, { sort, key, descending }: PageOrder, cursor: string): Sql {
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

const foreignCursor = () => problem.invalidQuery('cursor', 'belongs to another list or sort');

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
