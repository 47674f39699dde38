import type { OrgScope, Scope } from '#platform/auth';
import {
  type Database,
  empty,
  type EntityClass,
  OrgScopedRepository,
  raw,
  type Sql,
  sql,
  type SqlExecutor,
  type Tx,
  type Where,
} from '#platform/db';
import { toRawJson } from '#platform/json';
import { BY_NAME, listPage, type RowPage } from '#platform/paging';
import type { AnyOf } from '../access/any-of';
import { whereReadable } from '../access/workspace-access.repository';
import type { OwningApp } from './owned.columns';
import type { OwnedListQueryDto } from './owned.dto';
import type { OwnedEntity, SyncState } from './owned.entity';
import type { ArtifactReference, InstalledCopy } from '../packages/packager';
import { findCopies } from '../packages/installed-copies.repository';
import { VersionTable } from './version-table.repository';

/** A table of resources that apps can declare. */
export interface OwnedTable<Row> {
  table: string;
  /** The table of their versions. */
  versions: string;
  /** The column of their ids. */
  id: keyof Row & string;
  /** The columns that a version copies. */
  content: readonly (keyof Row & string)[];
  /** Further columns of the resource. */
  others?: readonly (keyof Row & string)[];
  /** Further columns of a version. See `VersionTableSpec`. */
  ownVersionColumns?: readonly string[];
  /** The column of the name in the app's declaration, for resources that can be renamed. Defaults to `name`. */
  declaredName?: keyof Row & string;
  /** The columns that are cleared when a resource is archived. */
  secrets?: readonly (keyof Row & string)[];
  /** Further columns that a reconcile reads to compare a resource with its declaration. */
  compared?: string;
}

/** The roles that may read resources that apps can declare. Deployed agents hold the role `runtime`. */
export const OWNED_READERS: AnyOf = ['viewer', 'runtime'];

/** A resource, and its name in the app's declaration. */
export interface OwnedName {
  id: string;
  name: string;
}

/** A live resource, and a version of it. */
export interface PinnedRow<Row, VersionRow> {
  row: Row;
  version: VersionRow;
}

/** Columns that a reconcile reads of every resource. */
export interface ComparedRow extends Pick<OwnedEntity, 'name' | 'app_id' | 'sync_state' | 'archived_at'> {
  id: string;
  /** The name in the app's declaration. */
  declared_name: string;
  /** The approximate size of the row in bytes. */
  bytes: number;
}

/**
 * Reads, lists and writes resources that apps can declare. Changes of many rows lock them in the order of their ids, so
 * that concurrent changes do not deadlock.
 */
export abstract class OwnedRepository<Row extends OwnedEntity, VersionRow> extends OrgScopedRepository<Row> {
  readonly versions: VersionTable<VersionRow>;
  /** The columns that a version copies. */
  protected readonly versioned: Sql;
  /** All columns, except generated ones. */
  protected readonly columns: string;
  private readonly table: Sql;
  private readonly id: Sql;
  private readonly declaredName: Sql;

  protected constructor(
    database: Database,
    entity: EntityClass<Row>,
    private readonly owned: OwnedTable<Row>,
  ) {
    super(database, entity, owned.id, { bytes: 'bytes' });
    const identity = [owned.id, 'org_id', 'workspace_id', 'name', 'version_ordinal', 'version_id'];
    const versioned = [...identity, ...owned.content.filter((column) => column !== 'name')];
    const state = ['app_id', 'app', 'sync_state', 'acquired_from', 'generation'];
    const stamps = ['created_at', 'updated_at', 'created_by', 'archived_at'];
    this.versioned = raw(versioned.join(', '));
    this.columns = [...versioned, ...(owned.others ?? []), ...state, ...stamps].join(', ');
    this.table = raw(owned.table);
    this.id = raw(owned.id);
    this.declaredName = raw(owned.declaredName ?? 'name');
    this.versions = new VersionTable(database, {
      table: owned.versions,
      resources: owned.table,
      id: owned.id,
      ordinal: 'version_ordinal',
      columns: versioned,
      ...(owned.ownVersionColumns && { ownColumns: owned.ownVersionColumns }),
    });
  }

  /** Lists resources. @param narrow adds further conditions */
  list(
    scope: OrgScope,
    query: OwnedListQueryDto & { q?: string },
    narrow: (where: Where) => Where = (where) => where,
  ): Promise<RowPage<Row>> {
    const where = whereReadable(scope, query.workspace_id, OWNED_READERS)
      .addIndexedInParts(query.name, (name) => sql`name COLLATE "C" = ${name}`)
      .addIndexed(query.sync_state, (state) => sql`sync_state = ${state}`)
      // A slug contains no underscore.
      .addIndexed(query.app, (app) => (app.startsWith('app_') ? sql`app_id = ${app}` : sql`app = ${app}`))
      .addSearch(query.q);
    return listPage<Row>(
      this.database,
      { ...this.listed, columns: this.columns, where: narrow(where), sorts: BY_NAME },
      query,
    );
  }

  keepVersions(tx: Tx, scope: OrgScope, ids: readonly string[]): Promise<void> {
    return this.versions.keep(tx, scope.orgKey, scope, ids);
  }

  /**
   * Pins a version of a live resource of the workspace, which cannot be archived or changed until the transaction ends.
   * Returns null if there is none.
   */
  async pin(
    tx: Tx,
    scope: Scope,
    { artifact_id, ...version }: ArtifactReference,
  ): Promise<PinnedRow<Row, VersionRow> | null> {
    const [row] = await tx.query<Row>(
      sql`SELECT ${raw(this.columns)} FROM ${this.table}
        WHERE ${this.id} = ${artifact_id} AND workspace_id = ${scope.workspaceId} AND archived_at IS NULL FOR SHARE`,
    );
    if (!row) return null;
    const newest = row.version_ordinal;
    const pinned = await this.versions.findByReference(tx, scope.orgKey, artifact_id, version, newest);
    return pinned && { row, version: pinned };
  }

  /** Returns the workspace's live copies of published resources, by the publisher's ids, locked for update. */
  findCopies(tx: Tx, scope: Scope, artifactIds: readonly string[]): Promise<Map<string, InstalledCopy>> {
    return findCopies(tx, this.owned, scope, artifactIds);
  }

  /** Returns the ids of the workspace's live resources with these names, by name. */
  async idsByName(on: SqlExecutor, scope: Scope, names: readonly string[]): Promise<Map<string, string>> {
    if (names.length === 0) return new Map();
    const rows = await on.query<{ name: string; id: string }>(
      sql`SELECT name, ${this.id} AS id FROM ${this.table}
        WHERE workspace_id = ${scope.workspaceId} AND name = ANY (${names}::text[]) AND archived_at IS NULL`,
    );
    return new Map(rows.map(({ name, id }) => [name, id]));
  }

  /** Reads a page of complete rows, which may be large. */
  findMany(tx: Tx, scope: Scope, ids: readonly string[]): Promise<Row[]> {
    if (ids.length === 0) return Promise.resolve([]);
    return tx.query<Row>(
      sql`SELECT ${raw(this.columns)} FROM ${this.table}
        WHERE ${this.id} = ANY (${ids}::text[]) AND workspace_id = ${scope.workspaceId}`,
    );
  }

  async insertMany(tx: Tx, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const columns = raw(this.columns);
    await tx.query(
      sql`INSERT INTO ${this.table} (${columns})
        SELECT ${columns} FROM json_populate_recordset(NULL::${this.table}, ${toRawJson(rows)}::json)`,
    );
  }

  /** Updates locked rows. */
  async updateMany(tx: Tx, scope: OrgScope, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const versions = ['version_ordinal', 'version_id', 'sync_state', 'acquired_from', 'generation'];
    const state = [...versions, 'updated_at', 'archived_at'];
    const columns = [...this.owned.content, ...(this.owned.others ?? []), ...state];
    const changes = columns.map((column) => `${column} = input.${column}`);
    await tx.query(
      sql`UPDATE ${this.table} AS t SET ${raw(changes.join(', '))}
        FROM json_populate_recordset(NULL::${this.table}, ${toRawJson(rows)}::json) AS input
        WHERE t.${this.id} = input.${this.id} AND t.org_id = ${scope.orgId}`,
    );
  }

  /** Reads and locks the workspace's live resources that the app owns or that have one of these names. */
  lockDeclared<Compared extends ComparedRow>(
    tx: Tx,
    scope: Scope,
    { appId }: OwningApp,
    names: readonly string[],
  ): Promise<Compared[]> {
    const isNamed = sql`name = ANY (${names}::text[])`;
    return this.lockCompared(tx, scope, sql`archived_at IS NULL AND (app_id = ${appId} OR ${isNamed})`);
  }

  /**
   * Reads and locks the app's archived resources with these declared names. If several resources have the same name, locks
   * the one archived last.
   */
  lockArchived<Compared extends ComparedRow>(
    tx: Tx,
    scope: Scope,
    { appId, app }: OwningApp,
    names: readonly string[],
  ): Promise<Compared[]> {
    if (names.length === 0) return Promise.resolve([]);
    // The slug is in the index of the list by app.
    const last = sql`SELECT DISTINCT ON (${this.declaredName}) ${this.id} FROM ${this.table}
      WHERE org_id = ${scope.orgId} AND app = ${app} AND app_id = ${appId} AND archived_at IS NOT NULL
        AND ${this.declaredName} = ANY (${names}::text[])
      ORDER BY ${this.declaredName}, archived_at DESC, ${this.id} DESC`;
    return this.lockCompared(tx, scope, sql`${this.id} IN (${last})`);
  }

  private lockCompared<Compared>(tx: Tx, scope: Scope, condition: Sql): Promise<Compared[]> {
    const compared = this.owned.compared ? raw(`, ${this.owned.compared}`) : empty;
    return tx.query<Compared>(
      sql`SELECT ${this.id} AS id, name, ${this.declaredName} AS declared_name, app_id, sync_state, archived_at,
          bytes${compared}
        FROM ${this.table} WHERE workspace_id = ${scope.workspaceId} AND ${condition}
        ORDER BY ${this.id} FOR UPDATE`,
    );
  }

  /** Sets the state of the app's live resources, or only of the resources declared with these names. */
  async mark(
    tx: Tx,
    scope: Scope,
    appId: string,
    names: readonly string[] | null,
    state: SyncState,
  ): Promise<void> {
    const named = names ? sql` AND ${this.declaredName} = ANY (${names}::text[])` : empty;
    const condition = sql`app_id = ${appId} AND sync_state <> ${state}${named}`;
    await this.updateLive(tx, scope, condition, sql`sync_state = ${state}`);
  }

  /** Sets the app's `failed` resources back to `pending`, except the resources declared with these names. */
  async resetFailed(tx: Tx, scope: Scope, appId: string, except: readonly string[]): Promise<void> {
    const isOther = sql`${this.declaredName} <> ALL (${except}::text[])`;
    const condition = sql`app_id = ${appId} AND sync_state = 'failed' AND ${isOther}`;
    await this.updateLive(tx, scope, condition, sql`sync_state = 'pending'`);
  }

  /** Ends the app's ownership of its resources. People can then restore the archived ones. @returns the live ones */
  async release(tx: Tx, scope: Scope, appId: string): Promise<OwnedName[]> {
    const released = sql`app_id = NULL, app = NULL, sync_state = 'unmanaged'${this.declaredAs(sql`NULL`)}`;
    const owned = sql`app_id = ${appId}`;
    await this.updateWhere(tx, scope, sql`archived_at IS NOT NULL AND ${owned}`, released);
    return this.updateLive(tx, scope, owned, released);
  }

  /** Makes released resources that are still live and unmanaged `pending` under an app. @returns their ids */
  async adopt(
    tx: Tx,
    scope: Scope,
    { appId, app }: OwningApp,
    released: readonly OwnedName[],
  ): Promise<string[]> {
    const [ids, names] = [released.map(({ id }) => id), released.map(({ name }) => name)];
    const nameOf = sql`(${names}::text[])[array_position(${ids}::text[], owned.${this.id})]`;
    const adopted = await this.updateLive(
      tx,
      scope,
      sql`app_id IS NULL AND ${this.id} = ANY (${ids}::text[])`,
      sql`app_id = ${appId}, app = ${app}, sync_state = 'pending'${this.declaredAs(nameOf)}`,
    );
    return adopted.map(({ id }) => id);
  }

  /** Replaces the names of locked resources with their ids before they are renamed, so that resources can swap names. */
  async clearNames(tx: Tx, scope: Scope, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await tx.query(
      sql`UPDATE ${this.table} SET name = ${this.id}
        WHERE ${this.id} = ANY (${ids}::text[]) AND workspace_id = ${scope.workspaceId}`,
    );
  }

  /** Marks resources as `synced`. @param ids of locked rows */
  markSynced(tx: Tx, scope: Scope, ids: readonly string[]): Promise<void> {
    return this.updateLocked(tx, scope, ids, new Date(), empty);
  }

  /** Archives resources. They are `synced`, because the app no longer declares them. @param ids of locked rows */
  archiveMany(tx: Tx, scope: Scope, ids: readonly string[], at: Date): Promise<void> {
    const cleared = raw((this.owned.secrets ?? []).map((column) => `, ${column} = NULL`).join(''));
    return this.updateLocked(tx, scope, ids, at, sql`, archived_at = ${at}${cleared}`);
  }

  private declaredAs(name: Sql): Sql {
    return this.owned.declaredName ? sql`, ${this.declaredName} = ${name}` : empty;
  }

  private updateLive(tx: Tx, scope: Scope, condition: Sql, changes: Sql): Promise<OwnedName[]> {
    return this.updateWhere(tx, scope, sql`archived_at IS NULL AND ${condition}`, changes);
  }

  private updateWhere(tx: Tx, scope: Scope, condition: Sql, changes: Sql): Promise<OwnedName[]> {
    return tx.query<OwnedName>(
      sql`WITH locked AS MATERIALIZED (
          SELECT ${this.id}, ${this.declaredName} AS name FROM ${this.table}
          WHERE workspace_id = ${scope.workspaceId} AND ${condition}
          ORDER BY ${this.id} FOR UPDATE
        )
        UPDATE ${this.table} owned SET ${changes}, generation = generation + 1, updated_at = ${new Date()}
        FROM locked WHERE owned.${this.id} = locked.${this.id} AND owned.workspace_id = ${scope.workspaceId}
        RETURNING owned.${this.id} AS id, locked.name`,
    );
  }

  private async updateLocked(tx: Tx, scope: Scope, ids: readonly string[], at: Date, changes: Sql) {
    if (ids.length === 0) return;
    await tx.query(
      sql`UPDATE ${this.table} SET sync_state = 'synced'${changes}, generation = generation + 1, updated_at = ${at}
        WHERE ${this.id} = ANY (${ids}::text[]) AND workspace_id = ${scope.workspaceId}`,
    );
  }
}

/** The part of an `OwnedRepository` that changes the ownership and state of an app's resources. */
export type OwnedRows = Pick<
  OwnedRepository<OwnedEntity, unknown>,
  'mark' | 'resetFailed' | 'release' | 'adopt'
>;
