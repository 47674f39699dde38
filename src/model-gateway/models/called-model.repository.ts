import { Injectable } from '@nestjs/common';
import { Database, prepared, raw, type Sql, sql } from '#platform/db';
import type { ProviderEntity } from '../providers/provider.entity';
import type { ModelEntity } from './model.entity';

/** The columns of a provider that a call needs. */
export type ProviderRow = Pick<
  ProviderEntity,
  'provider_id' | 'name' | 'kind' | 'base_url' | 'api_key' | 'generation'
> & {
  headers: Record<string, string>;
  is_archived: boolean;
};

/** A target in cooldown. */
export interface RestRow {
  provider_id: string;
  upstream_model: string;
  /** The cooldown counts only for this generation of the provider. */
  generation: number;
  remaining_ms: number;
}

/** A model to call, with the providers of its targets in any order. */
export type CalledModelRow = ModelEntity & {
  is_workspace_archived: boolean;
  providers: ProviderRow[];
  rests: RestRow[];
};

/** The columns of `ModelEntity`, without generated columns. */
const COLUMNS = [
  ...['model_id', 'org_id', 'workspace_id', 'name', 'description', 'strategy', 'targets', 'owned_by'],
  ...['retries', 'timeout_ms', 'cooldown_s', 'monthly_budget_usd', 'cache_ttl_seconds', 'capture_content'],
  ...['record_spans', 'metadata', 'generation', 'created_at', 'updated_at', 'created_by', 'archived_at'],
]
  .map((column) => `m.${column}`)
  .join(', ');

/** Reads models with their providers for calls, without access checks. */
@Injectable()
export class CalledModelRepository {
  constructor(private readonly database: Database) {}

  /** Returns the live models of an organization with this name or id. Their workspaces and providers may be archived. */
  find(orgId: string, nameOrId: string): Promise<CalledModelRow[]> {
    const [kind, condition] = matching(nameOrId);
    return this.select(`model.find-by-${kind}`, sql`m.org_id = ${orgId} AND ${condition}`);
  }

  /** Returns the live model of a workspace with this name or id. */
  findIn(workspaceId: string, nameOrId: string): Promise<CalledModelRow[]> {
    const [kind, condition] = matching(nameOrId);
    return this.select(`model.find-in-by-${kind}`, sql`m.workspace_id = ${workspaceId} AND ${condition}`);
  }

  findById(modelId: string): Promise<CalledModelRow[]> {
    return this.select('model.find', sql`m.model_id = ${modelId}`);
  }

  private select(name: string, condition: Sql): Promise<CalledModelRow[]> {
    const statement = sql`SELECT ${raw(COLUMNS)}, w.archived_at IS NOT NULL AS is_workspace_archived,
        (SELECT coalesce(jsonb_agg(jsonb_build_object('provider_id', p.provider_id, 'name', p.name, 'kind', p.kind,
            'base_url', p.base_url, 'headers', p.headers, 'api_key', p.api_key, 'generation', p.generation,
            'is_archived', p.archived_at IS NOT NULL)), '[]')
          FROM model_providers p
          WHERE p.provider_id = ANY (ARRAY(SELECT t ->> 'provider_id' FROM jsonb_array_elements(m.targets) t))
            AND p.workspace_id = m.workspace_id) AS providers,
        (SELECT coalesce(jsonb_agg(jsonb_build_object('provider_id', f.provider_id, 'upstream_model', f.upstream_model,
            'generation', f.provider_generation,
            'remaining_ms', extract(epoch FROM f.rests_until - now()) * 1000)), '[]')
          FROM model_target_failures f
          WHERE f.model_id = m.model_id AND f.model_generation = m.generation AND f.rests_until IS NOT NULL) AS rests
      FROM models m JOIN workspaces w USING (workspace_id)
      WHERE ${condition} AND m.archived_at IS NULL
      ORDER BY m.model_id`;
    return this.database.query<CalledModelRow>(prepared(name, statement));
  }
}

/** Returns whether a text is the id or the name of a model, and the SQL condition. A name never begins like an id. */
const matching = (nameOrId: string): ['id' | 'name', Sql] =>
  nameOrId.startsWith('model_') ? ['id', sql`m.model_id = ${nameOrId}`] : ['name', sql`m.name = ${nameOrId}`];
