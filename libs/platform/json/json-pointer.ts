/** Longest pointer in an error, in characters. */
const POINTER_MAX = 512;

/** Returns a member's name, or an index, as a token of a JSON pointer (RFC 6901, section 3). */
export const escapedToken = (step: string | number): string =>
  String(step).replaceAll('~', '~0').replaceAll('/', '~1');

/** Returns a member's name as a token of a JSON pointer (RFC 6901), cut to 100 characters. */
export const pointerToken = (member: string): string => escapedToken(member.slice(0, 100));

/** Returns the JSON pointer (RFC 6901) of a path. */
export const pointerOf = (path: readonly (string | number)[]): string =>
  path.map((step) => `/${escapedToken(step)}`).join('');

/** Returns the JSON pointer of a path for an error. A long one is truncated after a whole step. */
export function shortPointerOf(path: readonly (string | number)[]): string {
  let pointer = '';
  for (const step of path) {
    const longer = `${pointer}/${escapedToken(step)}`;
    if (longer.length > POINTER_MAX) break;
    pointer = longer;
  }
  return pointer;
}
