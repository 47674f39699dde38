import type { EntityTarget, FindOptionsWhere, ObjectLiteral, QueryDeepPartialEntity } from 'typeorm';
import type { Scope } from '#platform/auth';
import type { Database } from './database';
import type { SqlExecutor, Tx } from './executor';

/** What every row that lives in a workspace has. */
export interface WorkspaceRow extends ObjectLiteral {
  workspace_id: string;
}

/**
 * Access by key to a table whose rows live in workspaces. Every method takes the scope and puts its workspace into
 * the statement, so another tenant's row is simply not there.
 */
export abstract class WorkspaceRepository<Row extends WorkspaceRow> {
  protected constructor(
    protected readonly database: Database,
    private readonly entity: EntityTarget<Row>,
    private readonly idColumn: keyof Row & string,
  ) {}

  find(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<Row | null> {
    return on.manager.findOneBy(this.entity, this.keyOf(scope, id));
  }

  exists(scope: Scope, id: string, on: SqlExecutor = this.database): Promise<boolean> {
    return on.manager.existsBy(this.entity, this.keyOf(scope, id));
  }

  /** Reads a row and locks it until the transaction ends: `share` against changes, `update` against all others. */
  lock(tx: Tx, scope: Scope, id: string, mode: 'share' | 'update'): Promise<Row | null> {
    return tx.manager.findOne(this.entity, {
      where: this.keyOf(scope, id),
      lock: { mode: mode === 'share' ? 'pessimistic_read' : 'pessimistic_write' },
    });
  }

  async insert(
    row: QueryDeepPartialEntity<Row> & WorkspaceRow,
    on: SqlExecutor = this.database,
  ): Promise<void> {
    await on.manager.insert(this.entity, row);
  }

  /** Writes the columns given; the others stay. */
  async update(tx: Tx, scope: Scope, id: string, changes: QueryDeepPartialEntity<Row>): Promise<void> {
    await tx.manager.update(this.entity, this.keyOf(scope, id), changes);
  }

  private keyOf(scope: Scope, id: string): FindOptionsWhere<Row> {
    return { [this.idColumn]: id, workspace_id: scope.workspaceId } as unknown as FindOptionsWhere<Row>;
  }
}
