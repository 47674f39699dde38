import { closest, distance } from 'fastest-levenshtein';

/** Longer names are not compared with those known: that takes time that grows with the square of their length. */
const COMPARED_MAX = 100;

/** Explains that a member is unknown, and names the one that was probably meant. */
export function unknownDetail(member: string, members: Iterable<string>): string {
  const known = [...members];
  const near = member.length <= COMPARED_MAX && known.length > 0 ? closest(member, known) : undefined;
  const isMeant =
    near !== undefined &&
    distance(member, near) <= Math.max(near.length > 3 ? 2 : 1, Math.floor(near.length / 3));
  return `is not a member of this body${isMeant ? `. Did you mean \`${near}\`?` : ''}`;
}
