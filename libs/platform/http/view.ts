import { membersOf } from './members';

/**
 * Returns the mapper from rows to views of a DTO class. A view has all members that the class declares or inherits, but not
 * those that are undefined in its row.
 *
 * @param compute returns the members that a row lacks, or that differ from it
 */
export function viewOf<View extends object>(type: new () => View): (row: View) => View;
export function viewOf<View extends object, Row, Computed extends keyof View, Args extends unknown[]>(
  type: new () => View,
  compute: (row: Row, ...args: Args) => Pick<View, Computed>,
): (row: Row & Omit<View, Computed>, ...args: Args) => View;
export function viewOf<View extends object>(
  type: new () => View,
  compute?: (row: View, ...args: unknown[]) => object,
): (row: View, ...args: unknown[]) => View {
  // read at the first row, because the declarations of members may need modules that import this one
  let members: (keyof View)[] | undefined;
  return (row, ...args) => {
    members ??= membersOf(type) as (keyof View)[];
    const view = {} as View;
    for (const member of members) {
      if (row[member] !== undefined) view[member] = row[member];
    }
    return compute ? Object.assign(view, compute(row, ...args)) : view;
  };
}
