import { closest, distance } from 'fastest-levenshtein';

/**
 * Returns the maximum edit distance of a similar name. Only names of similar length are compared, because a body may have
 * many long names, and a comparison takes quadratic time.
 */
const differenceMax = (name: string): number =>
  Math.max(name.length > 3 ? 2 : 1, Math.floor(name.length / 3));

/** Returns the detail for an unknown member, with a suggestion if a known name is similar. */
export function unknownDetail(member: string, members: Iterable<string>): string {
  const candidates = [...members].filter(
    (name) => Math.abs(name.length - member.length) <= differenceMax(name),
  );
  const near = candidates.length > 0 ? closest(member, candidates) : undefined;
  const isSimilar = near !== undefined && distance(member, near) <= differenceMax(near);
  return `is not a known member of this body${isSimilar ? `. Did you mean \`${near}\`?` : ''}`;
}

/** Returns the names that are most similar to a name, the closest first. */
export const closestNames = (name: string, names: readonly string[], max: number): string[] =>
  names
    .map((one) => [distance(name.toLowerCase(), one.toLowerCase()), one] as const)
    .sort(([a, one], [b, other]) => a - b || (one < other ? -1 : 1))
    .slice(0, max)
    .map(([, one]) => one);
