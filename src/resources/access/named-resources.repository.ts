import type { OrgScope } from '#platform/auth';
import { raw, type Sql, sql, type SqlExecutor } from '#platform/db';
import type { AllowedKind, AllowedResource } from './allowed-kinds';

/** Finds resources whose names are unique in their workspace, by name or id. */
export class NamedResources implements AllowedKind {
  private readonly table: Sql;
  private readonly id: Sql;

  /** @param id the column of the ids */
  constructor(table: string, id: string) {
    this.table = raw(table);
    this.id = raw(id);
  }

  find(
    on: SqlExecutor,
    { orgId }: OrgScope,
    workspaceIds: readonly string[] | null,
    references: readonly string[],
  ): Promise<AllowedResource[]> {
    const live = sql`org_id = ${orgId} AND archived_at IS NULL
      AND (${workspaceIds}::text[] IS NULL OR workspace_id = ANY (${workspaceIds}::text[]))`;
    return on.query<AllowedResource>(
      sql`SELECT name AS reference, ${this.id} AS id FROM ${this.table}
        WHERE name = ANY (${references}::text[]) AND ${live}
        UNION
        SELECT ${this.id}, ${this.id} FROM ${this.table} WHERE ${this.id} = ANY (${references}::text[]) AND ${live}`,
    );
  }

  async namesOf(
    on: SqlExecutor,
    { orgId }: OrgScope,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    const rows = await on.query<{ id: string; name: string }>(
      sql`SELECT ${this.id} AS id, name FROM ${this.table}
        WHERE ${this.id} = ANY (${ids}::text[]) AND (org_id = ${orgId}) IS TRUE`,
    );
    return new Map(rows.map(({ id, name }) => [id, name]));
  }
}
