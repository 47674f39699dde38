import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgScopedRepository, sql, Where } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import type { ApiKeyListQueryDto } from './api-key.dto';
import { ApiKeyEntity } from './api-key.entity';

@Injectable()
export class ApiKeyRepository extends OrgScopedRepository<ApiKeyEntity> {
  constructor(database: Database) {
    super(database, ApiKeyEntity, 'key_id');
  }

  list(scope: OrgScope, serviceAccountId: string, query: ApiKeyListQueryDto): Promise<RowPage<ApiKeyEntity>> {
    const where = new Where(scope.orgKey)
      .add(sql`service_account_id = ${serviceAccountId}`)
      .addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`);
    return listPage<ApiKeyEntity>(this.database, { ...this.listed, where, sorts: BY_NAME }, query);
  }
}
