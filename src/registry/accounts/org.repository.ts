import { Injectable } from '@nestjs/common';
import { Database, type SqlExecutor, type Tx, Where } from '#platform/db';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import type { OrgListQueryDto } from './org.dto';
import { OrgEntity } from './org.entity';

/** Advisory lock for making the organization of a new installation: any number, the same in every process. */
const CREATION_LOCK = 7_160_301_449;

/** Organizations are tenants themselves, so these methods take an id and not a scope. */
@Injectable()
export class OrganizationRepository {
  constructor(private readonly database: Database) {}

  find(orgId: string, on: SqlExecutor = this.database): Promise<OrgEntity | null> {
    return on.manager.findOneBy(OrgEntity, { org_id: orgId });
  }

  /** The first organization that a principal made. */
  findFirstBy(createdBy: string, on: SqlExecutor): Promise<OrgEntity | null> {
    return on.manager.findOne(OrgEntity, { where: { created_by: createdBy }, order: { org_id: 'ASC' } });
  }

  /** One process at a time gets past this, until its transaction ends. */
  async lockCreation(tx: Tx): Promise<void> {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [CREATION_LOCK]);
  }

  lock(tx: Tx, orgId: string): Promise<OrgEntity | null> {
    return tx.manager.findOne(OrgEntity, {
      where: { org_id: orgId },
      lock: { mode: 'pessimistic_write' },
    });
  }

  list(query: OrgListQueryDto): Promise<RowPage<OrgEntity>> {
    const where = Where.acrossTenants().addIf(query.status, 'status = ?');
    return listPage<OrgEntity>(
      this.database,
      {
        columns: '*',
        from: 'organizations',
        where,
        id: 'org_id',
        sorts: BY_CHANGE,
        archivedAt: 'archived_at',
      },
      query,
    );
  }

  async insert(row: OrgEntity, on: SqlExecutor): Promise<void> {
    await on.manager.insert(OrgEntity, row);
  }

  async update(tx: Tx, orgId: string, changes: Partial<OrgEntity>): Promise<void> {
    await tx.manager.update(OrgEntity, { org_id: orgId }, changes);
  }
}
