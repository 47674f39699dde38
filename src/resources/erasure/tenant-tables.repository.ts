import { Injectable } from '@nestjs/common';
import { Database, empty, raw, type Sql, sql, type SqlExecutor, type Tx } from '#platform/db';

/** The columns that name the tenant of a row. */
export type TenantColumn = 'workspace_id' | 'org_id';

/** A table with rows of tenants, and the condition that finds them by an index. */
export interface TenantTable {
  name: string;
  hasWorkspace: boolean;
  /** Columns of a foreign key to a table whose index finds the tenant's rows, if no index of the table itself does. */
  via: { columns: string[]; parent: string; parentColumns: string[] } | null;
}

interface CatalogRow {
  name: string;
  has_workspace: boolean;
  has_org: boolean;
  /** First columns of its indexes that cover all rows. */
  indexed: string[];
}

interface ForeignKey {
  child: string;
  parent: string;
  columns: string[];
  parent_columns: string[];
}

/**
 * Tables that erasures of workspaces and organizations do not touch: receipts, and tables with steps of their own.
 * `erasure_items` are deleted when the erasure ends, and the place itself last.
 */
const EXCLUDED = new Set([
  'erasures',
  'erasure_items',
  'idempotency_keys',
  'blobs',
  'blob_writes',
  'storage_usage',
  'workspaces',
  'organizations',
]);

/** Rows per statement. */
const BATCH = 1_000;

/**
 * Deletes the rows of workspaces and organizations from every table. The tables are read from the catalog of the database, so
 * that no table can be forgotten: each that has a `workspace_id` or an `org_id` is covered if an index starts with it, or if a
 * foreign key leads to such a table. Tables without either column are covered by foreign keys that cascade.
 */
@Injectable()
export class TenantTables {
  constructor(private readonly database: Database) {}

  /** Returns the workspaces of an organization, in the order of their ids. */
  async workspaces(orgId: string): Promise<string[]> {
    const rows = await this.database.query<{ workspace_id: string }>(
      sql`SELECT workspace_id FROM workspaces WHERE org_id = ${orgId} ORDER BY workspace_id`,
    );
    return rows.map(({ workspace_id }) => workspace_id);
  }

  /** Deletes a batch of a tenant's rows of a table. Returns how many were deleted. */
  async delete(tx: Tx, table: TenantTable, column: TenantColumn, id: string): Promise<number> {
    const rows = await tx.query(
      sql`DELETE FROM ${raw(table.name)} WHERE ctid = ANY(ARRAY(${this.select('ctid', table, column, id)}
        LIMIT ${BATCH})) RETURNING 1`,
    );
    return rows.length;
  }

  /** Counts a tenant's rows of a table. For an organization, only those outside of workspaces. */
  async count(tx: Tx, table: TenantTable, column: TenantColumn, id: string): Promise<number> {
    if (column === 'org_id' && table.hasWorkspace && table.via) return 0;
    const outside = column === 'org_id' && table.hasWorkspace ? sql` AND workspace_id IS NULL` : empty;
    const [row] = await tx.query<{ count: number }>(
      sql`SELECT count(*) AS count FROM (${this.select('1 AS one', table, column, id, false)}${outside}) selected`,
    );
    return row!.count;
  }

  /** Deletes the row of a workspace, or of an organization after its workspaces. */
  async deletePlace(tx: Tx, orgId: string, workspaceId: string | null): Promise<void> {
    if (workspaceId !== null) {
      await tx.query(
        sql`UPDATE service_accounts SET workspace_ids = array_remove(workspace_ids, ${workspaceId}), generation = generation + 1
          WHERE org_id = ${orgId} AND ${workspaceId} = ANY (workspace_ids)`,
      );
      await tx.query(sql`DELETE FROM workspaces WHERE org_id = ${orgId} AND workspace_id = ${workspaceId}`);
      return;
    }
    await tx.query(sql`DELETE FROM workspaces WHERE org_id = ${orgId}`);
    await tx.query(sql`DELETE FROM storage_usage WHERE org_id = ${orgId}`);
    await tx.query(
      sql`DELETE FROM erasure_items i USING erasures e
        WHERE e.org_id = ${orgId} AND e.erasure_id = i.erasure_id AND (e.subject_kind <> 'org' OR e.dry_run)`,
    );
    await tx.query(sql`DELETE FROM erasures WHERE org_id = ${orgId} AND (subject_kind <> 'org' OR dry_run)`);
    await tx.query(sql`DELETE FROM organizations WHERE org_id = ${orgId}`);
  }

  private select(
    columns: string,
    { name, via }: TenantTable,
    column: TenantColumn,
    id: string,
    isBatch = true,
  ): Sql {
    const tenant = raw(column);
    if (!via) return sql`SELECT ${raw(columns)} FROM ${raw(name)} WHERE ${tenant} = ${id}`;
    const join = via.columns
      .map((one, index) => `child.${one} = parent.${via.parentColumns[index]}`)
      .join(' AND ');
    return sql`SELECT child.* FROM ${raw(via.parent)} parent CROSS JOIN LATERAL (
        SELECT ${raw(columns)} FROM ${raw(name)} child WHERE ${raw(join)}${isBatch ? sql` LIMIT ${BATCH}` : empty}
      ) child WHERE parent.${tenant} = ${id}`;
  }

  /** Returns the tables with rows of a tenant, in the order in which they can be deleted. */
  async tables(column: TenantColumn, on: SqlExecutor = this.database): Promise<TenantTable[]> {
    const rows = await on.query<CatalogRow>(CATALOG);
    const keys = await on.query<ForeignKey>(FOREIGN_KEYS);
    const has = column === 'workspace_id' ? 'has_workspace' : 'has_org';
    const indexed = new Set(
      rows.filter((row) => row[has] && row.indexed.includes(column)).map(({ name }) => name),
    );
    const tables = rows.flatMap(({ name, ...row }): TenantTable[] => {
      const hasWorkspace = row.has_workspace;
      if (!row[has] || EXCLUDED.has(name)) return [];
      if (indexed.has(name)) return [{ name, hasWorkspace, via: null }];
      const key = keys.find(
        ({ child, parent }) =>
          child === name && parent !== name && indexed.has(parent) && !EXCLUDED.has(parent),
      );
      if (!key) return [];
      const via = { columns: key.columns, parent: key.parent, parentColumns: key.parent_columns };
      return [{ name, hasWorkspace, via }];
    });
    return childrenFirst(tables, keys);
  }
}

/** Orders tables so that each comes before those that it refers to. */
function childrenFirst(tables: readonly TenantTable[], keys: readonly ForeignKey[]): TenantTable[] {
  const ordered: TenantTable[] = [];
  const visited = new Set<string>();
  const visit = (name: string): void => {
    if (visited.has(name)) return;
    visited.add(name);
    for (const { child } of keys.filter(({ parent }) => parent === name)) visit(child);
    const table = tables.find((one) => one.name === name);
    if (table) ordered.push(table);
  };
  for (const { name } of tables) visit(name);
  return ordered;
}

/** The tables of the service, without those of the queue. Of a partitioned table, its partitions. */
const CATALOG = `
  SELECT c.relname::text AS name,
    EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'workspace_id' AND NOT a.attisdropped) AS has_workspace,
    EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'org_id' AND NOT a.attisdropped) AS has_org,
    ARRAY(SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
      WHERE i.indrelid = c.oid AND i.indpred IS NULL AND i.indisvalid) AS indexed
  FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY c.relname`;

const FOREIGN_KEYS = `
  SELECT child.relname::text AS child, parent.relname::text AS parent,
    ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY n (attnum, place)
      JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n.attnum ORDER BY place) AS columns,
    ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY n (attnum, place)
      JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = n.attnum ORDER BY place) AS parent_columns
  FROM pg_constraint k JOIN pg_class child ON child.oid = k.conrelid JOIN pg_class parent ON parent.oid = k.confrelid
  WHERE k.contype = 'f' AND child.relnamespace = current_schema()::regnamespace ORDER BY 1, 2`;
