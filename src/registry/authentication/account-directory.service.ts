import { Injectable } from '@nestjs/common';
import type { JWK } from 'jose';
import { LRUCache } from 'lru-cache';
import {
  type Account,
  AccountDirectory,
  type AccountStatus,
  type KeyHolder,
  ownIssuer,
  type TokenSubject,
  type WorkspaceState,
  EVERY_WORKSPACE,
} from '#platform/auth';
import { withDeadline } from '#platform/concurrency';
import { Environment } from '#platform/config';
import { Database } from '#platform/db';
import { newId } from '#platform/ids';
import type { RawJson } from '#platform/json';
import { Masker, type MaskingRule } from '#platform/masking';
import { Problem, problemOfDatabaseError } from '#platform/problem';
import { AuditLog } from '../../resources';
import { keyIdOf } from '../tokens/token-id';
import { SigningKeyService } from '../tokens/signing-key.service';
import { AccountDirectoryRepository, type AccountRow } from './account-directory.repository';
import { ApiKeySecrets } from '../service-accounts/api-key-secret';
import { USER_ID } from '../users/user.dto';

/** Number of sets of masking rules that stay compiled. Each of their patterns can take 256 KiB. */
const CACHED_MASKERS = 100;

/** Looks up accounts for authentication, each with one query. */
@Injectable()
export class AccountDirectoryService extends AccountDirectory {
  private readonly ownIssuer: string;
  private readonly timeoutMs: number;
  /** By their rules as JSON, because compiling patterns takes milliseconds. */
  private readonly maskers = new LRUCache<string, Masker>({ max: CACHED_MASKERS });

  constructor(
    environment: Environment,
    private readonly database: Database,
    private readonly accounts: AccountDirectoryRepository,
    private readonly audit: AuditLog,
    private readonly secrets: ApiKeySecrets,
    private readonly signingKeys: SigningKeyService,
  ) {
    super();
    this.ownIssuer = ownIssuer(environment);
    this.timeoutMs = environment.DATABASE_CONNECTION_TIMEOUT_MS;
  }

  findAccount(subject: TokenSubject): Promise<Account | null> {
    return this.read(() => this.readAccount(subject));
  }

  private async readAccount({
    type,
    accountId,
    orgId,
    issuer,
    jti,
    provision,
  }: TokenSubject): Promise<Account | null> {
    if (type === 'service_account') {
      const row = await this.accounts.findServiceAccount(orgId, accountId, this.keyIdOf(issuer, jti));
      if (!row || issuer !== this.ownIssuer) return accountOf(type, accountId, orgId, row);
      // a token of this service never has more rights than its key
      return row.key_allow ? accountOf(type, accountId, orgId, { ...row, allow: row.key_allow[0] }) : null;
    }
    // A user id that looks like a service account would share that account's memberships.
    if (!USER_ID.test(accountId)) return null;
    const row = await this.accounts.findUser(orgId, accountId);
    const account = accountOf(type, accountId, orgId, row);
    if (account || !row || !provision || row.org_status !== 'active') return account;
    await this.provision(orgId, accountId);
    return accountOf(type, accountId, orgId, await this.accounts.findUser(orgId, accountId));
  }

  private provision(orgId: string, userId: string): Promise<void> {
    return this.database.transaction(async (tx) => {
      if (!(await this.accounts.provisionUser(tx, orgId, userId, newId('usr')))) return;
      const actor = { orgId, principalId: userId, requestId: null };
      await this.audit.record(tx, actor, { action: 'create', type: 'user', id: userId, workspaceId: null });
    });
  }

  async findKeyHolder(apiKey: string): Promise<KeyHolder | null> {
    const hash = this.secrets.hashOf(apiKey);
    const row = hash && (await this.read(() => this.accounts.findKeyHolder(hash)));
    if (!row) return null;
    const account = accountOf('service_account', row.service_account_id, row.org_id, row);
    return account && { keyId: row.key_id, expiresAt: row.expires_at, account };
  }

  isRevoked(issuer: string, jti: string, orgId: string | null): Promise<boolean> {
    return this.read(() => this.accounts.isRevoked(issuer, jti, orgId, this.keyIdOf(issuer, jti)));
  }

  /** Returns the key that a token was exchanged for; null for tokens of other issuers. */
  private keyIdOf(issuer: string, jti: string | null): string | null {
    return issuer === this.ownIssuer && jti !== null ? keyIdOf(jti) : null;
  }

  async findWorkspace(orgId: string, workspaceId: string): Promise<WorkspaceState | null> {
    const row = await this.read(() => this.accounts.findWorkspace(orgId, workspaceId));
    return row && { archived: row.archived, masker: this.maskerOf(row.masking) };
  }

  /** Returns the masker of some rules; null without rules. */
  private maskerOf(rules: RawJson): Masker | null {
    if (rules.text === '[]') return null;
    let masker = this.maskers.get(rules.text);
    if (!masker) {
      masker = new Masker(rules.parse() as MaskingRule[]);
      this.maskers.set(rules.text, masker);
    }
    return masker;
  }

  ownKeys(): Promise<JWK[]> {
    return this.read(() => this.signingKeys.publicKeys());
  }

  /**
   * Returns the result of a lookup. A database failure becomes 503 `auth_unavailable`, so that clients do not mistake it for a
   * rejected credential. So does a database that does not answer, because a request has no deadline before its admission.
   */
  private async read<Result>(lookup: () => Promise<Result>): Promise<Result> {
    try {
      return await withDeadline(lookup(), this.timeoutMs, () => unavailable());
    } catch (error) {
      const failure = problemOfDatabaseError(error);
      if (!failure || failure.status < 500) throw error;
      throw unavailable(error);
    }
  }
}

const unavailable = (cause?: unknown): Problem =>
  new Problem('auth_unavailable', 'The account data is unavailable. Try again later.', {
    headers: { 'Retry-After': '1' },
    cause,
  });

function accountOf(type: Account['type'], id: string, orgId: string, row: AccountRow | null): Account | null {
  if (!row || row.status === null) return null;
  const status: AccountStatus =
    row.status === 'suspended' || row.org_status === 'suspended' ? 'suspended' : 'active';
  return {
    type,
    id,
    orgId,
    status,
    roles: row.roles ?? [],
    workspaceIds: row.workspace_ids?.includes(EVERY_WORKSPACE) ? null : row.workspace_ids,
    allow: row.allow,
    memberships: row.memberships.map(([workspaceId, roles]) => ({ workspaceId, roles })),
  };
}
