import { Injectable } from '@nestjs/common';
import type { OrgScope, Role } from '#platform/auth';
import { Database, prepared, sql, type SqlExecutor } from '#platform/db';

/** A user or a service account. */
export interface PrincipalRow {
  name: string | null;
  /** Roles of a user in the organization, or of a service account in its workspaces. */
  roles: Role[];
  archived_at: Date | null;
}

/** Returns the type of a principal. A `user_id` never begins with `sva_`. */
export const principalTypeOf = (principalId: string): 'user' | 'service_account' =>
  principalId.startsWith('sva_') ? 'service_account' : 'user';

/** Finds users and service accounts by their ids. */
@Injectable()
export class PrincipalRepository {
  constructor(private readonly database: Database) {}

  async find(
    { orgId }: OrgScope,
    principalId: string,
    on: SqlExecutor = this.database,
  ): Promise<PrincipalRow | null> {
    const statement = sql`
      SELECT display_name AS name, roles, archived_at FROM users
      WHERE org_id = ${orgId} AND user_id = ${principalId}
      UNION ALL
      SELECT name, roles, archived_at FROM service_accounts
      WHERE org_id = ${orgId} AND service_account_id = ${principalId}`;
    const [row] = await on.query<PrincipalRow>(prepared('find-principal', statement));
    return row ?? null;
  }
}
