import {
  type EntityTarget,
  type FindOptionsWhere,
  IsNull,
  type ObjectLiteral,
  type QueryDeepPartialEntity,
} from 'typeorm';
import type { OrgScope, Scope } from '#platform/scope';
import type { Database } from './database';
import type { SqlExecutor, Tx } from './executor';

/**
 * Accesses by key a table whose rows belong to tenants. Every method takes the scope and puts its tenant into the
 * statement, so that another tenant's row is never found.
 */
abstract class TenantRepository<TenantScope, Row extends ObjectLiteral> {
  protected constructor(
    protected readonly database: Database,
    private readonly entity: EntityTarget<Row>,
    private readonly idColumn: keyof Row & string,
  ) {}

  find(scope: TenantScope, id: string, on: SqlExecutor = this.database): Promise<Row | null> {
    return on.manager.findOneBy(this.entity, this.keyOf(scope, id));
  }

  /** Finds the live row with this value in a column, in one workspace if its id is given. */
  findLive(
    scope: TenantScope,
    column: keyof Row & string,
    value: unknown,
    workspaceId?: string,
    on: SqlExecutor = this.database,
  ): Promise<Row | null> {
    const workspace = workspaceId === undefined ? {} : { workspace_id: workspaceId };
    const key = { ...this.tenantOf(scope), ...workspace, [column]: value, archived_at: IsNull() };
    return on.manager.findOneBy(this.entity, key as unknown as FindOptionsWhere<Row>);
  }

  exists(scope: TenantScope, id: string, on: SqlExecutor = this.database): Promise<boolean> {
    return on.manager.existsBy(this.entity, this.keyOf(scope, id));
  }

  /** Reads a row and locks it until the transaction ends: `share` against writers, `update` also against sharers. */
  lock(tx: Tx, scope: TenantScope, id: string, mode: 'share' | 'update'): Promise<Row | null> {
    return tx.manager.findOne(this.entity, {
      where: this.keyOf(scope, id),
      lock: { mode: mode === 'share' ? 'pessimistic_read' : 'pessimistic_write' },
    });
  }

  /** Inserts a row, which must name its tenant. */
  async insert(row: QueryDeepPartialEntity<Row> & Row, on: SqlExecutor = this.database): Promise<void> {
    await on.manager.insert(this.entity, row);
  }

  /** Updates the given columns. */
  async update(tx: Tx, scope: TenantScope, id: string, changes: QueryDeepPartialEntity<Row>): Promise<void> {
    await tx.manager.update(this.entity, this.keyOf(scope, id), changes);
  }

  /** Returns the tenant column of the table with the tenant of this scope. */
  protected abstract tenantOf(scope: TenantScope): Record<string, string>;

  private keyOf(scope: TenantScope, id: string): FindOptionsWhere<Row> {
    return { [this.idColumn]: id, ...this.tenantOf(scope) } as unknown as FindOptionsWhere<Row>;
  }
}

/** Columns of every row in a workspace. */
export interface WorkspaceRow extends ObjectLiteral {
  workspace_id: string;
}

/** Accesses by key a table whose rows belong to workspaces. */
export abstract class WorkspaceRepository<Row extends WorkspaceRow> extends TenantRepository<Scope, Row> {
  protected tenantOf(scope: Scope): Record<string, string> {
    return { workspace_id: scope.workspaceId };
  }
}

/** Columns of every row in an organization. */
export interface OrgRow extends ObjectLiteral {
  org_id: string;
}

/** Accesses by key a table whose rows belong to organizations. */
export abstract class OrgRepository<Row extends OrgRow> extends TenantRepository<OrgScope, Row> {
  protected tenantOf(scope: OrgScope): Record<string, string> {
    return { org_id: scope.orgId };
  }
}
