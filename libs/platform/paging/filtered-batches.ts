import { indexOrdered, raw, type Sql, sql, type SqlExecutor } from '#platform/db';

/** Limits of one statement: the rows that it examines, and the bytes that it returns. */
const BATCH_ROWS = 500;
const BATCH_BYTES = 1024 * 1024;

/** A filtered table that is read in the order of its ids. */
interface FilteredTable {
  columns: string;
  /** Selects the rows to examine after an id, with their `id`, in the order of their ids. */
  examined: (after: string) => Sql;
  /** Selects those of the rows `examined` that meet the filters, with `columns`, `id` and their `size` in bytes. */
  matches: Sql;
}

interface Place {
  id: string | null;
  has_more: boolean | null;
  /** The last row that the statement examined, and the number of examined rows. */
  examined_last: string | null;
  examined_count: number;
}

/**
 * Yields the rows that meet the filters, in batches. Holds no connection between batches. A batch is empty if the filters
 * exclude all the rows that it examined. The reader may stop after any batch.
 */
export async function* filteredBatches<Row>(
  on: SqlExecutor,
  { columns, examined, matches }: FilteredTable,
): AsyncGenerator<Row[], void, undefined> {
  for (let after: string | null = ''; after !== null;) {
    const rows: (Row & Place)[] = await on.query<Row & Place>(
      indexOrdered(sql`WITH examined AS MATERIALIZED (${examined(after)} LIMIT ${raw(String(BATCH_ROWS))}),
        matches AS (
          SELECT *, sum(size) OVER page - size AS bytes_before, lead(true, 1, false) OVER page AS has_more
          FROM (${matches}) matching WINDOW page AS (ORDER BY id ROWS UNBOUNDED PRECEDING)
        )
        SELECT ${raw(columns)}, id, has_more, examined_last, examined_count
        FROM (SELECT max(id) AS examined_last, count(*) AS examined_count FROM examined) summary
        LEFT JOIN matches ON bytes_before < ${raw(String(BATCH_BYTES))}
        ORDER BY id`),
    );
    const { id, has_more, examined_last, examined_count } = rows.at(-1)!;
    yield rows.flatMap(({ id, has_more: _, examined_last: _last, examined_count: _count, ...row }) =>
      id === null ? [] : (row as unknown as Row),
    );
    after = has_more ? id : examined_count < BATCH_ROWS ? null : examined_last;
  }
}
