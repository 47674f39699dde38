import { Injectable } from '@nestjs/common';
import type { AccountStatus, Allow, Role } from '#platform/auth';
import { Database, prepared, type Sql, sql, type Tx } from '#platform/db';
import type { RawJson } from '#platform/json';

/** An account with its memberships, as needed for authentication. */
export interface AccountRow {
  org_status: AccountStatus;
  /** Null if the organization has no such account. */
  status: AccountStatus | null;
  roles: Role[] | null;
  /** Null for users, because they can access every workspace. */
  workspace_ids: string[] | null;
  memberships: [workspaceId: string, roles: Role[]][];
  /** What the key allows. Null for no limits. */
  allow: Allow | null;
  /** `allow` of the key that a token was exchanged for; null if there is no such key. */
  key_allow?: [Allow | null] | null;
}

export interface KeyHolderRow extends AccountRow {
  key_id: string;
  expires_at: Date | null;
  org_id: string;
  service_account_id: string;
}

export interface WorkspaceRow {
  archived: boolean;
  /** A list of `MaskingRule`. */
  masking: RawJson;
}

const membershipsOf = (principalId: Sql): Sql => sql`
  COALESCE((
    SELECT jsonb_agg(jsonb_build_array(m.workspace_id, to_jsonb(m.roles)))
    FROM workspace_members m WHERE m.org_id = o.org_id AND m.principal_id = ${principalId}
  ), '[]') AS memberships`;

/** Looks up accounts for authentication, each with one prepared statement. */
@Injectable()
export class AccountDirectoryRepository {
  constructor(private readonly database: Database) {}

  /** Returns null for an unknown organization. */
  async findUser(orgId: string, userId: string): Promise<AccountRow | null> {
    const statement = sql`
      SELECT o.status AS org_status, u.status, u.roles, NULL AS workspace_ids, NULL AS allow,
        ${membershipsOf(sql`${userId}`)}
      FROM organizations o LEFT JOIN users u ON u.org_id = o.org_id AND u.user_id = ${userId}
      WHERE o.org_id = ${orgId}`;
    const [row] = await this.database.query<AccountRow>(prepared('auth-find-user', statement));
    return row ?? null;
  }

  /**
   * Returns null for an unknown organization. The status of an archived service account is null.
   *
   * @param keyId the key that the token was exchanged for; null for other tokens
   */
  async findServiceAccount(orgId: string, id: string, keyId: string | null): Promise<AccountRow | null> {
    const statement = sql`
      SELECT o.status AS org_status, s.status, s.roles, s.workspace_ids, ${membershipsOf(sql`${id}`)},
        (SELECT jsonb_build_array(allow) FROM api_keys
          WHERE key_id = ${keyId} AND org_id = ${orgId} AND service_account_id = ${id}) AS key_allow,
        NULL AS allow
      FROM organizations o
      LEFT JOIN service_accounts s
        ON s.org_id = o.org_id AND s.service_account_id = ${id} AND s.archived_at IS NULL
      WHERE o.org_id = ${orgId}`;
    const [row] = await this.database.query<AccountRow>(prepared('auth-find-service-account', statement));
    return row ?? null;
  }

  async findKeyHolder(hash: Buffer): Promise<KeyHolderRow | null> {
    const statement = sql`
      SELECT k.key_id, k.expires_at, s.org_id, s.service_account_id, o.status AS org_status, s.status, s.roles,
        s.workspace_ids, k.allow, ${membershipsOf(sql`s.service_account_id`)}
      FROM api_keys k
      JOIN service_accounts s ON s.service_account_id = k.service_account_id AND s.archived_at IS NULL
      JOIN organizations o ON o.org_id = s.org_id
      WHERE k.hash = ${hash} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`;
    const [row] = await this.database.query<KeyHolderRow>(prepared('auth-find-key-holder', statement));
    return row ?? null;
  }

  /** @param keyId the key that the token was exchanged for; null for other tokens */
  async isRevoked(issuer: string, jti: string, orgId: string | null, keyId: string | null): Promise<boolean> {
    const statement = sql`
      SELECT EXISTS (
        SELECT FROM revoked_tokens
        WHERE issuer = ${issuer} AND jti = ${jti} AND org_id = ${orgId ?? ''}
          AND (expires_at IS NULL OR expires_at > now())
      ) OR EXISTS (
        SELECT FROM api_keys WHERE key_id = ${keyId} AND (revoked_at IS NOT NULL OR expires_at <= now())
      ) AS revoked`;
    const [row] = await this.database.query<{ revoked: boolean }>(prepared('auth-is-revoked', statement));
    return row?.revoked === true;
  }

  async findWorkspace(orgId: string, workspaceId: string): Promise<WorkspaceRow | null> {
    const statement = sql`
      SELECT archived_at IS NOT NULL AS archived, masking FROM workspaces
      WHERE workspace_id = ${workspaceId} AND org_id = ${orgId}`;
    const [row] = await this.database.query<WorkspaceRow>(prepared('auth-find-workspace', statement));
    return row ?? null;
  }

  /** Creates a user on the first request. @returns false if the user already exists */
  async provisionUser(tx: Tx, orgId: string, userId: string, userRef: string): Promise<boolean> {
    const inserted = await tx.query(
      sql`INSERT INTO users (user_ref, org_id, user_id, created_by)
        VALUES (${userRef}, ${orgId}, ${userId}, ${userId})
        ON CONFLICT (org_id, user_id) DO NOTHING RETURNING user_ref`,
    );
    return inserted.length > 0;
  }
}
