import { closest, distance } from 'fastest-levenshtein';

/** Longer names are not compared with known names, because that takes quadratic time. */
const COMPARED_MAX = 100;

/** Returns the detail for an unknown member, with a suggestion if a known name is similar. */
export function unknownDetail(member: string, members: Iterable<string>): string {
  const known = [...members];
  const near = member.length <= COMPARED_MAX && known.length > 0 ? closest(member, known) : undefined;
  const isSimilar =
    near !== undefined &&
    distance(member, near) <= Math.max(near.length > 3 ? 2 : 1, Math.floor(near.length / 3));
  return `is not a member of this body${isSimilar ? `. Did you mean \`${near}\`?` : ''}`;
}
