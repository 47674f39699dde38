/**
 * Files that macOS adds to directories, and that are not part of a skill: settings of folders, their icons, and metadata of
 * files (AppleDouble) in `__MACOSX/` or next to the file.
 */
const SYSTEM_FILE = /^(?:\.DS_Store|__MACOSX|Icon\r|\._.*)$/s;

/** Removes the `./` that some tools put before every path. */
export const withoutDots = (path: string): string => path.replace(/^(?:\.\/)+/, '');

/** Returns whether a path is a system file, or in a directory of system files. */
export const isSystemFile = (path: string): boolean => path.split('/').some((name) => SYSTEM_FILE.test(name));

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
