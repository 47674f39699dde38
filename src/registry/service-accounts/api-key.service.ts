import { Injectable } from '@nestjs/common';
import { AccountChanges, type OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { parseTime } from '#platform/http';
import { newId } from '#platform/ids';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { AuditLog, given } from '../audit/audit-log';
import { checkLive } from '../shared/change';
import {
  type ApiKeyDto,
  type ApiKeyListQueryDto,
  type CreateApiKeyDto,
  type NewApiKeyDto,
  toApiKeyDto,
} from './api-key.dto';
import type { ApiKeyEntity } from './api-key.entity';
import { ApiKeyRepository } from './api-key.repository';
import { ApiKeySecrets } from './api-key-secret';
import { ServiceAccountService } from './service-account.service';

/** The keys by which service accounts authenticate. */
@Injectable()
export class ApiKeyService {
  constructor(
    private readonly changes: AccountChanges,
    private readonly serviceAccounts: ServiceAccountService,
    private readonly keys: ApiKeyRepository,
    private readonly secrets: ApiKeySecrets,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Makes a key, which is answered this once. Whoever makes it could act as the service account, so they must hold
   * all that it holds, and may manage it, since it may come to hold more: 403 otherwise. Errors besides: 404, 409 when the service account is archived, 400 for an
   * expiry that has passed.
   */
  async create(scope: OrgScope, serviceAccountId: string, dto: CreateApiKeyDto): Promise<NewApiKeyDto> {
    const expiresAt = expiryOf(dto.expires_at);
    return this.changes.within(scope.orgId, async (tx) => {
      const account = await this.serviceAccounts.lockManaged(tx, scope, serviceAccountId);
      checkLive(account, 'service account');
      await this.serviceAccounts.checkHoldsAll(tx, scope, account);
      return this.insert(tx, scope, serviceAccountId, dto.name, expiresAt);
    });
  }

  async insert(
    tx: Tx,
    scope: OrgScope,
    serviceAccountId: string,
    name: string,
    expiresAt: Date | null,
  ): Promise<NewApiKeyDto> {
    const { key, prefix, hash } = this.secrets.make();
    const now = new Date();
    const row: ApiKeyEntity = {
      key_id: newId('key'),
      org_id: scope.orgId,
      service_account_id: serviceAccountId,
      name,
      prefix,
      hash,
      expires_at: expiresAt,
      revoked_at: null,
      created_at: now,
      updated_at: now,
      created_by: scope.principalId,
    };
    await this.keys.insert(row, tx);
    await this.audit.record(tx, scope, { ...audited(row), action: 'create', changes: told(row) });
    return Object.assign(toApiKeyDto(row), { key });
  }

  async list(scope: OrgScope, serviceAccountId: string, query: ApiKeyListQueryDto): Promise<Page<ApiKeyDto>> {
    await this.serviceAccounts.get(scope, serviceAccountId);
    const { rows, page } = await this.keys.list(scope, serviceAccountId, query);
    return { items: rows.map(toApiKeyDto), page };
  }

  async get(scope: OrgScope, serviceAccountId: string, keyId: string): Promise<ApiKeyDto> {
    return toApiKeyDto(found(await this.keys.find(scope, keyId), serviceAccountId, keyId));
  }

  /**
   * Revokes a key, and with it the tokens it was exchanged for; repeated, it answers the same. 403 where the service
   * account reaches a workspace of which the caller is not admin.
   */
  revoke(scope: OrgScope, serviceAccountId: string, keyId: string): Promise<ApiKeyDto> {
    return this.changes.within(scope.orgId, async (tx) => {
      await this.serviceAccounts.lockManaged(tx, scope, serviceAccountId);
      const row = found(await this.keys.lock(tx, scope, keyId, 'update'), serviceAccountId, keyId);
      if (row.revoked_at) return toApiKeyDto(row);
      const now = new Date();
      const changes = { revoked_at: now, updated_at: now };
      await this.keys.update(tx, scope, keyId, changes);
      await this.audit.record(tx, scope, { ...audited(row), action: 'revoke', changes: told(row) });
      return toApiKeyDto(Object.assign(row, changes));
    });
  }
}

const audited = (row: ApiKeyEntity) => ({ type: 'api_key' as const, id: row.key_id, workspaceId: null });

/** Whose key it is, and what people know it by; the key itself is kept nowhere. */
const told = ({ service_account_id, name, prefix }: ApiKeyEntity) =>
  given({ service_account_id, name, prefix });

/** A key under another service account than its own is not there. */
function found(row: ApiKeyEntity | null, serviceAccountId: string, keyId: string): ApiKeyEntity {
  if (row?.service_account_id !== serviceAccountId) throw problem.notFound('API key', keyId);
  return row;
}

function expiryOf(text: string | null | undefined): Date | null {
  const expiry = text === undefined || text === null ? null : parseTime(text);
  if (expiry && expiry.getTime() <= Date.now()) {
    throw problem.invalidFields([{ pointer: '/expires_at', detail: 'must be in the future' }]);
  }
  return expiry;
}
