import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database, sql, Where, WorkspaceScopedRepository } from '#platform/db';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import type { ChecklistItemListQueryDto } from './checklist-item.dto';
import { ChecklistItemEntity } from './checklist-item.entity';

@Injectable()
export class ChecklistItemRepository extends WorkspaceScopedRepository<ChecklistItemEntity> {
  constructor(database: Database) {
    super(database, ChecklistItemEntity, 'item_id');
  }

  list(scope: Scope, query: ChecklistItemListQueryDto): Promise<RowPage<ChecklistItemEntity>> {
    const where = new Where(scope.key).addIf(query.name, (name) => sql`name COLLATE "C" = ${name}`);
    return listPage<ChecklistItemEntity>(this.database, { ...this.listed, where, sorts: BY_NAME }, query);
  }
}
