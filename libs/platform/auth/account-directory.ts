import type { JWK } from 'jose';
import type { Role } from '#platform/scope';

/** The account in an organization that a verified token names. */
export interface TokenSubject {
  type: 'user' | 'service_account';
  /** `user_id` or `service_account_id`. */
  accountId: string;
  orgId: string;
  /** An unknown person may be made at first sight (trusted issuers with `provision`). */
  provision: boolean;
}

/** In place of a service account's workspaces: all of its organization, also those made later. */
export const EVERY_WORKSPACE = '*';

export type AccountStatus = 'active' | 'suspended';

/** What is stored of an account and of its organization. */
export interface Account {
  type: 'user' | 'service_account';
  id: string;
  orgId: string;
  /** Suspended when the account or its organization is. */
  status: AccountStatus;
  /** Roles stored with the account, in its organization. */
  roles: Role[];
  /** Service accounts: the workspaces that those roles, and a token's, reach; null, as with users: all of them. */
  workspaceIds: string[] | null;
  /** Memberships of single workspaces. */
  memberships: { workspaceId: string; roles: Role[] }[];
}

/** What is stored of a workspace. */
export interface WorkspaceState {
  readonly archived: boolean;
}

/** An API key as stored, with the service account it belongs to. */
export interface KeyHolder {
  keyId: string;
  expiresAt: Date | null;
  account: Account;
}

/** What authentication needs to know of accounts: declared here, provided by the registry. */
export abstract class AccountDirectory {
  /** The account that a token names; null where its organization or the account itself is not known. */
  abstract findAccount(subject: TokenSubject): Promise<Account | null>;

  /** The holder of a key that is neither revoked nor expired; null for every other one. */
  abstract findKeyHolder(apiKey: string): Promise<KeyHolder | null>;

  /**
   * Whether a token was revoked, by the issuer and `jti` it carries. A revocation counts within the organization it
   * was made in, so that nobody can revoke the tokens of others. @param orgId null for a platform principal.
   */
  abstract isRevoked(issuer: string, jti: string, orgId: string | null): Promise<boolean>;

  /** Null where the organization has no such workspace. */
  abstract findWorkspace(orgId: string, workspaceId: string): Promise<WorkspaceState | null>;

  /** The public keys of this service's own tokens, also those that no longer sign. */
  abstract ownKeys(): Promise<JWK[]>;
}
