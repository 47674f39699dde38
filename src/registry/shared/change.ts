import { toJsonText } from '#platform/json';
import { problem } from '#platform/problem';

/** What every row has that takes changes. */
interface ChangingRow {
  generation: number;
  updated_at: Date;
}

/**
 * What an UPDATE has to write: the columns of a patch whose values differ from the row's, and the next generation.
 * Null when nothing differs, so that a change that changes nothing leaves the ETag as it is.
 */
export function changesOf<Row extends ChangingRow>(row: Row, patch: Partial<Row>): Partial<Row> | null {
  const differing = Object.entries(patch).filter(
    ([column, value]) => value !== undefined && !same(value, row[column as keyof Row]),
  );
  if (differing.length === 0) return null;
  return {
    ...(Object.fromEntries(differing) as Partial<Row>),
    generation: row.generation + 1,
    updated_at: new Date(),
  };
}

const same = (one: unknown, other: unknown): boolean =>
  one === other || toJsonText(one) === toJsonText(other);

/** 409 for a write to a resource that is archived. */
export function checkLive(row: { archived_at: Date | null }, kind: string): void {
  if (row.archived_at) throw problem.conflict(`The ${kind} is archived and takes no changes.`);
}
