import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgScopedRepository, sql } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import { OWNED_READERS, whereReadable } from '../../resources';
import type { ModelProviderListQueryDto } from './provider.dto';
import { ProviderEntity } from './provider.entity';

@Injectable()
export class ProviderRepository extends OrgScopedRepository<ProviderEntity> {
  constructor(database: Database) {
    super(database, ProviderEntity, 'provider_id');
  }

  list(scope: OrgScope, query: ModelProviderListQueryDto): Promise<RowPage<ProviderEntity>> {
    const where = whereReadable(scope, query.workspace_id, OWNED_READERS)
      .addIndexedInParts(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addIndexed(query.kind, (kind) => sql`kind = ${kind}`)
      .addSearch(query.q);
    return listPage<ProviderEntity>(this.database, { ...this.listed, where, sorts: BY_NAME }, query);
  }
}
