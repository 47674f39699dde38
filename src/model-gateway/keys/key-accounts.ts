import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { ApiKeyService, expiryOf, ServiceAccountService } from '../../registry';
import { ACCOUNT_PREFIX } from './gateway-key.dto';

/** Makes and ends the service accounts of gateway keys, in transactions of `AccountChanges`. */
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
  async make(tx: Tx, scope: OrgScope, workspaceId: string, name: string, expiresAt: Date | null) {
    const { service_account_id } = await this.serviceAccounts.provide(tx, scope, {
      name: ACCOUNT_PREFIX + name,
      description: 'Made with a gateway key.',
      roles: ['runtime'],
      workspace_ids: [workspaceId],
    });
    return this.apiKeys.add(tx, scope, service_account_id, name, expiresAt);
  }

  /** Errors: 403 for a service account that reaches further workspaces, 409 for a name that is taken. */
  rename(tx: Tx, scope: OrgScope, serviceAccountId: string, name: string): Promise<void> {
    return this.serviceAccounts.rename(tx, scope, serviceAccountId, ACCOUNT_PREFIX + name);
  }

  /** Revokes the key and archives the service account. A repeat changes nothing. Errors: as `rename`. */
  async revokeKey(tx: Tx, scope: OrgScope, serviceAccountId: string, keyId: string): Promise<void> {
    await this.apiKeys.revokeWithin(tx, scope, serviceAccountId, keyId);
    await this.serviceAccounts.retire(tx, scope, serviceAccountId);
  }
}
