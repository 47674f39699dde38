import type { EntityTarget, FindOptionsWhere, ObjectLiteral, QueryDeepPartialEntity } from 'typeorm';
import type { OrgScope } from '#platform/auth';
import type { Database } from './database';
import type { SqlExecutor, Tx } from './executor';

/** What every row that lives in an organization has. */
export interface OrgRow extends ObjectLiteral {
  org_id: string;
}

/**
 * Access by key to a table whose rows live in organizations. Every method takes the scope and puts its organization
 * into the statement, so another tenant's row is simply not there.
 */
export abstract class OrgRepository<Row extends OrgRow> {
  protected constructor(
    protected readonly database: Database,
    private readonly entity: EntityTarget<Row>,
    private readonly idColumn: keyof Row & string,
  ) {}

  find(scope: OrgScope, id: string, on: SqlExecutor = this.database): Promise<Row | null> {
    return on.manager.findOneBy(this.entity, this.keyOf(scope, id));
  }

  /** Reads a row and locks it until the transaction ends: `share` against changes, `update` against all others. */
  lock(tx: Tx, scope: OrgScope, id: string, mode: 'share' | 'update'): Promise<Row | null> {
    return tx.manager.findOne(this.entity, {
      where: this.keyOf(scope, id),
      lock: { mode: mode === 'share' ? 'pessimistic_read' : 'pessimistic_write' },
    });
  }

  async insert(row: QueryDeepPartialEntity<Row> & OrgRow, on: SqlExecutor = this.database): Promise<void> {
    await on.manager.insert(this.entity, row);
  }

  /** Writes the columns given; the others stay. */
  async update(tx: Tx, scope: OrgScope, id: string, changes: QueryDeepPartialEntity<Row>): Promise<void> {
    await tx.manager.update(this.entity, this.keyOf(scope, id), changes);
  }

  private keyOf(scope: OrgScope, id: string): FindOptionsWhere<Row> {
    return { [this.idColumn]: id, org_id: scope.orgId } as unknown as FindOptionsWhere<Row>;
  }
}
