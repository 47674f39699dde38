import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgRepository, type SqlExecutor, Where } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import { explainConstraint } from '#platform/problem';
import type { ServiceAccountListQueryDto } from './service-account.dto';
import { ServiceAccountEntity } from './service-account.entity';

explainConstraint(
  'service_accounts_name',
  'conflict',
  'The organization has a service account of this name already.',
);

@Injectable()
export class ServiceAccountRepository extends OrgRepository<ServiceAccountEntity> {
  constructor(database: Database) {
    super(database, ServiceAccountEntity, 'service_account_id');
  }

  list(scope: OrgScope, query: ServiceAccountListQueryDto): Promise<RowPage<ServiceAccountEntity>> {
    const where = new Where(scope.orgKey)
      .addIf(query.name, 'name = ?')
      .addIf(query.status, 'status = ?')
      .addIf(query.workspace_id, 'workspace_ids && ARRAY[?, $$*$$]');
    where.addSearch(query.q);
    return listPage<ServiceAccountEntity>(
      this.database,
      {
        columns: '*',
        from: 'service_accounts',
        where,
        id: 'service_account_id',
        sorts: BY_NAME,
        archivedAt: 'archived_at',
      },
      query,
    );
  }

  /** The first service account that a principal made. */
  findFirstBy(scope: OrgScope, createdBy: string, on: SqlExecutor): Promise<ServiceAccountEntity | null> {
    return on.manager.findOne(ServiceAccountEntity, {
      where: { org_id: scope.orgId, created_by: createdBy },
      order: { service_account_id: 'ASC' },
    });
  }
}
