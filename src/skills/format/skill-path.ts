/** Files that operating systems add to directories, and that are not part of a skill. */
const SYSTEM_FILES = new Set(['.DS_Store', '__MACOSX']);

/** Removes the `./` that some tools put before every path. */
export const withoutDots = (path: string): string => path.replace(/^(?:\.\/)+/, '');

/** Returns whether a path is a system file: `.DS_Store`, or anything in `__MACOSX/`. */
export const isSystemFile = (path: string): boolean => path.split('/').some((name) => SYSTEM_FILES.has(name));

/** Returns the parent directories that all paths share, with a slash at the end, or an empty string. */
export function commonDirectory([first = '', ...others]: readonly string[]): string {
  const names = first.split('/').slice(0, -1);
  let shared = names.length;
  for (const path of others) {
    const parents = path.split('/').slice(0, -1);
    let same = 0;
    while (same < shared && names[same] === parents[same]) same++;
    shared = same;
  }
  return names
    .slice(0, shared)
    .map((name) => `${name}/`)
    .join('');
}
