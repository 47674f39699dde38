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
    return on.query<AllowedResource>(
      sql`SELECT CASE WHEN ${this.id} = ANY (${references}::text[]) THEN ${this.id} ELSE name END AS reference,
          ${this.id} AS id
        FROM ${this.table}
        WHERE org_id = ${orgId} AND archived_at IS NULL
          AND (${workspaceIds}::text[] IS NULL OR workspace_id = ANY (${workspaceIds}::text[]))
          AND (name = ANY (${references}::text[]) OR ${this.id} = ANY (${references}::text[]))`,
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
