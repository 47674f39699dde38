import type { FieldError } from '#platform/problem';
import type { ComparedRow } from '../owned/owned.repository';
import type { Declared, ReconciledApp } from './reconcile-step';

/** Differences between the declarations of an app and its resources of one kind. */
export interface ReconcilePlan<Row> {
  /** Declarations without a resource. */
  missing: Declared[];
  /** Declarations with their resource. */
  present: { declared: Declared; row: Row }[];
  /** The app's resources that it no longer declares. */
  undeclared: Row[];
  /** Declared names that are taken. */
  faults: (FieldError & { pointer: string })[];
}

/**
 * Compares an app's declarations with the stored resources.
 *
 * @param rows the live resources of the kind in the app's workspace that the app owns or that have a declared name
 */
export function planReconcile<Row extends ComparedRow>(
  { appId }: ReconciledApp,
  declared: readonly Declared[],
  rows: readonly Row[],
): ReconcilePlan<Row> {
  const byName = new Map(rows.map((row) => [row.name, row]));
  const names = new Set(declared.map(({ name }) => name));
  const plan: ReconcilePlan<Row> = {
    missing: [],
    present: [],
    undeclared: rows.filter((row) => row.app_id === appId && !names.has(row.name)),
    faults: [],
  };
  for (const one of declared) {
    const row = byName.get(one.name);
    if (!row) plan.missing.push(one);
    else if (row.app_id === appId) plan.present.push({ declared: one, row });
    else plan.faults.push({ pointer: `${one.pointer}/name`, detail: takenBy(row) });
  }
  return plan;
}

const takenBy = ({ app_id }: ComparedRow): string =>
  `is taken by a resource of the workspace that ${app_id === null ? 'no app' : 'another app'} declares`;

/** The size of a page of complete resources. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Splits resources into pages of at most 4 MiB, or of one resource, because people may make them larger than memory. */
export function pagesOf<Item>(items: readonly Item[], bytesOf: (item: Item) => number): Item[][] {
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
