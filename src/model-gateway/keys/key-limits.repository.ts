import { Injectable } from '@nestjs/common';
import { LoadingCache } from '#platform/concurrency';
import { Database, prepared, sql } from '#platform/db';
import type { GatewayKeyEntity } from './gateway-key.entity';

/** The columns of a gateway key that limit its calls. */
type KeyLimitsRow = Pick<
  GatewayKeyEntity,
  | 'service_account_id'
  | 'workspace_id'
  | 'model_ids'
  | 'monthly_budget_usd'
  | 'requests_per_minute'
  | 'tokens_per_minute'
>;

/** The limits of a gateway key. All callers share the object, so it must not be modified. */
export type KeyLimits = Readonly<Omit<KeyLimitsRow, 'model_ids'>> & {
  /** The models that the key may call and see. Null means all models of the workspace. */
  readonly model_ids: ReadonlySet<string> | null;
};

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
    const statement = sql`SELECT service_account_id, workspace_id, model_ids, monthly_budget_usd, requests_per_minute,
        tokens_per_minute
      FROM gateway_keys WHERE service_account_id = ${serviceAccountId}`;
    const [row] = await this.database.query<KeyLimitsRow>(prepared('gateway-key.limits', statement));
    return row ? { ...row, model_ids: row.model_ids && new Set(row.model_ids) } : null;
  }
}
