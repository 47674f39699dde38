import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgRepository, sql, type Tx } from '#platform/db';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import { OWNED_READERS, whereReadable } from '../../resources';
import type { ProviderEntity } from '../providers/provider.entity';
import type { ModelListQueryDto } from './model.dto';
import { ModelEntity } from './model.entity';

/** The column collates by code point. */
const SORTS = { ...BY_CHANGE, name: { expression: 'name', type: 'text' as const } };

/** Most models with one name that a look-up reads. */
const SAME_NAME_MAX = 2;

@Injectable()
export class ModelRepository extends OrgRepository<ModelEntity> {
  constructor(database: Database) {
    super(database, ModelEntity, 'model_id');
  }

  /** Lists models. @param ids those that the caller may see, or null for all */
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
    return listPage<ModelEntity>(
      this.database,
      { columns: '*', from: 'models', where, id: 'model_id', sorts: SORTS, archivedAt: 'archived_at' },
      query,
    );
  }

  /** Finds the live models with a name that the caller may read, at most two. @param ids those that the caller may see */
  findNamed(scope: OrgScope, name: string, ids: readonly string[] | null): Promise<ModelEntity[]> {
    const where = whereReadable(scope, undefined, OWNED_READERS)
      .addIf(ids ?? undefined, (only) => sql`model_id = ANY (${only}::text[])`)
      .add(sql`name = ${name} AND archived_at IS NULL`);
    return this.database.query<ModelEntity>(
      sql`SELECT * FROM models WHERE ${where.sql} ORDER BY model_id LIMIT ${SAME_NAME_MAX}`,
    );
  }

  /** Finds those of the providers that lie in a workspace, and keeps them from being archived until the transaction ends. */
  holdProviders(
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
