import { problem } from '#platform/problem';

/** The number of a version in a path; one that cannot be a version is answered like one that does not exist. */
export function pathNumber(text: string, kind: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw problem.notFound(kind, text);
  return Number(text);
}
