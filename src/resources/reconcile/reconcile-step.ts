import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { FieldError } from '#platform/problem';
import type { AnyOf } from '../access/any-of';
import type { OwningApp } from '../owned/owned.columns';
import type { OwnedRows } from '../owned/owned.repository';
import { DECLARED_KINDS, type DeclaredKind, type ReconcilePlan } from './reconcile-plan';

/** A resource that an app declares. */
export interface Declared {
  name: string;
  /** A JSON object that `faultsIn` has checked. */
  spec: Record<string, unknown>;
  /** The place of the declaration in the app, such as `/resources/3`. */
  pointer: string;
}

/** An error with a pointer into the app, such as `/resources/3/spec/skills/0`. */
export type DeclarationFault = FieldError & { pointer: string };

/** The ids of the resources of one kind that a reconcile changed. */
export interface ReconcileResult {
  created: string[];
  /** Without resources that were restored. */
  updated: string[];
  /** Archived resources that the app declares again. */
  restored: string[];
  archived: string[];
  /** The number of the app's live resources of this kind afterwards. */
  liveCount: number;
}

/**
 * Thrown for declarations that cannot be applied, such as a name that is taken or an unknown reference. The reconcile is
 * rolled back, and returns 422 `validation_failed` with these faults.
 */
export class ReconcileError extends Error {
  constructor(readonly faults: readonly DeclarationFault[]) {
    super('The declarations cannot be applied.');
  }
}

/**
 * Reconciles the resources of one kind. The area that owns the kind provides the step, an `OwnedReconcileStep`, and adds
 * it to `ReconcileSteps`, in the API and in the worker.
 */
export interface ReconcileStep {
  readonly kind: DeclaredKind;
  /** The resources of the kind. */
  readonly rows: OwnedRows;
  /** The roles that may declare the kind. Others may change the rest of an app. */
  readonly declarers: AnyOf;
  /** The DTO of a spec. */
  readonly specType: new () => object;

  /**
   * Returns the form errors of a declaration's spec, for which the app's create and PATCH return 400. Only the reconcile looks
   * up references.
   *
   * @param pointer of the spec in the body, such as `/resources/3/spec`
   */
  faultsIn(name: string, spec: Record<string, unknown>, pointer: string): FieldError[];

  /**
   * Returns the errors of well-formed declarations taken together, such as too many for one reconcile.
   *
   * @param declared all resources of the kind that the app declares
   */
  combinedFaults(declared: readonly Declared[]): FieldError[];

  /**
   * Makes the app's resources match its declarations, in the transaction of the reconcile: creates missing resources,
   * restores archived ones that the app declares again, updates different ones, archives undeclared ones, and marks all of
   * them as `synced`. The number of statements does not grow with the number of resources. Large content is compared by
   * digest and written in pages of some MiB. Throws `ReconcileError`.
   *
   * @param scope the app's workspace
   * @param plan collects the changes of a transaction that is then rolled back. Nothing outside of it may change
   */
  apply(
    tx: Tx,
    scope: Scope,
    app: OwningApp,
    declared: readonly Declared[],
    plan?: ReconcilePlan,
  ): Promise<ReconcileResult>;
}

/** The steps of a reconcile, one for each kind. An application that reconciles does not start without them. */
@Injectable()
export class ReconcileSteps {
  private readonly steps = new Map<DeclaredKind, ReconcileStep>();

  /** Adds a step. Each step calls this in its constructor. */
  add(step: ReconcileStep): void {
    if (this.steps.has(step.kind)) throw new Error(`Two steps reconcile the kind ${step.kind}.`);
    this.steps.set(step.kind, step);
  }

  of(kind: DeclaredKind): ReconcileStep {
    const step = this.steps.get(kind);
    if (!step) throw new Error(`No step reconciles the kind ${kind}.`);
    return step;
  }

  /** Returns the steps in the order of a reconcile. */
  list(): ReconcileStep[] {
    return DECLARED_KINDS.map((kind) => this.of(kind));
  }
}
