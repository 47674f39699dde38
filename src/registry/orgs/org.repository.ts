import { Injectable } from '@nestjs/common';
import { Database, OrgScopedRepository, sql, type SqlExecutor, type Tx, Where } from '#platform/db';
import { BY_CHANGE, listPage, type RowPage } from '#platform/paging';
import type { OrgListQueryDto } from './org.dto';
import { OrgEntity } from './org.entity';

/** Advisory lock for creating the first organization: an arbitrary number, the same in every process. */
const CREATION_LOCK = 7_160_301_449;

@Injectable()
export class OrgRepository extends OrgScopedRepository<OrgEntity> {
  constructor(database: Database) {
    super(database, OrgEntity, 'org_id');
  }

  /** Returns the first organization that a principal created. */
  findFirstBy(createdBy: string, on: SqlExecutor): Promise<OrgEntity | null> {
    return on.manager.findOne(OrgEntity, { where: { created_by: createdBy }, order: { org_id: 'ASC' } });
  }

  /** Locks the creation of the first organization for one process at a time, until its transaction ends. */
  async lockCreation(tx: Tx): Promise<void> {
    await tx.query(sql`SELECT pg_advisory_xact_lock(${CREATION_LOCK})`);
  }

  /** Lists the organizations of all tenants. */
  list(query: OrgListQueryDto): Promise<RowPage<OrgEntity>> {
    const where = Where.acrossTenants()
      .addIndexed(query.status, (status) => sql`status = ${status}`)
      .addIndexed(query.name, (name) => sql`name COLLATE "C" = ${name}`);
    return listPage<OrgEntity>(this.database, { ...this.listed, where, sorts: BY_CHANGE }, query);
  }
}
