import { toJsonText } from '#platform/json';
import type { AuditChange } from '../audit-log/audit-entry.entity';

/** The kinds of resources that an app can declare, in the order of a reconcile: later kinds refer to earlier ones. */
export const DECLARED_KINDS = ['file', 'api', 'mcp_server', 'skill', 'agent'] as const;
export type DeclaredKind = (typeof DECLARED_KINDS)[number];

/** A resource that a reconcile would change. */
export interface PlannedResource {
  kind: DeclaredKind;
  name: string;
  changes: AuditChange[];
}

/** Maximum length of a value that a plan shows, in UTF-16 code units of its JSON text. */
const SHOWN_MAX = 1_000;

/** Members whose values a plan shows if they are short. The audit log shows only their names. */
const TEXTS = ['description', 'instructions'] as const;

/** Collects the changes of a reconcile whose transaction is then rolled back. */
export class ReconcilePlan {
  readonly create: PlannedResource[] = [];
  /** Includes restored resources, with a change of `archived_at`. */
  readonly update: PlannedResource[] = [];
  readonly archive: PlannedResource[] = [];

  /** Adds a resource to create, with the members of its declaration. */
  addCreated(kind: DeclaredKind, name: string, spec: Record<string, unknown>): void {
    const changes = Object.entries(spec).map(([member, after]) => withoutLongValues({ member, after }));
    this.create.push({ kind, name, changes });
  }

  /** Adds a resource to update or to restore. @param audited the changes that the audit log shows */
  addUpdated(
    kind: DeclaredKind,
    name: string,
    before: { archived_at: Date | null },
    after: object,
    audited: readonly AuditChange[],
  ): void {
    const { archived_at } = before;
    const restored = archived_at ? [{ member: 'archived_at', before: archived_at, after: null }] : [];
    const changes = audited.map((change) => {
      const member = TEXTS.find((text) => text === change.member);
      return withoutLongValues(
        member ? { member, before: textOf(before, member), after: textOf(after, member) } : change,
      );
    });
    if (restored.length + changes.length > 0)
      this.update.push({ kind, name, changes: [...restored, ...changes] });
  }

  addArchived(kind: DeclaredKind, names: readonly string[]): void {
    this.archive.push(...names.map((name) => ({ kind, name, changes: [] })));
  }
}

const textOf = (row: object, member: string): unknown => (row as Record<string, unknown>)[member];

/** Removes the values of a change if they are long. */
const withoutLongValues = (change: AuditChange): AuditChange =>
  [change.before, change.after].some((value) => value !== undefined && toJsonText(value).length > SHOWN_MAX)
    ? { member: change.member }
    : change;
