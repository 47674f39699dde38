import { Injectable } from '@nestjs/common';
import type { AccountStatus, Role, WorkspaceState } from '#platform/auth';
import { Database, type PreparedStatement, type Tx } from '#platform/db';

/** An account as authentication reads it: one row, whatever memberships it has. */
export interface AccountRow {
  org_status: AccountStatus;
  /** Null where the organization has no such account. */
  status: AccountStatus | null;
  roles: Role[] | null;
  /** Null for users, whom nothing binds to workspaces. */
  workspace_ids: string[] | null;
  memberships: [workspaceId: string, roles: Role[]][];
}

export interface KeyHolderRow extends AccountRow {
  key_id: string;
  expires_at: Date | null;
  org_id: string;
  service_account_id: string;
}

const membershipsOf = (principalId: string): string => `
  COALESCE((
    SELECT jsonb_agg(jsonb_build_array(m.workspace_id, to_jsonb(m.roles)))
    FROM workspace_members m WHERE m.org_id = o.org_id AND m.principal_id = ${principalId}
  ), '[]') AS memberships`;

const FIND_USER: PreparedStatement = {
  name: 'auth-find-user',
  text: `
    SELECT o.status AS org_status, u.status, u.roles, NULL AS workspace_ids, ${membershipsOf('$2')}
    FROM organizations o LEFT JOIN users u ON u.org_id = o.org_id AND u.user_id = $2
    WHERE o.org_id = $1`,
};

const FIND_SERVICE_ACCOUNT: PreparedStatement = {
  name: 'auth-find-service-account',
  text: `
    SELECT o.status AS org_status, s.status, s.roles, s.workspace_ids, ${membershipsOf('$2')}
    FROM organizations o
    LEFT JOIN service_accounts s
      ON s.org_id = o.org_id AND s.service_account_id = $2 AND s.archived_at IS NULL
    WHERE o.org_id = $1`,
};

const FIND_KEY_HOLDER: PreparedStatement = {
  name: 'auth-find-key-holder',
  text: `
    SELECT k.key_id, k.expires_at, s.org_id, s.service_account_id, o.status AS org_status, s.status, s.roles,
      s.workspace_ids, ${membershipsOf('s.service_account_id')}
    FROM api_keys k
    JOIN service_accounts s ON s.service_account_id = k.service_account_id AND s.archived_at IS NULL
    JOIN organizations o ON o.org_id = s.org_id
    WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
};

const IS_REVOKED: PreparedStatement = {
  name: 'auth-is-revoked',
  text: `
    SELECT EXISTS (
      SELECT FROM revoked_tokens
      WHERE issuer = $1 AND jti = $2 AND org_id = $3 AND (expires_at IS NULL OR expires_at > now())
    ) OR EXISTS (
      SELECT FROM api_keys WHERE key_id = $4 AND revoked_at IS NOT NULL
    ) AS revoked`,
};

const FIND_WORKSPACE: PreparedStatement = {
  name: 'auth-find-workspace',
  text: 'SELECT archived_at IS NOT NULL AS archived FROM workspaces WHERE workspace_id = $1 AND org_id = $2',
};

/** What authentication reads, one statement for each question, planned once per connection. */
@Injectable()
export class AccountDirectoryRepository {
  constructor(private readonly database: Database) {}

  /** Null where the organization is not known. */
  async findUser(orgId: string, userId: string): Promise<AccountRow | null> {
    const [row] = await this.database.query<AccountRow>(FIND_USER, [orgId, userId]);
    return row ?? null;
  }

  /** Null where the organization is not known; an archived service account has no status. */
  async findServiceAccount(orgId: string, serviceAccountId: string): Promise<AccountRow | null> {
    const [row] = await this.database.query<AccountRow>(FIND_SERVICE_ACCOUNT, [orgId, serviceAccountId]);
    return row ?? null;
  }

  async findKeyHolder(hash: Buffer): Promise<KeyHolderRow | null> {
    const [row] = await this.database.query<KeyHolderRow>(FIND_KEY_HOLDER, [hash]);
    return row ?? null;
  }

  /** @param keyId of the key that the token was exchanged for, null for other tokens. */
  async isRevoked(issuer: string, jti: string, orgId: string | null, keyId: string | null): Promise<boolean> {
    const [row] = await this.database.query<{ revoked: boolean }>(IS_REVOKED, [
      issuer,
      jti,
      orgId ?? '',
      keyId,
    ]);
    return row?.revoked === true;
  }

  async findWorkspace(orgId: string, workspaceId: string): Promise<WorkspaceState | null> {
    const [row] = await this.database.query<WorkspaceState>(FIND_WORKSPACE, [workspaceId, orgId]);
    return row ?? null;
  }

  /** Makes a user at first sight; one that is there already stays as it is, and false is answered. */
  async provisionUser(tx: Tx, orgId: string, userId: string, userRef: string): Promise<boolean> {
    const made = await tx.query(
      `INSERT INTO users (user_ref, org_id, user_id, created_by) VALUES ($1, $2, $3, $3)
       ON CONFLICT (org_id, user_id) DO NOTHING RETURNING user_ref`,
      [userRef, orgId, userId],
    );
    return made.length > 0;
  }
}
