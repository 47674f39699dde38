import type { FieldError } from '#platform/problem';
import type { Declared, SweptApp } from './reconcile-step';

/** A live resource, as a sweep looks at it. */
export interface SweptRow {
  name: string;
  /** The app that declares it; null without one. */
  app_id: string | null;
}

/** What a sweep has before it, of the resources of one kind. */
export interface SweepPlan<Row> {
  /** Declared, and not there. */
  missing: Declared[];
  /** Declared, and there. */
  present: { declared: Declared; row: Row }[];
  /** The app's own, and not declared. */
  gone: Row[];
  /** Declared by names that others have. */
  faults: (FieldError & { pointer: string })[];
}

/**
 * Holds what an app declares against what is there.
 *
 * @param rows the live resources of the kind, in the app's workspace, that are the app's or have a declared name
 */
export function planSweep<Row extends SweptRow>(
  { appId }: SweptApp,
  declared: readonly Declared[],
  rows: readonly Row[],
): SweepPlan<Row> {
  const byName = new Map(rows.map((row) => [row.name, row]));
  const names = new Set(declared.map(({ name }) => name));
  const plan: SweepPlan<Row> = {
    missing: [],
    present: [],
    gone: rows.filter((row) => row.app_id === appId && !names.has(row.name)),
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

const takenBy = ({ app_id }: SweptRow): string =>
  `is taken by one of the workspace, which ${app_id === null ? 'no app' : 'another app'} declares`;
