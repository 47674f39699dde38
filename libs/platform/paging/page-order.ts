import { timeOfMicroseconds, type Where } from '#platform/db';
import { problem } from '#platform/problem';
import { decodeCursor, encodeCursor } from './cursor';
import { type ListQueryDto, PAGE_SIZE_DEFAULT } from './page.dto';
import type { SortKey } from './sorts';

/** In which order, and from where on, a page is asked for. */
export interface PageOrder {
  sort: string;
  key: SortKey;
  descending: boolean;
  limit: number;
  offset: number;
  cursor: string | undefined;
}

/** Where a row stands in its list: columns of `placeColumns`. */
export interface RowPlace {
  page_key: string | null;
  page_id: string;
}

/** What tells the rows of a list from one another. */
export interface RowId {
  /** The expression of the row's own id. */
  id: string;
  /** `text` unless given. */
  idType?: 'text' | 'int8';
}

/** What a query asks for. Error: 400 `invalid_query` for a cursor together with an offset. */
export function orderOf(query: ListQueryDto, sorts: Record<string, SortKey>, defaultSort: string): PageOrder {
  if (query.cursor !== undefined && query.offset !== undefined) {
    throw problem.invalidQuery('cursor', 'cannot be combined with offset');
  }
  const sort = query.sort ?? defaultSort;
  const descending = sort.startsWith('-');
  const key = sorts[sort.slice(descending ? 1 : 0)];
  if (!key) throw new Error(`The list's query takes the sort ${sort}, which the list does not have.`);
  const limit = query.limit ?? PAGE_SIZE_DEFAULT;
  return { sort, key, descending, limit, offset: query.offset ?? 0, cursor: query.cursor };
}

/** `ORDER BY` these columns, in the direction of the page. */
export const orderedBy = ({ descending }: PageOrder, ...columns: string[]): string =>
  `ORDER BY ${columns.map((column) => `${column} ${descending ? 'DESC' : 'ASC'}`).join(', ')}`;

/** What a statement has to select for `cursorAfter`. */
export const placeColumns = ({ key }: PageOrder, { id, idType }: RowId): string[] => [
  `${key.type ? KEYS[key.type].written(key.expression) : 'NULL'} AS page_key`,
  `${id}${idType === 'int8' ? '::text' : ''} AS page_id`,
];

export const cursorAfter = (row: RowPlace, { sort, key }: PageOrder): string =>
  encodeCursor({ sort, key: key.type ? row.page_key : null, id: row.page_id });

/** Narrows to the rows after a cursor. Error: 400 `invalid_query` for the cursor of another list or sort. */
export function addKeyset(
  where: Where,
  { id, idType }: RowId,
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
    read: timeOfMicroseconds('?'),
  },
};
