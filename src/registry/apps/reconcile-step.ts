import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import type { FieldError } from '#platform/problem';

/** The kinds of resources that an app can declare, in the order in which they are swept: later ones refer to earlier. */
export const DECLARED_KINDS = ['mcp_server', 'skill', 'agent'] as const;
export type DeclaredKind = (typeof DECLARED_KINDS)[number];

/** How a resource stands to the app that declares it. */
export const SYNC_STATES = ['unmanaged', 'pending', 'synced', 'drifted', 'failed'] as const;
export type SyncState = (typeof SYNC_STATES)[number];

/** The app of a sweep. */
export interface SweptApp {
  appId: string;
  /** Its slug. */
  app: string;
}

/** A resource that an app declares. */
export interface Declared {
  name: string;
  /** A JSON object whose form `faultsIn` has checked. */
  spec: Record<string, unknown>;
  /** Of the declaration in the app, such as `/resources/3`. */
  pointer: string;
}

/** What a sweep did to the resources of one kind, by their ids. */
export interface Swept {
  created: string[];
  updated: string[];
  archived: string[];
  /** The app's resources of this kind that are not archived afterwards. */
  liveCount: number;
}

/**
 * Declarations that cannot be applied: a name is taken, a reference names nothing. The sweep is rolled back, and
 * answered 422 `validation_failed` with these faults.
 */
export class SweepRefused extends Error {
  /** @param faults pointers into the app, such as `/resources/3/spec/skills/0` */
  constructor(readonly faults: readonly (FieldError & { pointer: string })[]) {
    super('The declarations cannot be applied.');
  }
}

/**
 * What a sweep does to the resources of one kind. The area that has the kind provides one, and adds it to
 * `ReconcileSteps`, in the API and in the worker.
 */
export abstract class ReconcileStep {
  abstract readonly kind: DeclaredKind;

  /**
   * What of a declaration's spec is not of the right form: it is refused when the app declares it (400). References are
   * looked up by the sweep alone.
   *
   * @param pointer of the spec in the body, such as `/resources/3/spec`
   */
  abstract faultsIn(name: string, spec: Record<string, unknown>, pointer: string): FieldError[];

  /**
   * What is wrong with declarations of the right form taken together, such as that they are too much for one sweep.
   *
   * @param _declared all of the kind that the app declares
   */
  faultsAmong(_declared: readonly Declared[]): FieldError[] {
    return [];
  }

  /**
   * Makes the app's resources what is declared, in the sweep's transaction: creates what is missing, changes what is
   * otherwise, archives what the app owns and does not declare, and leaves all of it `synced`. A bounded number of
   * statements, whatever the number of resources; what may be large is compared by digests, or by pages of some MiB.
   * Throws `SweepRefused`.
   *
   * @param scope the app's workspace
   */
  abstract apply(tx: Tx, scope: Scope, app: SweptApp, declared: readonly Declared[]): Promise<Swept>;

  /** Sets the state of those of the app's live resources that have these names. */
  abstract mark(
    tx: Tx,
    scope: Scope,
    app: SweptApp,
    names: readonly string[],
    state: 'pending' | 'failed',
  ): Promise<void>;

  /** Sets those of the app's live resources that are `failed` back to `pending`, but for those that have these names. */
  abstract mend(tx: Tx, scope: Scope, app: SweptApp, faulty: readonly string[]): Promise<void>;

  /** Lets the app's live resources go: they stay, `unmanaged`. @returns their ids. */
  abstract release(tx: Tx, scope: Scope, app: SweptApp): Promise<string[]>;
}
