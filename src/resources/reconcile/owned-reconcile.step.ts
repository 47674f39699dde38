import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { FieldError } from '#platform/problem';
import type { AnyOf } from '../access/any-of';
import type { AuditChange } from '../audit-log/audit-entry.entity';
import { type AuditRecord, createdChanges } from '../audit-log/audit-log.repository';
import { bumpedColumns, changedColumns, changesToAudit } from '../change';
import type { OwningApp } from '../owned/owned.columns';
import type { OwnedEntity } from '../owned/owned.entity';
import type { ComparedRow, OwnedRepository } from '../owned/owned.repository';
import type { ResourceKind } from '../resource-kind';
import type { ResourceKit } from '../resource.service';
import { pick } from '../view.dto';
import type { DeclaredKind, ReconcilePlan } from './reconcile-plan';
import {
  type Declared,
  type DeclarationFault,
  ReconcileError,
  type ReconcileResult,
  type ReconcileStep,
  type ReconcileSteps,
} from './reconcile-step';

/** A declaration and the app's resource of its name. */
export interface Matched<Content, Compared, Known extends Compared | null = Compared | null> {
  name: string;
  /** The content that the step has read from the declaration. */
  content: Content;
  /** Null for a resource to create. */
  row: Known;
}

/** A resource to write. */
export interface ReconcileDraft<Row, Content> {
  /** The stored row, or null for a new resource. */
  before: Row | null;
  row: Row;
  /** The columns that a declaration changed. */
  changed: Partial<Row>;
  content: Content;
}

/**
 * The steps common to all kinds. Locks resources, matches them with declarations by name, rejects names that are taken,
 * archives, restores, creates and updates in pages, with versions, audit entries and search documents. A kind defines how
 * its declarations are read and compared.
 */
export abstract class OwnedReconcileStep<
  Row extends OwnedEntity,
  Content,
  Compared extends ComparedRow = ComparedRow,
> implements ReconcileStep {
  readonly kind: DeclaredKind;

  protected constructor(
    steps: ReconcileSteps,
    protected readonly kit: ResourceKit,
    readonly rows: OwnedRepository<Row, unknown>,
    private readonly resource: ResourceKind<Row, unknown>,
  ) {
    this.kind = resource.type as DeclaredKind;
    steps.add(this);
  }

  readonly declarers: AnyOf = ['editor'];
  abstract readonly specType: new () => object;

  abstract faultsIn(name: string, spec: Record<string, unknown>, pointer: string): FieldError[];

  combinedFaults(_declared: readonly Declared[]): FieldError[] {
    return [];
  }

  async apply(
    tx: Tx,
    scope: Scope,
    app: OwningApp,
    declared: readonly Declared[],
    plan?: ReconcilePlan,
  ): Promise<ReconcileResult> {
    const names = declared.map(({ name }) => name);
    const live = await this.rows.lockDeclared<Compared>(tx, scope, app, names);
    const { contents, faults } = await this.read(tx, scope, declared);
    const allFaults = [...takenNames(app, declared, live), ...faults];
    if (allFaults.length > 0) throw new ReconcileError(allFaults);

    // All of them belong to the app, because names of other resources have been rejected.
    const owned = new Map(live.map((row) => [row.declared_name, row]));
    const missing = names.filter((name) => !owned.has(name));
    for (const row of await this.rows.lockArchived<Compared>(tx, scope, app, missing)) {
      owned.set(row.declared_name, row);
    }
    const declaredNames = new Set(names);
    const dropped = live.filter(({ declared_name }) => !declaredNames.has(declared_name));
    const undeclared = idsOf(dropped);
    await this.archive(tx, scope, undeclared, new Date());
    plan?.addArchived(
      this.kind,
      dropped.map(({ declared_name }) => declared_name),
    );

    const matched = declared.map(({ name }, index) => {
      return { name, content: contents[index]!, row: owned.get(name) ?? null };
    });
    const present = matched.filter(isPresent);
    await this.beforeCompare(tx, scope, present);
    const different = new Set<object>(await this.different(present));
    const changes = matched.filter((one) => !one.row || one.row.archived_at || different.has(one));
    await this.freeNames(tx, scope, changes);
    await this.beforeWrite(tx, scope, changes, plan !== undefined);
    const result: ReconcileResult = {
      created: [],
      updated: [],
      restored: [],
      archived: undeclared,
      liveCount: declared.length,
    };
    for (const page of pagesOf(changes, (one) => this.bytesOf(one))) {
      const drafts = await this.draftsOf(tx, scope, app, page);
      await this.write(tx, scope, drafts);
      if (plan) this.addTo(plan, declared, drafts);
      for (const { before, row } of drafts) {
        const ids = before ? (before.archived_at ? result.restored : result.updated) : result.created;
        ids.push(this.idOf(row));
      }
    }
    const written = new Set([...result.updated, ...result.restored]);
    const unsynced = present.filter(({ row }) => row.sync_state !== 'synced' && !written.has(row.id));
    await this.rows.markSynced(tx, scope, idsOf(unsynced.map(({ row }) => row)));
    return result;
  }

  /** Reads declarations without form errors, in their order. Returns unknown references as faults. */
  protected abstract read(
    tx: Tx,
    scope: Scope,
    declared: readonly Declared[],
  ): Promise<{ contents: Content[]; faults: DeclarationFault[] }>;

  /** Hook for writes of a kind that must precede the comparison. `present` includes resources to restore. */
  protected beforeCompare(
    _tx: Tx,
    _scope: Scope,
    _present: readonly Matched<Content, Compared, Compared>[],
  ): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the resources that may differ from their declarations. `present` includes resources to restore. */
  protected different(present: readonly Matched<Content, Compared, Compared>[]): Promise<readonly object[]> {
    return Promise.resolve(present.filter(({ row, content }) => this.isDifferent(row, content)));
  }

  /** Tells whether a resource may differ from its declaration. */
  protected abstract isDifferent(row: Compared, content: Content): boolean;

  /** Returns the row of a resource to create. */
  protected abstract newRow(scope: Scope, app: OwningApp, name: string, content: Content): Row;

  /** Returns the columns that a declaration decides. */
  protected abstract columnsOf(row: Row, content: Content): Partial<Row>;

  /** Hook for work that must precede the first page. @param isPlanned whether the transaction is rolled back */
  protected beforeWrite(
    _tx: Tx,
    _scope: Scope,
    _changes: readonly Matched<Content, Compared>[],
    _isPlanned: boolean,
  ): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the bytes that writing a resource holds in memory. */
  protected bytesOf({ row }: Matched<Content, Compared>): number {
    return row?.bytes ?? 0;
  }

  /** Returns the changes of a stored resource that a plan shows. */
  protected plannedChanges({ before, changed }: ReconcileDraft<Row, Content>): AuditChange[] {
    return changesToAudit(this.resource, before!, changed);
  }

  /** Writes resources with their versions, audit entries and search documents. */
  protected async write(
    tx: Tx,
    scope: Scope,
    drafts: readonly ReconcileDraft<Row, Content>[],
  ): Promise<void> {
    const rowsOf = (some: readonly ReconcileDraft<Row, Content>[]) => some.map(({ row }) => row);
    await this.rows.insertMany(tx, rowsOf(drafts.filter(({ before }) => !before)));
    await this.rows.updateMany(tx, scope, rowsOf(drafts.filter(({ before }) => before)));
    const versions = rowsOf(drafts.filter(({ before, row }) => row.version_id !== before?.version_id));
    await this.rows.keepVersions(
      tx,
      scope,
      versions.map((row) => this.idOf(row)),
    );
    await this.kit.audit.record(tx, scope, ...drafts.flatMap((draft) => this.auditEntries(draft)));
    const documents = drafts.flatMap(({ row }) => this.resource.search?.document(row) ?? []);
    await this.kit.index.put(tx, scope, documents);
  }

  /** Archives locked resources that the app no longer declares. */
  protected async archive(tx: Tx, scope: Scope, ids: readonly string[], at: Date): Promise<void> {
    await this.rows.archiveMany(tx, scope, ids, at);
    await this.recordArchived(
      tx,
      scope,
      ids.map((id) => ({ id, workspaceId: scope.workspaceId })),
    );
  }

  /** Records archived resources in the audit log, and removes them from the search index. */
  protected async recordArchived(
    tx: Tx,
    scope: Scope,
    archived: readonly { id: string; workspaceId: string }[],
  ): Promise<void> {
    const entries = archived.map((one) => ({ ...one, action: 'archive' as const, type: this.kind }));
    await this.kit.audit.record(tx, scope, ...entries);
    await this.kit.index.remove(tx, scope, this.kind, idsOf(archived));
  }

  /** Returns the resources of a page to write. Some may not differ after all. */
  private async draftsOf(
    tx: Tx,
    scope: Scope,
    app: OwningApp,
    page: readonly Matched<Content, Compared>[],
  ): Promise<ReconcileDraft<Row, Content>[]> {
    const ids = page.flatMap(({ row }) => row?.id ?? []);
    const rows = await this.rows.findMany(tx, scope, ids);
    const stored = new Map(rows.map((row) => [this.idOf(row), row]));
    return page.flatMap(({ name, content, row }): ReconcileDraft<Row, Content>[] => {
      if (!row) return [{ before: null, row: this.newRow(scope, app, name, content), changed: {}, content }];
      // `freeNames` may have cleared its name.
      const before = { ...stored.get(row.id)!, name: row.name };
      const changed = changedColumns<Row>(before, this.columnsOf(before, content));
      if (!changed && !row.archived_at) return [];
      return [{ before, row: this.nextRow(before, changed ?? {}), changed: changed ?? {}, content }];
    });
  }

  /** Frees the names of resources that users renamed, because resources may have taken each other's names. */
  private freeNames(tx: Tx, scope: Scope, changes: readonly Matched<Content, Compared>[]): Promise<void> {
    const renamed = changes.flatMap(({ name, row }) =>
      row && !row.archived_at && row.name !== name ? row.id : [],
    );
    return this.rows.clearNames(tx, scope, renamed);
  }

  private addTo(
    plan: ReconcilePlan,
    declared: readonly Declared[],
    drafts: readonly ReconcileDraft<Row, Content>[],
  ): void {
    const specs = new Map(declared.map(({ name, spec }) => [name, spec]));
    for (const draft of drafts) {
      const { before, row } = draft;
      if (!before) plan.addCreated(this.kind, row.name, specs.get(row.name) ?? {});
      else plan.addUpdated(this.kind, row.name, before, row, this.plannedChanges(draft));
    }
  }

  private nextRow(before: Row, changed: Partial<Row>): Row {
    return {
      ...before,
      ...changed,
      ...bumpedColumns(this.resource, before, changed),
      sync_state: 'synced',
      archived_at: null,
    };
  }

  private auditEntries({ before, row, changed }: ReconcileDraft<Row, Content>): AuditRecord[] {
    const entry = { type: this.kind, id: this.idOf(row), workspaceId: row.workspace_id } as const;
    if (!before) {
      return [
        { ...entry, action: 'create', changes: createdChanges(pick(row, this.resource.createdFields ?? [])) },
      ];
    }
    const changes = changesToAudit(this.resource, before, changed);
    return [
      ...(before.archived_at ? [{ ...entry, action: 'restore' } as const] : []),
      ...(changes.length > 0 ? [{ ...entry, action: 'update', changes } as const] : []),
    ];
  }

  private idOf(row: Row): string {
    return row[this.resource.id] as string;
  }
}

/** Returns a fault for each name of a resource that the app does not own, because an app does not take over resources. */
function takenNames(
  { appId }: OwningApp,
  declared: readonly Declared[],
  live: readonly ComparedRow[],
): DeclarationFault[] {
  const others = new Map(live.filter(({ app_id }) => app_id !== appId).map((row) => [row.name, row]));
  return declared.flatMap(({ name, pointer }) => {
    const other = others.get(name);
    if (!other) return [];
    const owner = other.app_id === null ? 'does not belong to an app' : 'belongs to another app';
    return {
      pointer: `${pointer}/name`,
      detail: `is the name of another resource in the workspace, which ${owner}. Choose another name`,
    };
  });
}

const isPresent = <Content, Compared>(
  one: Matched<Content, Compared>,
): one is Matched<Content, Compared, Compared> => one.row !== null;

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

/** The size of a page of complete resources. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Splits resources into pages of at most 4 MiB, or of one resource. */
function pagesOf<Item>(items: readonly Item[], bytesOf: (item: Item) => number): Item[][] {
  const pages: Item[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    bytes += bytesOf(item);
    if (bytes > PAGE_BYTES) {
      pages.push([]);
      bytes = bytesOf(item);
    }
    pages.at(-1)!.push(item);
  }
  return pages;
}
