import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgScopedRepository, sql, type Tx } from '#platform/db';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import { OWNED_READERS, whereReadable } from '../../resources';
import type { ProviderEntity } from '../providers/provider.entity';
import type { ModelListQueryDto } from './model.dto';
import { ModelEntity } from './model.entity';

/** `name` needs no collation, because its column collates by code point. */
const SORTS = { ...BY_CHANGE, name: { expression: 'name', type: 'text' as const } };

/** Maximum number of models that a lookup by name reads. Two are enough to detect an ambiguous name. */
const SAME_NAME_MAX = 2;

@Injectable()
export class ModelRepository extends OrgScopedRepository<ModelEntity> {
  constructor(database: Database) {
    super(database, ModelEntity, 'model_id');
  }

  /** Lists models. @param ids the models that the caller may see, or null for all */
  list(
    scope: OrgScope,
    query: ModelListQueryDto,
    ids: readonly string[] | null,
  ): Promise<RowPage<ModelEntity>> {
    const where = whereReadable(scope, query.workspace_id, OWNED_READERS)
      .addIf(ids ?? undefined, (only) => sql`model_id = ANY (${only}::text[])`)
      .addIndexedInParts(query.name, (name) => sql`name = ${name}`)
      .addIndexed(query.strategy, (strategy) => sql`strategy = ${strategy}`)
      .addIf(query.provider_id, (provider_id) => sql`targets @> ${JSON.stringify([{ provider_id }])}::jsonb`)
      .addSearch(query.q);
    return listPage<ModelEntity>(this.database, { ...this.listed, where, sorts: SORTS }, query);
  }

  /**
   * Returns at most two live models with a name that the caller may read.
   *
   * @param workspaceId only in this workspace. Undefined for all workspaces of the caller
   * @param ids the models that the caller may see
   */
  findByName(
    scope: OrgScope,
    workspaceId: string | undefined,
    name: string,
    ids: readonly string[] | null,
  ): Promise<ModelEntity[]> {
    const where = whereReadable(scope, workspaceId, OWNED_READERS)
      .addIf(ids ?? undefined, (only) => sql`model_id = ANY (${only}::text[])`)
      .add(sql`name = ${name} AND archived_at IS NULL`);
    return this.database.query<ModelEntity>(
      sql`SELECT * FROM models WHERE ${where.sql} ORDER BY model_id LIMIT ${SAME_NAME_MAX}`,
    );
  }

  /** Returns live models that have a provider as a target. */
  async findTargeting(tx: Tx, scope: OrgScope, provider_id: string, limit: number): Promise<string[]> {
    const rows = await tx.query<{ model_id: string }>(
      sql`SELECT model_id FROM models WHERE targets @> ${JSON.stringify([{ provider_id }])}::jsonb
          AND org_id = ${scope.orgId} AND archived_at IS NULL LIMIT ${limit}`,
    );
    return rows.map(({ model_id }) => model_id);
  }

  /** Returns the providers that belong to a workspace, and locks them against archiving until the transaction ends. */
  lockProviders(
    tx: Tx,
    workspaceId: string,
    providerIds: readonly string[],
  ): Promise<Pick<ProviderEntity, 'provider_id' | 'kind' | 'archived_at'>[]> {
    return tx.query(
      sql`SELECT provider_id, kind, archived_at FROM model_providers
        WHERE provider_id = ANY (${[...new Set(providerIds)]}::text[]) AND workspace_id = ${workspaceId}
        ORDER BY provider_id FOR SHARE`,
    );
  }
}
