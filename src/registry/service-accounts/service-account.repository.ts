import { Injectable } from '@nestjs/common';
import { EVERY_WORKSPACE, type OrgScope } from '#platform/auth';
import { Database, OrgScopedRepository, sql, type SqlExecutor, Where } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import type { ServiceAccountListQueryDto } from './service-account.dto';
import { ServiceAccountEntity } from './service-account.entity';

@Injectable()
export class ServiceAccountRepository extends OrgScopedRepository<ServiceAccountEntity> {
  constructor(database: Database) {
    super(database, ServiceAccountEntity, 'service_account_id');
  }

  list(scope: OrgScope, query: ServiceAccountListQueryDto): Promise<RowPage<ServiceAccountEntity>> {
    const where = new Where(scope.orgKey)
      .addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addIndexed(query.status, (status) => sql`status = ${status}`)
      .addIf(query.workspace_id, (id) => sql`workspace_ids && ${[id, EVERY_WORKSPACE]}`)
      .addSearch(query.q);
    return listPage<ServiceAccountEntity>(this.database, { ...this.listed, where, sorts: BY_NAME }, query);
  }

  /** Returns the first service account that a principal created. */
  findFirstBy(scope: OrgScope, createdBy: string, on: SqlExecutor): Promise<ServiceAccountEntity | null> {
    return on.manager.findOne(ServiceAccountEntity, {
      where: { org_id: scope.orgId, created_by: createdBy },
      order: { service_account_id: 'ASC' },
    });
  }
}
