import type { ObjectLiteral } from 'typeorm';
import { Batcher, currentOwner } from '#platform/concurrency';
import type { OrgScope, Scope } from '#platform/scope';
import type { Database } from './database';
import { type EntityClass, EntityTable } from './entity-table';
import type { SqlExecutor, Tx } from './executor';
import { raw, type Sql, sql } from './sql';

/** The key of a row, and its tenant. */
interface TenantKey {
  tenant: string;
  id: string;
}

export interface TenantTable {
  /**
   * The column with the size of a row in bytes. If set, concurrent reads of small rows share a statement, because the round
   * trip costs more than the rest of a read.
   */
  bytes?: string;
  /** Columns as their indexes spell them, such as `name COLLATE "C"`, if not by their names. */
  indexed?: Readonly<Record<string, string>>;
}

/** Limits of a statement that reads several rows by key: the number of rows, and the size of a row in bytes. */
const MAX_ROWS = 64;
const SMALL_ROW_BYTES = 64 * 1024;

const LOCKS = { share: 'FOR SHARE', update: 'FOR UPDATE' } as const;

/**
 * Accesses rows of tenants by key. Every method takes the scope and puts its tenant into the statement, so that another
 * tenant's row is never found.
 *
 * Reads are prepared, so their plan must be right at any size of the table. `IS TRUE` keeps indexes of the tenant's column
 * out of the plan: only the index of the id fits.
 */
abstract class TenantRepository<TenantScope, Row extends ObjectLiteral> {
  /** Lazy, because an entity may be declared after its repository. */
  private built: { table: EntityTable<Row>; read: string; readSmall: string; exists: string } | undefined;

  private readonly reads = new Batcher<TenantKey, Row | null>({
    run: (keys) => this.readBatch(keys),
    max: MAX_ROWS,
  });

  protected constructor(
    protected readonly database: Database,
    private readonly entity: EntityClass<Row>,
    private readonly idColumn: keyof Row & string,
    private readonly options: TenantTable = {},
  ) {}

  find(scope: TenantScope, id: string, on: SqlExecutor = this.database): Promise<Row | null> {
    const tenant = this.tenantOf(scope);
    // work that holds a connection must not wait for work that needs one
    const owner = on === this.database && this.options.bytes !== undefined ? currentOwner() : undefined;
    if (owner === undefined) return this.readByKey(tenant, id, on);
    return this.reads.add([owner, tenant], { tenant, id });
  }

  /** Finds the live row with this value in a column, in one workspace if its id is given. */
  async findLive(
    scope: TenantScope,
    column: keyof Row & string,
    value: unknown,
    workspaceId?: string,
    on: SqlExecutor = this.database,
  ): Promise<Row | null> {
    const { table } = this.statements;
    const [row] = await on.query<Row>(
      sql`SELECT ${raw(table.columns)} FROM ${raw(table.name)}
        WHERE ${this.liveIn(scope, workspaceId)} AND ${this.indexed(column)} = ${value} LIMIT 1`,
    );
    return row ?? null;
  }

  /** Returns the ids of live rows by their values in a column, in one workspace if its id is given. */
  async liveIds(
    scope: TenantScope,
    column: keyof Row & string,
    values: readonly string[],
    workspaceId?: string,
  ): Promise<Map<string, string>> {
    if (values.length === 0) return new Map();
    const { table } = this.statements;
    const rows = await this.database.query<{ value: string; id: string }>(
      sql`SELECT ${raw(column)} AS value, ${raw(this.idColumn)} AS id FROM ${raw(table.name)}
        WHERE ${this.liveIn(scope, workspaceId)} AND ${this.indexed(column)} = ANY (${values}::text[])`,
    );
    return new Map(rows.map(({ value, id }) => [value, id]));
  }

  async exists(scope: TenantScope, id: string, on: SqlExecutor = this.database): Promise<boolean> {
    const { table, exists: text } = this.statements;
    const values = [id, this.tenantOf(scope)];
    return (await on.query({ name: `${table.name}.exists`, text, values })).length > 0;
  }

  /** Reads a row and locks it until the transaction ends: `share` against writers, `update` also against sharers. */
  lock(tx: Tx, scope: TenantScope, id: string, mode: 'share' | 'update'): Promise<Row | null> {
    return this.readByKey(this.tenantOf(scope), id, tx, mode);
  }

  /** Inserts a row, which must name its tenant. */
  async insert(row: Row, on: SqlExecutor = this.database): Promise<void> {
    await on.query(this.statements.table.insertion(row));
  }

  /** Updates the given columns. */
  async update(tx: Tx, scope: TenantScope, id: string, changes: Partial<Row>): Promise<void> {
    const { table } = this.statements;
    const assignments = table.assignments(changes);
    if (!assignments) return;
    await tx.query(sql`UPDATE ${raw(table.name)} SET ${assignments} WHERE ${this.keyOf(scope, id)}`);
  }

  /** Returns which of these ids have no row. */
  async missing(scope: TenantScope, ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const { table } = this.statements;
    const [id, tenant] = [raw(this.idColumn), raw(this.tenantColumn)];
    const rows = await this.database.query<{ id: string }>(
      sql`SELECT ${id} AS id FROM ${raw(table.name)}
        WHERE ${id} = ANY (${[...new Set(ids)]}::text[]) AND (${tenant} = ${this.tenantOf(scope)}) IS TRUE`,
    );
    const found = new Set(rows.map((row) => row.id));
    return new Set(ids.filter((one) => !found.has(one)));
  }

  /** Deletes a row, and with it the rows of other tables whose foreign keys cascade. */
  async delete(tx: Tx, scope: TenantScope, id: string): Promise<void> {
    await tx.query(sql`DELETE FROM ${raw(this.statements.table.name)} WHERE ${this.keyOf(scope, id)}`);
  }

  /** The parts of a `ListSpec` that the table decides: the columns of the entity, of rows that are not archived. */
  protected get listed() {
    const { table } = this.statements;
    const { bytes } = this.options;
    return {
      columns: table.columns,
      from: table.name,
      id: this.idColumn as string,
      createdAt: 'created_at',
      ...(table.has('archived_at') && { archivedAt: 'archived_at' }),
      ...(bytes && { bytes }),
    };
  }

  /** The column of the tenant. */
  protected abstract readonly tenantColumn: 'workspace_id' | 'org_id';

  /** Returns the tenant of a scope. */
  protected abstract tenantOf(scope: TenantScope): string;

  private async readByKey(
    tenant: string,
    id: string,
    on: SqlExecutor,
    lock?: keyof typeof LOCKS,
  ): Promise<Row | null> {
    const { table, read } = this.statements;
    const [name, text] = lock
      ? [`${table.name}.lock-${lock}`, `${read} ${LOCKS[lock]}`]
      : [`${table.name}.find`, read];
    const [row] = await on.query<Row>({ name, text, values: [id, tenant] });
    return row ?? null;
  }

  /** Reads rows of one tenant, in the order of the keys: small rows with one statement, and large rows one at a time. */
  private async readBatch(keys: readonly TenantKey[]): Promise<(Row | null | Promise<Row | null>)[]> {
    const { tenant, id } = keys[0]!;
    if (keys.length === 1) return [await this.readByKey(tenant, id, this.database)];
    const { table, readSmall: text } = this.statements;
    const values = [keys.map((key) => key.id), tenant];
    const rows = await this.database.query<Row>({ name: `${table.name}.find-small`, text, values });
    const byId = new Map(rows.map((row) => [row[this.idColumn] as string, row]));
    return keys.map((key) => {
      const row = byId.get(key.id);
      // each caller may change its row
      return row ? { ...row } : this.readByKey(tenant, key.id, this.database);
    });
  }

  /** Selects live rows. The indexes of names in a workspace start with the workspace, so those of the organization must not be used. */
  private liveIn(scope: TenantScope, workspaceId: string | undefined): Sql {
    const tenant = sql`${raw(this.tenantColumn)} = ${this.tenantOf(scope)}`;
    return workspaceId === undefined
      ? sql`${tenant} AND archived_at IS NULL`
      : sql`workspace_id = ${workspaceId} AND (${tenant}) IS TRUE AND archived_at IS NULL`;
  }

  private indexed(column: string): Sql {
    return raw(this.options.indexed?.[column] ?? column);
  }

  private keyOf(scope: TenantScope, id: string): Sql {
    const [idColumn, tenantColumn] = [raw(this.idColumn), raw(this.tenantColumn)];
    return sql`${idColumn} = ${id} AND (${tenantColumn} = ${this.tenantOf(scope)}) IS TRUE`;
  }

  private get statements() {
    if (this.built) return this.built;
    const table = new EntityTable(this.entity);
    const where = (key: string): string =>
      `FROM ${table.name} WHERE ${this.idColumn} ${key} AND (${this.tenantColumn} = $2) IS TRUE`;
    return (this.built = {
      table,
      read: `SELECT ${table.columns} ${where('= $1')}`,
      readSmall: `SELECT ${table.columns} ${where('= ANY ($1::text[])')}
        AND (${this.options.bytes} <= ${SMALL_ROW_BYTES}) IS TRUE`,
      exists: `SELECT 1 ${where('= $1')}`,
    });
  }
}

/** Columns of every row in a workspace. */
export interface WorkspaceRow extends ObjectLiteral {
  workspace_id: string;
}

/** Accesses rows of workspaces by key. */
export abstract class WorkspaceScopedRepository<Row extends WorkspaceRow> extends TenantRepository<
  Scope,
  Row
> {
  protected readonly tenantColumn = 'workspace_id';

  protected tenantOf(scope: Scope): string {
    return scope.workspaceId;
  }
}

/** Columns of every row in an organization. */
export interface OrgRow extends ObjectLiteral {
  org_id: string;
}

/** Accesses rows of organizations by key. */
export abstract class OrgScopedRepository<Row extends OrgRow> extends TenantRepository<OrgScope, Row> {
  protected readonly tenantColumn = 'org_id';

  protected tenantOf(scope: OrgScope): string {
    return scope.orgId;
  }
}
