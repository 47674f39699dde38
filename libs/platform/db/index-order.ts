import type { SqlExecutor } from './executor';

/**
 * Makes the following statements of a transaction read tables in index order wherever an index fits. For pages: the
 * planner's statistics do not know how many rows a tenant or a trace has. If it expects fewer rows than a page has, it may
 * read and sort all of them.
 */
export async function followIndexes(on: SqlExecutor): Promise<void> {
  await on.query(
    'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off',
  );
}
