import { Injectable } from '@nestjs/common';
import { Database, prepared, sql } from '#platform/db';
import type { GatewayKeyEntity } from './gateway-key.entity';

/** The columns of a gateway key that limit its calls. */
export type KeyLimitsRow = Pick<
  GatewayKeyEntity,
  | 'service_account_id'
  | 'workspace_id'
  | 'model_ids'
  | 'monthly_budget_usd'
  | 'requests_per_minute'
  | 'tokens_per_minute'
>;

/** Reads the limits of gateway keys for calls, without access checks. */
@Injectable()
export class KeyLimitsRepository {
  constructor(private readonly database: Database) {}

  /** Returns the limits of a service account, or null if it is not a gateway key. */
  async find(serviceAccountId: string): Promise<KeyLimitsRow | null> {
    const statement = sql`SELECT service_account_id, workspace_id, model_ids, monthly_budget_usd, requests_per_minute,
        tokens_per_minute
      FROM gateway_keys WHERE service_account_id = ${serviceAccountId}`;
    const [row] = await this.database.query<KeyLimitsRow>(prepared('gateway-key.limits', statement));
    return row ?? null;
  }
}
