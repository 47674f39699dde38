import type { Database } from '#platform/db';

/** Internal tables of the service, which rejected requests may change. */
const OWN_TABLES = /^(idempotency|job_outbox|migrations)/;

/**
 * Returns a digest of each table's rows that belong to a workspace or, in tables without workspaces, to an organization.
 *
 * @param which `placed` for only the tables with workspaces
 */
export async function digestOf(
  database: Database,
  orgId: string,
  workspaceId: string,
  which: 'all' | 'placed' = 'all',
): Promise<Record<string, string>> {
  const columns = await database.query<{ table_name: string; column_name: string }>(
    `SELECT c.table_name, c.column_name FROM information_schema.columns c
     JOIN information_schema.tables t USING (table_schema, table_name)
     WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.column_name IN ('org_id', 'workspace_id')
     ORDER BY 1, 2`,
  );
  const tables = [...new Set(columns.map((one) => one.table_name))].filter((name) => !OWN_TABLES.test(name));
  const digests: Record<string, string> = {};
  for (const table of tables) {
    const has = (column: string) =>
      columns.some((one) => one.table_name === table && one.column_name === column);
    if (which === 'placed' && !has('workspace_id')) continue;
    const condition = has('workspace_id') ? 'workspace_id = $2' : 'org_id = $1';
    const [row] = await database.query<{ digest: string; rows: number }>(
      `SELECT count(*) AS rows, coalesce(md5(string_agg(md5(t::text), '' ORDER BY md5(t::text))), '') AS digest
       FROM "${table}" t WHERE ${condition} AND $1::text IS NOT NULL AND $2::text IS NOT NULL`,
      [orgId, workspaceId],
    );
    digests[table] = `${row!.rows} ${row!.digest}`;
  }
  return digests;
}
