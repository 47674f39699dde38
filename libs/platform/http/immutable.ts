import { problem } from '#platform/problem';

/**
 * 422 `immutable_field` where a patch sends a member that can never change with another value; the present one is
 * accepted, so that what was read can be sent back.
 *
 * @param members that are values of one kind: texts, numbers or null
 */
export function checkImmutable<Row extends object>(
  row: Row,
  dto: { [Member in keyof Row]?: unknown },
  members: readonly (keyof Row & string)[],
): void {
  for (const member of members) {
    const given = dto[member];
    if (given !== undefined && given !== row[member]) throw problem.immutableField(`/${member}`);
  }
}
