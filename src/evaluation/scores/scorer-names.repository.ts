import type { Scope } from '#platform/auth';
import { sql, type SqlExecutor } from '#platform/db';

/** Returns the names that no scorer of the workspace has, and no score. Archived scorers count. */
export async function unknownScorers(
  on: SqlExecutor,
  { workspaceId }: Scope,
  names: readonly string[],
): Promise<string[]> {
  const workspace = sql`workspace_id = (SELECT ${workspaceId}::text)`;
  const rows = await on.query<{ name: string }>(
    sql`SELECT name FROM unnest(${names}::text[]) AS given(name)
      WHERE NOT EXISTS (SELECT FROM scores s WHERE s.${workspace} AND s.scorer_name = given.name OFFSET 0)
        AND NOT EXISTS (SELECT FROM scorers s WHERE s.${workspace} AND s.name COLLATE "C" = given.name OFFSET 0)`,
  );
  return rows.map(({ name }) => name);
}
