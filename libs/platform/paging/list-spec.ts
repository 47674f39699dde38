import type { Sql, Where } from '#platform/db';

/** A member that a list can be sorted by. */
export interface SortKey {
  /** SQL expression, never null. An index over (tenant, expression, id) makes every page cost the same. */
  expression: string;
  /** The type of the key in a cursor. Absent: the key is the id itself, which sorts by time of creation. */
  type?: 'text' | 'timestamptz' | 'float8';
  /** A column with the minute of the time. An index contains it in place of the time, see `BY_FREQUENT_CHANGE`. */
  minute?: string;
}

/** Sorts of lists whose rows never change: by id, which sorts by time of creation. */
export const BY_CREATION = { created_at: { expression: '' } } satisfies Record<string, SortKey>;

/** Sorts of lists whose rows change. */
export const BY_CHANGE = {
  ...BY_CREATION,
  updated_at: { expression: 'updated_at', type: 'timestamptz' },
} satisfies Record<string, SortKey>;

/**
 * Sorts of lists whose rows change several times a minute. Their table has a generated column `updated_minute`, so that
 * most changes do not change any indexed value, and PostgreSQL writes to no index (a heap-only update).
 */
export const BY_FREQUENT_CHANGE = {
  ...BY_CHANGE,
  updated_at: { ...BY_CHANGE.updated_at, minute: 'updated_minute' },
} satisfies Record<string, SortKey>;

/** Sorts of lists whose rows also have a name. Names sort by code point. */
export const BY_NAME = {
  ...BY_CHANGE,
  name: { expression: 'name COLLATE "C"', type: 'text' },
} satisfies Record<string, SortKey>;

/** Position of a row in its list. Each row of a page has it. */
export interface RowPlace {
  page_key: string | null;
  page_id: string;
}

/** A list, or a range of one. */
export interface ListSpec<Row = unknown> {
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
  /** The time of creation, which `since` and `until` filter. Absent: the list has no such filters, or `where` contains them. */
  createdAt?: string;
  /** Excludes archived rows unless the query includes them. Absent: rows are never archived. */
  archivedAt?: string;
  /**
   * The expression of a row's size in bytes, for rows that may be large: a page ends early, with a cursor, before it exceeds
   * `maxBytes`, but after at least one row. Absent: rows are small.
   */
  bytes?: string | Sql;
  /** Defaults to `PAGE_BYTES`. */
  maxBytes?: number;
  /** Counts the rows. Default: by the conditions. Returns null for more than TOTAL_MAX. Required for several ranges. */
  count?: () => Promise<number | null>;
  /** Filters rows by a part of the condition that is outside of the statement. Keeps their order. */
  keep?: <Kept extends Row & RowPlace>(rows: readonly Kept[]) => Promise<Kept[]>;
  /**
   * Prepares the statements under this name. Only for a hot list whose plan does not depend on the values. `columns`, `from`
   * and the text of the conditions must always be the same, and rows must never be archived.
   */
  name?: string;
  /** Conditions that no index serves. `columns` and the conditions refer to a row `t`, which is also its name in `from`. */
  scan?: ScanRules;
}

/** Conditions of a list that are checked row by row. An index serves the rest: it ends with the sort key and the id. */
export interface ScanRules {
  /** A condition on the row's own columns. */
  condition?: Sql;
  /** A condition on other tables, by keys of the row. Only checked for rows that meet `condition`. */
  lookup?: Sql;
  /** The approximate number of rows that `lookup` reads, as an expression over a row. */
  cost?: Sql;
}
