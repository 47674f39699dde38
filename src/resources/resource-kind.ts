import type { SqlExecutor, Tx } from '#platform/db';
import type { AnyOf } from './access/any-of';
import type { AuditChange, AuditedType } from './audit-log/audit-entry.entity';
import type { ErasureSubject } from './erasure/erasure.entity';
import type { SearchDocument, SearchType } from './search-index/search-document';

/** Columns that the kit maintains in every resource's row. */
export interface ResourceRow {
  created_at: Date;
  updated_at: Date;
  created_by: string;
  /** Null while the resource is live. */
  archived_at: Date | null;
}

/** Configuration of the kit for one kind of resource. */
export interface ResourceKind<Row extends ResourceRow, View> {
  /** The noun of problem details: `dataset`. */
  noun: string;
  /** Its type in the audit log. Absent for a kind whose changes are not logged. */
  type?: AuditedType;
  /** The roles that may read it, on routes without the workspace header. Defaults to `viewer`. */
  readers?: AnyOf;
  /** The column of the resource's id. */
  id: keyof Row & string;
  /** The column that every change increments. The ETag contains its value. */
  generation: keyof Row & string;
  /** Members that a PATCH may repeat but never change (422 `immutable_field`). */
  immutable: readonly (keyof Row & string)[];
  /** Members whose values the audit log shows. It shows only the names of all others. */
  auditedFields?: readonly (keyof Row & string)[];
  /** Returns the changes that the audit log shows, if `auditedFields` cannot express them. */
  auditedChanges?: (row: Row, changed: Partial<Row>) => AuditChange[];
  /** Members that the audit log shows of a new resource. */
  createdFields?: readonly (keyof Row & string)[];
  /** The column of the version number, and the members whose change creates a version. Absent for a kind without versions. */
  versions?: { ordinal: keyof Row & string; fields: readonly (keyof Row & string)[] };
  /** The unique constraint on names among live resources, the member it covers, and where names are unique. */
  unique?: UniqueName<Row>;
  /** Returns further columns that follow from a change, such as `sync_state`. */
  derived?: (row: Row, changed: Partial<Row>) => Partial<Row>;
  /** Returns its search document, or null for a resource that search must not find. */
  search?: { type: SearchType; document: (row: Row) => SearchDocument | null };
  /** The erasure that deletes a resource of the kind, because it may have too many rows for one request. */
  erasure?: ErasureSubject;
  toView: (row: Row) => View;
}

/** A unique name. `within` defaults to `workspace`. */
export interface UniqueName<Row> {
  constraint: string;
  field: keyof Row & string;
  within?: 'workspace' | 'organization';
  /** Whether paths take `name:<name>` instead of the id. */
  inPaths?: true;
}

/** The body of a PATCH, as far as the kit reads it. */
export type PatchBody<Row> = { workspace_id?: string } & { [Member in keyof Row]?: unknown };

/** An action on an existing resource. */
export type ResourceAction = 'update' | 'archive' | 'restore' | 'delete';

/** Access to a table of resources, as `OrgScopedRepository` and `WorkspaceScopedRepository` provide it. */
export interface ResourceRows<S, Row extends ResourceRow> {
  find(scope: S, id: string): Promise<Row | null>;
  lock(tx: Tx, scope: S, id: string, mode: 'update'): Promise<Row | null>;
  insert(row: Row, tx: Tx): Promise<void>;
  update(tx: Tx, scope: S, id: string, columns: Partial<Row>): Promise<void>;
  delete(tx: Tx, scope: S, id: string): Promise<void>;
  findLive(
    scope: S,
    column: keyof Row & string,
    value: unknown,
    workspaceId?: string,
    on?: SqlExecutor,
  ): Promise<Row | null>;
  liveIds(
    scope: S,
    column: keyof Row & string,
    values: readonly string[],
    workspaceId?: string,
  ): Promise<Map<string, string>>;
  /** Stores the current state of resources as their newest version. */
  keepVersions?(tx: Tx, scope: S, ids: readonly string[]): Promise<void>;
}
