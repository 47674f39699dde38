import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { FieldError } from '#platform/problem';
import type { AuditLog } from '../audit-log/audit-log';
import type { OwnedName, OwnedRows } from '../owned/owned.repository';
import type { SearchIndex } from '../search-index/search-index';

/** The kinds of resources that an app can declare, in the order of a reconcile: later kinds refer to earlier ones. */
export const DECLARED_KINDS = ['mcp_server', 'skill', 'agent'] as const;
export type DeclaredKind = (typeof DECLARED_KINDS)[number];

/** The app that is reconciled. */
export interface ReconciledApp {
  appId: string;
  /** Its slug. */
  app: string;
}

/** A resource that an app declares. */
export interface Declared {
  name: string;
  /** A JSON object that `faultsIn` has checked. */
  spec: Record<string, unknown>;
  /** The place of the declaration in the app, such as `/resources/3`. */
  pointer: string;
}

/** The ids of the resources of one kind that a reconcile changed. */
export interface ReconcileResult {
  created: string[];
  updated: string[];
  archived: string[];
  /** The number of the app's live resources of this kind afterwards. */
  liveCount: number;
}

/**
 * Thrown for declarations that cannot be applied, such as a name that is taken or an unknown reference. The reconcile is
 * rolled back and answered 422 `validation_failed` with these faults.
 */
export class ReconcileRefused extends Error {
  /** @param faults pointers into the app, such as `/resources/3/spec/skills/0` */
  constructor(readonly faults: readonly (FieldError & { pointer: string })[]) {
    super('The declarations cannot be applied.');
  }
}

/**
 * Reconciles the resources of one kind. The area that owns the kind provides the step and adds it to `ReconcileSteps`, in
 * the API and in the worker.
 */
export abstract class ReconcileStep {
  abstract readonly kind: DeclaredKind;

  protected constructor(
    private readonly rows: OwnedRows,
    protected readonly audit: AuditLog,
    protected readonly index: SearchIndex,
  ) {}

  /**
   * Returns the form errors of a declaration's spec, which the app's create and PATCH answer with 400. References are
   * looked up only by the reconcile.
   *
   * @param pointer of the spec in the body, such as `/resources/3/spec`
   */
  abstract faultsIn(name: string, spec: Record<string, unknown>, pointer: string): FieldError[];

  /**
   * Returns the errors of well-formed declarations taken together, such as too many for one reconcile.
   *
   * @param _declared all of the kind that the app declares
   */
  faultsAmong(_declared: readonly Declared[]): FieldError[] {
    return [];
  }

  /**
   * Makes the app's resources match its declarations, in the transaction of the reconcile: creates missing resources,
   * updates different ones, archives undeclared ones, and leaves all of them `synced`. The number of statements does not
   * grow with the number of resources. Large content is compared by digest and written in pages of some MiB. Throws
   * `ReconcileRefused`.
   *
   * @param scope the app's workspace
   */
  abstract apply(
    tx: Tx,
    scope: Scope,
    app: ReconciledApp,
    declared: readonly Declared[],
  ): Promise<ReconcileResult>;

  /** Sets the state of the app's live resources with these names. */
  mark(
    tx: Tx,
    scope: Scope,
    { appId }: ReconciledApp,
    names: readonly string[],
    state: 'pending' | 'failed',
  ): Promise<void> {
    return this.rows.mark(tx, scope, appId, names, state);
  }

  /** Sets the app's `failed` resources back to `pending`, except those with these names. */
  resetFailed(tx: Tx, scope: Scope, { appId }: ReconciledApp, except: readonly string[]): Promise<void> {
    return this.rows.resetFailed(tx, scope, appId, except);
  }

  /** Makes the app's resources `unmanaged`. @returns the live ones */
  release(tx: Tx, scope: Scope, { appId }: ReconciledApp): Promise<OwnedName[]> {
    return this.rows.release(tx, scope, appId);
  }

  /** Makes released resources that are still live and unmanaged `pending` under the app. @returns their ids */
  adopt(tx: Tx, scope: Scope, app: ReconciledApp, released: readonly OwnedName[]): Promise<string[]> {
    return this.rows.adopt(tx, scope, app, released);
  }

  /** Archives locked resources that the app declares no longer. */
  protected async archive(tx: Tx, scope: Scope, ids: readonly string[], at = new Date()): Promise<void> {
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
    await this.audit.record(tx, scope, ...entries);
    await this.index.remove(tx, scope, this.kind, ...archived.map(({ id }) => id));
  }
}
