import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgScopedRepository, raw, type Sql, sql, type SqlExecutor } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import { whereReadable } from '../../resources';
import type { GatewayKeyListQueryDto } from './gateway-key.dto';
import { GatewayKeyEntity, type GatewayKeyRow } from './gateway-key.entity';

/** Gateway keys, joined with their API keys and models. */
const KEYS = `(SELECT g.*, k.*,
    CASE WHEN jsonb_typeof(k.allow -> 'models') = 'array' THEN
      (SELECT coalesce(jsonb_agg(jsonb_build_object('model_id', m.model_id, 'name', m.name) ORDER BY m.name, m.model_id), '[]')
        FROM models m WHERE m.model_id = ANY (ARRAY(SELECT jsonb_array_elements_text(k.allow -> 'models')))) END AS models
  FROM gateway_keys g CROSS JOIN LATERAL (
    SELECT prefix, expires_at, revoked_at, allow, monthly_budget_usd, requests_per_minute, tokens_per_minute
    FROM api_keys WHERE api_keys.key_id = g.key_id OFFSET 0
  ) k) keys`;

@Injectable()
export class GatewayKeyRepository extends OrgScopedRepository<GatewayKeyEntity> {
  constructor(database: Database) {
    super(database, GatewayKeyEntity, 'key_id');
  }

  list(scope: OrgScope, query: GatewayKeyListQueryDto): Promise<RowPage<GatewayKeyRow>> {
    const where = whereReadable(scope, query.workspace_id).addIndexedInParts(
      query.name,
      (name) => sql`name COLLATE "C" = ${name}`,
    );
    return listPage<GatewayKeyRow>(
      this.database,
      { columns: '*', from: KEYS, where, id: 'key_id', createdAt: 'created_at', sorts: BY_NAME },
      query,
    );
  }

  /** Returns a key, joined with its API key and models. */
  read(scope: OrgScope, keyId: string, on: SqlExecutor = this.database): Promise<GatewayKeyRow | null> {
    return this.readWhere(on, sql`key_id = ${keyId} AND org_id = ${scope.orgId}`);
  }

  /** Returns the key of a service account, or null if the account is not a gateway key. */
  readOf(scope: OrgScope, serviceAccountId: string): Promise<GatewayKeyRow | null> {
    const own = sql`service_account_id = ${serviceAccountId} AND org_id = ${scope.orgId}`;
    return this.readWhere(this.database, own);
  }

  private async readWhere(on: SqlExecutor, condition: Sql): Promise<GatewayKeyRow | null> {
    const [row] = await on.query<GatewayKeyRow>(sql`SELECT * FROM ${raw(KEYS)} WHERE ${condition}`);
    return row ?? null;
  }
}
