import type { PreparedStatement, SqlExecutor } from '#platform/db';

/** Rows per statement. */
export const BATCH = 2_000;

/** Deletes by a statement that deletes a batch at most, and answers how many were `gone`, until there are no more. */
export async function deleteInBatches(
  database: SqlExecutor,
  statement: PreparedStatement,
  values: readonly unknown[],
): Promise<void> {
  for (let gone = BATCH; gone === BATCH;) {
    const [row] = await database.query<{ gone: number }>(statement, values);
    gone = row?.gone ?? 0;
  }
}
