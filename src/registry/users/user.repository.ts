import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { Database, OrgScopedRepository, sql, Where } from '#platform/db';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import type { UserListQueryDto } from './user.dto';
import { UserEntity } from './user.entity';

@Injectable()
export class UserRepository extends OrgScopedRepository<UserEntity> {
  constructor(database: Database) {
    super(database, UserEntity, 'user_id');
  }

  list(scope: OrgScope, query: UserListQueryDto): Promise<RowPage<UserEntity>> {
    const where = new Where(scope.orgKey)
      .addIndexed(query.status, (status) => sql`status = ${status}`)
      .addSearch(query.q);
    return listPage<UserEntity>(
      this.database,
      { ...this.listed, where, id: 'user_ref', sorts: BY_CHANGE },
      query,
    );
  }
}
