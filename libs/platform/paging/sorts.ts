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
