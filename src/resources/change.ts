import { isDeepStrictEqual } from 'node:util';
import type { OrgScope } from '#platform/auth';
import { newId } from '#platform/ids';
import { problem } from '#platform/problem';
import type { AuditChange } from './audit-log/audit-entry.entity';
import type { ResourceKind, ResourceRow } from './resource-kind';

/** Throws 409 for a write to an archived resource. */
export function checkLive(row: { archived_at: Date | null }, kind: string): void {
  if (row.archived_at) throw problem.conflict(`The ${kind} is archived. Restore it first.`);
}

/** Returns the stamps of a new row. */
export function stamps(scope: OrgScope) {
  const now = new Date();
  return { created_at: now, updated_at: now, created_by: scope.principalId, archived_at: null };
}

/** Returns the columns of a patch whose values differ from the row's, or null. Undefined leaves a column unchanged. */
export function changedColumns<Row extends object>(row: Row, patch: Partial<Row>): Partial<Row> | null {
  const changed = (Object.keys(patch) as (keyof Row)[]).filter(
    (column) => patch[column] !== undefined && !isDeepStrictEqual(patch[column], row[column]),
  );
  if (changed.length === 0) return null;
  return Object.fromEntries(changed.map((column) => [column, patch[column]])) as Partial<Row>;
}

/** Tells whether a change creates a version. */
export const createsVersion = <Row extends ResourceRow>(
  { versions }: Pick<ResourceKind<Row, unknown>, 'versions'>,
  changed: Partial<Row>,
): boolean => versions?.fields.some((field) => field in changed) === true;

/** Returns the columns that every change updates: generation, version if the change creates one, and `updated_at`. */
export function bumpedColumns<Row extends ResourceRow>(
  kind: Pick<ResourceKind<Row, unknown>, 'generation' | 'versions'>,
  row: Row,
  changed: Partial<Row>,
): Partial<Row> {
  const { generation, versions } = kind;
  const next = (column: keyof Row & string) => ({
    [column]: ((changed[column] ?? row[column]) as number) + 1,
  });
  return {
    ...next(generation),
    ...(versions && createsVersion(kind, changed) && { ...next(versions.ordinal), version_id: newId('ver') }),
    updated_at: changed.archived_at ?? new Date(),
  } as unknown as Partial<Row>;
}

/** Returns the changed members, with values for the members whose values the audit log shows. */
export const auditedChanges = <Row extends object>(
  row: Row,
  changed: Partial<Row>,
  fields: readonly (keyof Row & string)[],
): AuditChange[] =>
  (Object.keys(changed) as (keyof Row & string)[]).map((member) =>
    fields.includes(member) ? { member, before: row[member], after: changed[member] } : { member },
  );

/** Returns the changes of a resource that the audit log shows. */
export const changesToAudit = <Row extends ResourceRow>(
  kind: ResourceKind<Row, unknown>,
  row: Row,
  changed: Partial<Row>,
): AuditChange[] =>
  kind.auditedChanges?.(row, changed) ?? auditedChanges(row, changed, kind.auditedFields ?? []);

/** Returns the ETag of a resource without a generation. Archiving does not increment its version. */
export const versionEtag = ({ archived_at }: { archived_at: Date | null }, version: number): string =>
  archived_at ? `${version}-archived` : String(version);
