import type { JWK } from 'jose';
import type { Masker } from '#platform/masking';
import type { Allow, Role } from '#platform/scope';

/** The account in an organization that a verified token names. */
export interface TokenSubject {
  type: 'user' | 'service_account';
  /** `user_id` or `service_account_id`. */
  accountId: string;
  orgId: string;
  issuer: string;
  jti: string | null;
  /** Creates an unknown user (trusted issuers with `provision`). */
  provision: boolean;
}

/** Stands for all workspaces of a service account's organization, including later ones. */
export const EVERY_WORKSPACE = '*';

export type AccountStatus = 'active' | 'suspended';

/** The stored state of an account and its organization. */
export interface Account {
  type: 'user' | 'service_account';
  id: string;
  orgId: string;
  /** Suspended when the account or its organization is. */
  status: AccountStatus;
  /** Roles stored with the account, in its organization. */
  roles: Role[];
  /** Service accounts: the workspaces where `roles`, and a token's roles, apply. Null, as for users: all of them. */
  workspaceIds: string[] | null;
  /** Memberships in single workspaces. */
  memberships: { workspaceId: string; roles: Role[] }[];
  /** What the key allows, or the key that the token was exchanged for. Null for no limits other than the roles. */
  allow: Allow | null;
}

/** The stored state of a workspace. */
export interface WorkspaceState {
  readonly archived: boolean;
  /** Masks its texts; null without rules. */
  readonly masker: Masker | null;
}

/** An API key as stored, with the service account it belongs to. */
export interface KeyHolder {
  keyId: string;
  expiresAt: Date | null;
  account: Account;
}

/**
 * Reads accounts for authentication. The registry implements it. Errors: 503 `auth_unavailable` if the database does not
 * answer within `DATABASE_CONNECTION_TIMEOUT_MS`, or fails.
 */
export abstract class AccountDirectory {
  /** Returns the account that a token names; null if its organization or the account does not exist. */
  abstract findAccount(subject: TokenSubject): Promise<Account | null>;

  /** Returns the holder of a key; null if the key is unknown, revoked or expired. */
  abstract findKeyHolder(apiKey: string): Promise<KeyHolder | null>;

  /**
   * Tells whether a token was revoked, by its issuer and `jti`. A revocation applies only to the organization that made
   * it, so that nobody can revoke the tokens of others.
   *
   * @param orgId null for a platform principal
   */
  abstract isRevoked(issuer: string, jti: string, orgId: string | null): Promise<boolean>;

  /** Returns null if the organization has no such workspace. */
  abstract findWorkspace(orgId: string, workspaceId: string): Promise<WorkspaceState | null>;

  /** Returns the public keys of this service's own tokens, including keys that no longer sign. */
  abstract ownKeys(): Promise<JWK[]>;
}
