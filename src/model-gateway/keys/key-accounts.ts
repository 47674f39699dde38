import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { ApiKeyService, expiryOf, ServiceAccountService } from '../../registry';
import { ACCOUNT_PREFIX } from './gateway-key.dto';

/** Creates, renames and archives the service accounts of gateway keys, within transactions of `AccountChanges`. */
@Injectable()
export class KeyAccounts {
  constructor(
    private readonly serviceAccounts: ServiceAccountService,
    private readonly apiKeys: ApiKeyService,
  ) {}

  /** Returns the expiry of a new key. Errors: 400 for one in the past. */
  expiryOf(text: string | null | undefined): Date | null {
    return expiryOf(text);
  }

  /** Creates a service account that may only call models of one workspace, with its API key. Errors: 409. */
  async create(tx: Tx, scope: OrgScope, workspaceId: string, name: string, expiresAt: Date | null) {
    const { service_account_id } = await this.serviceAccounts.provide(tx, scope, {
      name: ACCOUNT_PREFIX + name,
      description: 'Created with a gateway key.',
      roles: ['runtime'],
      workspace_ids: [workspaceId],
    });
    return this.apiKeys.add(tx, scope, service_account_id, name, expiresAt);
  }

  /** Renames the service account. Errors: 403 if it also has access to workspaces that the caller does not administer, 409 for a name that is taken. */
  rename(tx: Tx, scope: OrgScope, serviceAccountId: string, name: string): Promise<void> {
    return this.serviceAccounts.rename(tx, scope, serviceAccountId, ACCOUNT_PREFIX + name);
  }

  /** Revokes the key and archives the service account. Idempotent. Errors: as for `rename`. */
  async revokeKey(tx: Tx, scope: OrgScope, serviceAccountId: string, keyId: string): Promise<void> {
    await this.apiKeys.revokeWithin(tx, scope, serviceAccountId, keyId);
    await this.serviceAccounts.retire(tx, scope, serviceAccountId);
  }
}
