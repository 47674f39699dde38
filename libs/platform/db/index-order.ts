import type { SqlExecutor } from './executor';

/**
 * Has the statements that follow in a transaction read tables along indexes, in the order of those, wherever one fits. For
 * pages: how many rows a tenant, or a trace, has is not what PostgreSQL expects of it by its statistics, and where it
 * expects fewer than a page has, it may read all of them to sort them.
 */
export async function followIndexes(on: SqlExecutor): Promise<void> {
  await on.query(
    'SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off',
  );
}
