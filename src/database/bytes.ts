/**
 * The column `bytes` of a table whose rows may be large: about how long a row is as JSON. Lists end their pages by it,
 * see `ListSpec.bytes`, because looking at the values themselves would mean to read them.
 */
export const bytesColumn = (...columns: string[]): string =>
  `bytes integer NOT NULL GENERATED ALWAYS AS (${columns
    .map((column) => `coalesce(octet_length(${column}::text), 0)`)
    .join(' + ')}) STORED`;
