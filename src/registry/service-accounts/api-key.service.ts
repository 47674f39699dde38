import { Injectable } from '@nestjs/common';
import { AccountChanges, type Allow, type OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { parseTime } from '#platform/http';
import { newId } from '#platform/ids';
import { type Page, toPage } from '#platform/paging';
import { problem } from '#platform/problem';
import { AuditLog, checkLive, createdChanges, pick } from '../../resources';
import {
  type ApiKeyDto,
  type ApiKeyListQueryDto,
  type CreateApiKeyDto,
  type NewApiKeyDto,
  toApiKeyDto,
} from './api-key.dto';
import type { ApiKeyEntity, KeyLimits } from './api-key.entity';
import { ApiKeyRepository } from './api-key.repository';
import { ApiKeySecrets } from './api-key-secret';
import { KeyAllows } from './key-allow';
import { ServiceAccountService } from './service-account.service';

/** A key to create. */
export interface NewKey extends Partial<KeyLimits> {
  serviceAccountId: string;
  name: string;
  expiresAt: Date | null;
  allow: Allow | null;
}

/** The API keys of service accounts. */
@Injectable()
export class ApiKeyService {
  constructor(
    private readonly changes: AccountChanges,
    private readonly serviceAccounts: ServiceAccountService,
    private readonly keys: ApiKeyRepository,
    private readonly secrets: ApiKeySecrets,
    private readonly allows: KeyAllows,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Creates a key and returns it, only this once. Anyone with the key acts as the service account, so the caller must hold every
   * role that the account holds. Errors: 400 for an expiry in the past or unknown names in `allow`, 404, 403, 409 if the account is archived.
   */
  async create(scope: OrgScope, serviceAccountId: string, dto: CreateApiKeyDto): Promise<NewApiKeyDto> {
    const expiresAt = expiryOf(dto.expires_at);
    return this.changes.run(scope.orgId, async (tx) => {
      const account = await this.serviceAccounts.lockManaged(tx, scope, serviceAccountId);
      checkLive(account, 'service account');
      await this.serviceAccounts.checkHoldsAll(tx, scope, account);
      const allow = dto.allow ? await this.allows.resolve(tx, scope, account, dto.allow) : null;
      const { row, key } = await this.add(tx, scope, { serviceAccountId, name: dto.name, expiresAt, allow });
      return { ...(await this.viewOf(tx, scope, row)), key };
    });
  }

  /** Creates a key within a transaction of `AccountChanges`. The caller has checked that the maker may create it. */
  async add(tx: Tx, scope: OrgScope, made: NewKey): Promise<{ row: ApiKeyEntity; key: string }> {
    const { key, ...stored } = this.secrets.create();
    const now = new Date();
    const row: ApiKeyEntity = {
      ...stored,
      key_id: newId('key'),
      org_id: scope.orgId,
      service_account_id: made.serviceAccountId,
      name: made.name,
      allow: made.allow,
      monthly_budget_usd: made.monthly_budget_usd ?? null,
      requests_per_minute: made.requests_per_minute ?? null,
      tokens_per_minute: made.tokens_per_minute ?? null,
      expires_at: made.expiresAt,
      revoked_at: null,
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
    };
    await this.keys.insert(row, tx);
    await this.record(tx, scope, row, 'create');
    return { row, key };
  }

  async list(scope: OrgScope, serviceAccountId: string, query: ApiKeyListQueryDto): Promise<Page<ApiKeyDto>> {
    await this.serviceAccounts.find(scope, serviceAccountId);
    const page = await this.keys.list(scope, serviceAccountId, query);
    const allows = await this.allows.views(
      scope,
      page.rows.map(({ allow }) => allow),
    );
    const views = new Map(page.rows.map((row, index) => [row, toApiKeyDto(row, allows[index] ?? null)]));
    return toPage(page, (row) => views.get(row)!);
  }

  async get(scope: OrgScope, serviceAccountId: string, keyId: string): Promise<ApiKeyDto> {
    return this.viewOf(
      undefined,
      scope,
      requireKey(await this.keys.find(scope, keyId), serviceAccountId, keyId),
    );
  }

  /**
   * Revokes a key and the tokens that it was exchanged for. Idempotent. Errors: 404, 403 unless the caller is admin in every
   * workspace that the service account can access.
   */
  revoke(scope: OrgScope, serviceAccountId: string, keyId: string): Promise<ApiKeyDto> {
    return this.changes.run(scope.orgId, async (tx) =>
      this.viewOf(tx, scope, await this.revokeWithin(tx, scope, serviceAccountId, keyId)),
    );
  }

  /** Revokes a key within a transaction of `AccountChanges`. See `revoke`. */
  async revokeWithin(
    tx: Tx,
    scope: OrgScope,
    serviceAccountId: string,
    keyId: string,
  ): Promise<ApiKeyEntity> {
    await this.serviceAccounts.lockManaged(tx, scope, serviceAccountId);
    const row = requireKey(await this.keys.lock(tx, scope, keyId, 'update'), serviceAccountId, keyId);
    if (row.revoked_at) return row;
    const now = new Date();
    const columns = { revoked_at: now, updated_at: now };
    await this.keys.update(tx, scope, keyId, columns);
    await this.record(tx, scope, row, 'revoke');
    return { ...row, ...columns };
  }

  /** Deletes a revoked key. Errors: 404, 403, 409 for a key that is not revoked. */
  delete(scope: OrgScope, serviceAccountId: string, keyId: string): Promise<void> {
    return this.changes.run(scope.orgId, async (tx) => {
      await this.serviceAccounts.lockManaged(tx, scope, serviceAccountId);
      const row = requireKey(await this.keys.lock(tx, scope, keyId, 'update'), serviceAccountId, keyId);
      if (!row.revoked_at) throw problem.conflict('The key is not revoked. Revoke it before you delete it.');
      await this.keys.delete(tx, scope, keyId);
      await this.record(tx, scope, row, 'delete');
    });
  }

  /** Changes the name and the limits of a key for the area that created it, within a transaction of `AccountChanges`. */
  change(
    tx: Tx,
    scope: OrgScope,
    keyId: string,
    columns: Partial<Pick<ApiKeyEntity, 'name' | 'allow' | keyof KeyLimits>>,
  ): Promise<void> {
    return this.keys.update(tx, scope, keyId, { ...columns, updated_at: new Date() });
  }

  private async viewOf(tx: Tx | undefined, scope: OrgScope, row: ApiKeyEntity): Promise<ApiKeyDto> {
    const [allow = null] = await this.allows.views(scope, [row.allow], tx);
    return toApiKeyDto(row, allow);
  }

  /** Records the service account, the name, the prefix and the limits of the key. */
  private record(
    tx: Tx,
    scope: OrgScope,
    row: ApiKeyEntity,
    action: 'create' | 'revoke' | 'delete',
  ): Promise<void> {
    const changes = createdChanges(pick(row, ['service_account_id', 'name', 'prefix', 'allow']));
    return this.audit.record(tx, scope, {
      action,
      type: 'api_key',
      id: row.key_id,
      workspaceId: null,
      changes,
    });
  }
}

/** Throws 404 unless the key belongs to this service account. */
function requireKey(row: ApiKeyEntity | null, serviceAccountId: string, keyId: string): ApiKeyEntity {
  if (row?.service_account_id !== serviceAccountId) throw problem.notFound('API key', keyId);
  return row;
}

/** Returns the expiry of a new key. Errors: 400 for one in the past. */
export function expiryOf(text: string | null | undefined): Date | null {
  const expiry = text === undefined || text === null ? null : parseTime(text);
  if (expiry && expiry.getTime() <= Date.now()) {
    throw problem.invalidField('/expires_at', 'must be in the future');
  }
  return expiry;
}
