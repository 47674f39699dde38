import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { Database, prepared, sql } from '#platform/db';
import type { KeyLimits as ApiKeyLimits } from '../../registry';
import type { GatewayKeyEntity } from './gateway-key.entity';

/** The limits of a gateway key. All callers share the object, so it must not be modified. */
export type KeyLimits = Readonly<
  ApiKeyLimits & Pick<GatewayKeyEntity, 'service_account_id' | 'workspace_id'>
>;

/** Reads the limits of gateway keys for calls, without access checks. They may be out of date for up to 1 s. */
@Injectable()
export class KeyLimitsRepository {
  private readonly cache = new LoadingCache<KeyLimits | null>();

  constructor(private readonly database: Database) {}

  /**
   * Returns the limits of a service account, or null if it is not a gateway key. If they are cached, returns them synchronously,
   * because the promise would cost more than the lookup.
   */
  find(serviceAccountId: string): KeyLimits | null | Promise<KeyLimits | null> {
    const cached = this.cache.getCached(serviceAccountId);
    return cached === undefined
      ? this.cache.find(serviceAccountId, () => this.read(serviceAccountId))
      : cached;
  }

  /** Removes the changed limits of a service account from the cache. */
  invalidate(serviceAccountId: string): void {
    this.cache.invalidate(serviceAccountId);
  }

  private async read(serviceAccountId: string): Promise<KeyLimits | null> {
    const statement = sql`SELECT g.service_account_id, g.workspace_id, k.monthly_budget_usd, k.requests_per_minute,
        k.tokens_per_minute
      FROM gateway_keys g JOIN api_keys k USING (key_id) WHERE g.service_account_id = ${serviceAccountId}`;
    const [row] = await this.database.query<KeyLimits>(prepared('gateway-key.limits', statement));
    return row ?? null;
  }
}
