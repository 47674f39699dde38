import type { SqlExecutor, Statement } from './executor';

/** Rows per writing statement. Limits its memory, and the time for which building it blocks other requests. */
const CHUNK = 1_000;
/** Characters per writing statement, unless one row has more. */
const CHUNK_LENGTH = 2 * 1024 * 1024;

/**
 * Writes rows in chunks, in their order. Returns the rows that all statements returned.
 *
 * @param lengthOf returns the length of a row in characters. Pass it if rows may be large.
 */
export async function inChunks<Row, Returned>(
  rows: readonly Row[],
  write: (chunk: readonly Row[]) => Promise<Returned[]>,
  lengthOf: (row: Row) => number = () => 0,
): Promise<Returned[]> {
  const returned: Returned[] = [];
  for (let start = 0; start < rows.length;) {
    let end = start;
    for (let length = 0; end < rows.length && end - start < CHUNK && length < CHUNK_LENGTH; end++) {
      length += lengthOf(rows[end]!);
    }
    for (const one of await write(rows.slice(start, end))) returned.push(one);
    start = end;
  }
  return returned;
}

/** Rows per deleting statement. */
export const DELETE_BATCH = 2_000;

/** Repeats a statement that deletes up to DELETE_BATCH rows and returns their number as `deleted`, until it deletes fewer. */
export async function deleteInBatches(database: SqlExecutor, statement: Statement): Promise<void> {
  for (let deleted = DELETE_BATCH; deleted === DELETE_BATCH;) {
    const [row] = await database.query<{ deleted: number }>(statement);
    deleted = row?.deleted ?? 0;
  }
}
