import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { retry } from '#platform/concurrency';
import { Database, type SqlExecutor, type Tx } from '#platform/db';
import { checkIfMatch, checkImmutable, checkValues, Existing, patchOf, Versioned } from '#platform/http';
import { ID_PREFIXES, isId } from '#platform/ids';
import { type Page, type RowPage, toPage } from '#platform/paging';
import { orNotFound, Problem, problem } from '#platform/problem';
import { AllowedKinds } from './access/allowed-kinds';
import { ProtectedLabels } from './access/protected-labels.repository';
import { type NamedKind, NamedPaths } from './access/named-paths';
import { checkNotMoved, WorkspaceAccess } from './access/workspace-access';
import type { AuditAction, AuditChange } from './audit-log/audit-entry.entity';
import { AuditLog, createdChanges } from './audit-log/audit-log.repository';
import type { ErasureEntity, ErasureSubject } from './erasure/erasure.entity';
import { Erasures } from './erasure/erasures';
import { bumpedColumns, changedColumns, changesToAudit, checkLive, createsVersion } from './change';
import { References } from './references/references';
import type { PatchBody, ResourceAction, ResourceKind, ResourceRow, ResourceRows } from './resource-kind';
import type { OnConflict } from './resource.dto';
import { SearchIndex } from './search-index/search-index';
import {
  explainUniqueName,
  NameChanged,
  NameConflict,
  NameTaken,
  takenDetail,
  withUniqueName,
} from './unique-name';
import { pick } from './view.dto';

/** The services that the kit uses. Inject it and pass it to `super`. */
@Injectable()
export class ResourceKit {
  constructor(
    readonly database: Database,
    readonly access: WorkspaceAccess,
    readonly audit: AuditLog,
    readonly index: SearchIndex,
    readonly allowed: AllowedKinds,
    readonly names: NamedPaths,
    readonly references: References,
    readonly erasures: Erasures,
    readonly protectedLabels: ProtectedLabels,
  ) {}
}

/** How a resource is deleted. */
export interface Deletion {
  /** Deletes it even if something refers to it. */
  force?: boolean;
  ifMatch?: string;
}

/** The body of a create, as far as the kit reads it. */
export type CreateBody<Row> = { workspace_id: string } & { [Member in keyof Row]?: unknown };

/** How often a create with `on_conflict` looks for the resource with the name, and creates it if there is none. */
const CONFLICT_RETRY = {
  attempts: 10,
  firstDelayMs: 0,
  isRetryable: (error: unknown): boolean => error instanceof NameChanged,
};

/**
 * Creates, reads, lists, changes, archives, restores and deletes resources of one kind, by the rules that hold for all of them:
 * row lock, `If-Match`, liveness, immutable members, diff, versions, audit log, search index, ETag and view. A PATCH
 * that changes nothing writes nothing and keeps the ETag.
 *
 * The order of the checks is the API's: body (400), the object (404), role (403), `If-Match` (412), state (409), values
 * (422).
 */
export abstract class ResourceService<S extends OrgScope, Row extends ResourceRow, View> {
  /** Bodies of patches that must only change a resource that still has the name in the body. */
  private readonly patchesByName = new WeakSet<object>();

  protected constructor(
    protected readonly kit: ResourceKit,
    protected readonly rows: ResourceRows<S, Row>,
    protected readonly kind: ResourceKind<Row, View>,
  ) {
    if (kind.versions && !rows.keepVersions) {
      throw new Error(
        `The repository of ${kind.noun} resources has no keepVersions, which their versions need.`,
      );
    }
    explainUniqueName(kind);
    if (kind.unique?.inPaths) {
      const { noun, readers } = kind;
      const findId: NamedKind['findId'] = (scope, workspaceId, name) =>
        this.findId(scope as S, workspaceId, name);
      kit.names.add(kind.id, { noun, readers, findId });
    }
  }

  /** Returns one resource. Throws 404. */
  async get(scope: S, id: string): Promise<Versioned<View>> {
    return this.shown(scope, await this.find(scope, id));
  }

  /** Returns the row of a resource that the caller may read. Throws 404. */
  async find(scope: S, id: string): Promise<Row> {
    return this.readable(scope, await this.rows.find(scope, id), id);
  }

  /**
   * Returns the ids of resources that a body refers to by id or name, in the same order. A well-formed id is an id, anything
   * else is the name of a live resource. A name that no resource has stays, so that the look-up of the ids reports it.
   *
   * @param workspaceId the workspace of the names, on routes without the workspace header
   */
  async idsOf(scope: S, references: readonly string[], workspaceId?: string): Promise<string[]> {
    const { id, unique } = this.kind;
    const names = references.filter((reference) => !isId(ID_PREFIXES[id]!, reference));
    const ids = await this.rows.liveIds(scope, unique!.field, [...new Set(names)], workspaceId);
    return references.map((reference) => ids.get(reference) ?? reference);
  }

  /**
   * Archives a resource and frees its name. A repeat returns the same resource. Throws 404, 403, 412, and 409 when its
   * workspace is archived.
   */
  async archive(scope: S, id: string, ifMatch?: string): Promise<Versioned<View>> {
    const archived = await this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'archive');
      if (row.archived_at) return row;
      checkIfMatch(ifMatch, this.etag(row));
      await this.checkOpen(tx, scope, row);
      const at = new Date();
      const columns = { ...(await this.onArchive(tx, scope, row, at)), archived_at: at } as Partial<Row>;
      return this.write(tx, scope, row, columns, 'archive');
    });
    return this.shown(scope, archived);
  }

  /**
   * Makes an archived resource live again. A repeat returns the same resource. Throws 404, 403, 412, and 409 when its name
   * has been taken, its workspace is archived, or an app owns it.
   *
   * @param columns further columns to write, whose values must be known before the transaction
   */
  async restore(
    scope: S,
    id: string,
    ifMatch?: string,
    columns: Partial<Row> = {},
  ): Promise<Versioned<View>> {
    const restored = await this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'restore');
      if (!row.archived_at) return row;
      checkIfMatch(ifMatch, this.etag(row));
      await this.checkOpen(tx, scope, row);
      this.checkNotOwned(row);
      const { erasure } = this.kind;
      if (erasure) await this.kit.erasures.checkNotErasing(tx, scope, erasure, placeOf(row), this.idOf(row));
      const more = await this.onRestore(tx, scope, row);
      return this.write(
        tx,
        scope,
        row,
        { ...columns, ...more, archived_at: null } as Partial<Row>,
        'restore',
      );
    });
    return this.shown(scope, restored);
  }

  /**
   * Deletes an archived resource for good, with everything that belongs to it: rows whose foreign keys cascade, its search
   * document, and bytes that nothing else refers to. Its audit entries stay. Throws 404, 403, 412, and 409 for a resource
   * that is not archived, and for one that something refers to, unless `force` is set.
   *
   * @returns for a kind with an `erasure`, the erasure that deletes the resource
   */
  delete(scope: S, id: string, how: Deletion = {}): Promise<ErasureEntity | void> {
    return this.transaction(scope, (tx) => this.deleteWithin(tx, scope, id, how));
  }

  /** Deletes a resource within a transaction of the caller. See `delete`. */
  async deleteWithin(tx: Tx, scope: S, id: string, how: Deletion = {}): Promise<ErasureEntity | void> {
    const row = await this.lockToDelete(tx, scope, id, how);
    const { erasure, search } = this.kind;
    if (erasure) {
      await this.record(tx, scope, row, 'delete', []);
      return this.requestErasure(tx, scope, row, erasure);
    }
    await this.onDelete(tx, scope, row);
    await this.rows.delete(tx, scope, this.idOf(row));
    await this.kit.references.markErased(tx, scope, this.kind.noun, this.idOf(row));
    if (search) await this.kit.index.remove(tx, scope, search.type, [this.idOf(row)]);
    await this.record(tx, scope, row, 'delete', []);
  }

  /** Requests the erasure of a locked resource. Throws 409 if it is already being erased. */
  protected requestErasure(
    tx: Tx,
    scope: S,
    row: Row,
    subject: ErasureSubject,
    isDryRun = false,
  ): Promise<ErasureEntity> {
    const [id, workspaceId] = [this.idOf(row), placeOf(row)];
    return this.kit.erasures.request(tx, scope, { subject, id, workspaceId, isDryRun });
  }

  /** Locks a resource that may be deleted. Throws the errors of `delete`. */
  protected async lockToDelete(tx: Tx, scope: S, id: string, { force, ifMatch }: Deletion): Promise<Row> {
    const row = await this.lock(tx, scope, id, 'delete');
    checkIfMatch(ifMatch, this.etag(row));
    this.checkDeletable(row);
    if (!force) await this.kit.references.checkUnused(tx, scope, this.kind.noun, this.idOf(row));
    return row;
  }

  /**
   * Creates a resource. If its name is taken, does what `on_conflict` says: throws 409, or returns the resource that has the
   * name, unchanged or patched, as an `Existing`. Throws 409 if the caller may not read it.
   *
   * @param patch changes the resource as a PATCH would. Gets the body as the DTO of a PATCH
   */
  protected async createOr<Patch extends object>(
    scope: S,
    onConflict: OnConflict = 'error',
    body: CreateBody<Row>,
    create: () => Promise<Versioned<View>>,
    PatchDto: new () => Patch,
    patch: (id: string, body: Patch) => Promise<Versioned<View>>,
  ): Promise<Versioned<View>> {
    if (onConflict === 'error') return create();
    const row = body as unknown as Row;
    return retry(async () => {
      const existing = await this.findForCreate(scope, body);
      if (!existing) {
        return create().catch((error: unknown) => {
          throw error instanceof NameConflict ? new NameChanged() : error;
        });
      }
      if (!this.isReadable(scope, existing)) throw this.duplicateOf(scope, existing);
      const id = this.idOf(existing);
      const { view, version } = await (onConflict === 'return'
        ? this.get(scope, id)
        : patch(id, this.byName(patchOf(PatchDto, body))));
      if (onConflict === 'return') this.checkStillNamed(view as unknown as Row, row);
      return new Existing(view, version);
    }, CONFLICT_RETRY);
  }

  /** Finds the live resource with the name in the body of a create. */
  protected findForCreate(scope: S, body: CreateBody<Row>): Promise<Row | null> {
    return this.findNamed(scope, body as unknown as Row);
  }

  private byName<Patch extends object>(patch: Patch): Patch {
    this.patchesByName.add(patch);
    return patch;
  }

  private checkStillNamed(row: Row, named: Row): void {
    const { field } = this.kind.unique!;
    if (row.archived_at || row[field] !== named[field]) throw new NameChanged();
  }

  /** Inserts a new row with its first version, its audit entry and its search document. */
  protected async insert(tx: Tx, scope: S, row: Row): Promise<Row> {
    await withUniqueName(this.kind, row, () => this.rows.insert(row, tx));
    if (this.kind.versions) await this.rows.keepVersions!(tx, scope, [this.idOf(row)]);
    await this.record(tx, scope, row, 'create', createdChanges(pick(row, this.kind.createdFields ?? [])));
    await this.reindex(tx, scope, row);
    return row;
  }

  /**
   * Changes a resource. Throws the errors of `patch`, 404, 403, 412 for a stale `If-Match`, 409 for an archived resource or
   * workspace and for a name that is taken, 422 for immutable members, another workspace and unknown values.
   *
   * @param patch returns the columns that the body sets; undefined leaves a column unchanged
   */
  protected async change(
    scope: S,
    id: string,
    dto: PatchBody<Row>,
    ifMatch: string | undefined,
    patch: (row: Row, tx: Tx) => Partial<Row> | Promise<Partial<Row>>,
  ): Promise<Versioned<View>> {
    const changed = await this.transaction(scope, async (tx) => {
      const row = await this.lock(tx, scope, id, 'update');
      const columns = await patch(row, tx);
      await this.checkChange(tx, scope, row, dto, ifMatch);
      return this.write(tx, scope, row, columns, 'update');
    });
    return this.shown(scope, changed);
  }

  /** Runs the checks of a PATCH that follow the checks of its body: 412, 409, 422. */
  protected async checkChange(
    tx: Tx,
    scope: S,
    row: Row,
    dto: PatchBody<Row>,
    ifMatch: string | undefined,
  ): Promise<void> {
    if (this.patchesByName.has(dto)) this.checkStillNamed(row, dto as Row);
    checkIfMatch(ifMatch, this.etag(row));
    this.checkWritable(row);
    await this.checkOpen(tx, scope, row);
    if ('workspace_id' in row && this.kind.id !== 'workspace_id') {
      checkNotMoved(row as { workspace_id: string }, dto.workspace_id);
    }
    checkImmutable(row, dto, this.kind.immutable);
    checkValues(dto);
  }

  /**
   * Writes the columns that differ, with generation, version, audit entry and search document. Writes nothing if no column
   * differs.
   *
   * @returns the row as stored after the write
   */
  protected async write(tx: Tx, scope: S, row: Row, patch: Partial<Row>, action: AuditAction): Promise<Row> {
    const changed = changedColumns(row, patch);
    if (!changed) return row;
    const columns = {
      ...changed,
      ...bumpedColumns(this.kind, row, changed),
      ...this.kind.derived?.(row, changed),
    };
    const id = this.idOf(row);
    await withUniqueName(this.kind, { ...row, ...changed }, () => this.rows.update(tx, scope, id, columns));
    if (createsVersion(this.kind, changed)) await this.rows.keepVersions!(tx, scope, [id]);
    const isLifecycle = action === 'archive' || action === 'restore';
    await this.record(tx, scope, row, action, isLifecycle ? [] : this.auditedChanges(row, changed));
    const next = { ...row, ...columns };
    await this.reindex(tx, scope, next);
    return next;
  }

  /** Locks a row for a change. Throws 404 and 403. */
  protected async lock(tx: Tx, scope: S, id: string, action: ResourceAction): Promise<Row> {
    return this.admit(tx, scope, await this.rows.lock(tx, scope, id, 'update'), id, action);
  }

  /** Checks that the caller may perform an action on a locked row. By default, the guards have checked the role. */
  protected admit(_tx: Tx, scope: S, row: Row | null, id: string, _action: ResourceAction): Promise<Row> {
    return Promise.resolve(this.readable(scope, row, id));
  }

  /** Returns the row if the caller may read it. Throws 404 otherwise. By default, every caller may read. */
  protected readable(_scope: S, row: Row | null, id: string): Row {
    return orNotFound(row, this.kind.noun, id);
  }

  /** Runs `work` in one transaction. If a name is taken, throws 409 with the id of the resource that has the name. */
  protected async transaction<Result>(scope: S, work: (tx: Tx) => Promise<Result>): Promise<Result> {
    try {
      return await this.begin(scope, work);
    } catch (error) {
      if (!(error instanceof NameTaken)) throw error;
      throw this.duplicateOf(scope, await this.findNamed(scope, error.row as Row));
    }
  }

  /** Begins the transaction in which a resource is written. */
  protected begin<Result>(_scope: S, work: (tx: Tx) => Promise<Result>): Promise<Result> {
    return this.kit.database.transaction(work);
  }

  /** Hook for further steps of archiving. Returns further columns to write. @param _at the time for `archived_at` */
  protected onArchive(_tx: Tx, _scope: S, _row: Row, _at: Date): Promise<Partial<Row>> {
    return Promise.resolve({});
  }

  /** Hook for further steps of restoring. Returns further columns to write. */
  protected onRestore(_tx: Tx, _scope: S, _row: Row): Promise<Partial<Row>> {
    return Promise.resolve({});
  }

  /** Hook for what goes with a deleted resource, besides rows whose foreign keys cascade. Called before its row is deleted. */
  protected onDelete(_tx: Tx, _scope: S, _row: Row): Promise<void> {
    return Promise.resolve();
  }

  /** Throws 409 for a resource that cannot be deleted. By default, for one that is not archived. */
  protected checkDeletable(row: Row): void {
    if (row.archived_at) return;
    throw problem.conflict(`The ${this.kind.noun} is not archived. Archive it before you delete it.`);
  }

  /** Throws 409 for a resource that cannot be changed. */
  protected checkWritable(row: Row): void {
    checkLive(row, this.kind.noun);
  }

  /** Prevents the workspace of a resource from being archived until the transaction ends. Throws 409 when it is archived. */
  protected checkOpen(_tx: Tx, _scope: S, _row: Row): Promise<void> {
    return Promise.resolve();
  }

  /** Hook for views that show more than the row, such as which references were deleted. */
  protected shown(_scope: S, row: Row): Promise<Versioned<View>> {
    return Promise.resolve(this.versioned(row));
  }

  protected versioned(row: Row): Versioned<View> {
    return new Versioned(this.kind.toView(row), this.etag(row));
  }

  /** Converts a page of rows into a page of views. */
  protected page(rows: RowPage<Row>): Page<View> {
    return toPage(rows, this.kind.toView);
  }

  /** Returns the changes that the audit log shows. */
  protected auditedChanges(row: Row, changed: Partial<Row>): AuditChange[] {
    return changesToAudit(this.kind, row, changed);
  }

  protected idOf(row: Row): string {
    return row[this.kind.id] as string;
  }

  /** Returns the version for the ETag. */
  protected etag(row: Row): string | number {
    return row[this.kind.generation] as number;
  }

  /** Throws 409 for restoring a resource that an app owns. */
  private checkNotOwned(row: Row): void {
    const { app_id = null, app } = row as { app_id?: string | null; app?: string };
    if (app_id === null || this.kind.id === 'app_id') return;
    throw problem.conflict(
      `The app ${app} owns this ${this.kind.noun}. Declare it in the app. The next reconcile then restores it.`,
    );
  }

  protected async record(
    tx: Tx,
    scope: S,
    row: Row,
    action: AuditAction,
    changes: readonly AuditChange[],
  ): Promise<void> {
    const { type } = this.kind;
    if (type === undefined) return;
    await this.kit.audit.record(tx, scope, {
      action,
      type,
      id: this.idOf(row),
      workspaceId: placeOf(row),
      changes,
    });
  }

  /** Adds a live resource to the search index, and removes an archived one. */
  protected async reindex(tx: Tx, scope: S, row: Row): Promise<void> {
    const { search } = this.kind;
    if (!search) return;
    const document = row.archived_at ? null : search.document(row);
    if (document) await this.kit.index.put(tx, scope, [document]);
    else await this.kit.index.remove(tx, scope, search.type, [this.idOf(row)]);
  }

  /** Returns the id of the live resource with a name; null if there is none that the caller may read. */
  private async findId(scope: S, workspaceId: string, name: string): Promise<string | null> {
    const row = await this.rows.findLive(scope, this.kind.unique!.field, name, workspaceId);
    return row && this.isReadable(scope, row) ? this.idOf(row) : null;
  }

  private isReadable(scope: S, row: Row): boolean {
    try {
      return this.readable(scope, row, this.idOf(row)) === row;
    } catch (error) {
      if (error instanceof Problem) return false;
      throw error;
    }
  }

  /**
   * Throws 409 if another resource has the name of a row. For writes in a transaction of another service, which cannot look up
   * the other resource once the write has failed.
   */
  protected async checkNameFree(tx: Tx, scope: S, row: Row): Promise<void> {
    const existing = await this.findNamed(scope, row, tx);
    if (existing && this.idOf(existing) !== this.idOf(row)) throw this.duplicateOf(scope, existing);
  }

  /** Finds the live resource with the name of a row. */
  protected findNamed(scope: S, row: Row, on?: SqlExecutor): Promise<Row | null> {
    const { field, within = 'workspace' } = this.kind.unique!;
    const workspace = within === 'workspace' ? (row as { workspace_id?: string }).workspace_id : undefined;
    return this.rows.findLive(scope, field, row[field], workspace, on);
  }

  /** Returns the 409 for a name that is taken, with the id of the resource that has it if the caller may read it. */
  private duplicateOf(scope: S, existing: Row | null): Problem {
    const isShown = existing && this.isReadable(scope, existing);
    return new NameConflict(takenDetail(this.kind, isShown ? this.idOf(existing) : undefined));
  }
}

/** The workspace of a resource; null if it has none. */
const placeOf = (row: object): string | null =>
  'workspace_id' in row ? (row.workspace_id as string | null) : null;
