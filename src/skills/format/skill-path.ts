/** In UTF-8: what file systems take of a path, and of one of its names. */
const PATH_BYTES_MAX = 1024;
const NAME_BYTES_MAX = 255;

/** Directories within each other, and the file: each is looked up among all files. */
const NAMES_MAX = 64;

/** What Windows has in no name; a colon would name another stream of a file, or a drive. */
const NOT_ON_WINDOWS = /[:<>"|?*]/;

/** Names that are devices there, with whatever behind a dot, and blanks before it. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

/** What systems leave in directories, and nobody means to send. */
const LEFT_BY_SYSTEMS = new Set(['.DS_Store', '__MACOSX']);

/**
 * What is wrong with the path of a file in a skill; null for `names/between/slashes`. Nothing that a system could read
 * as a place outside of the directory is such a path, whichever system unpacks it.
 */
export function faultOfPath(path: string): string | null {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `may have at most ${PATH_BYTES_MAX} bytes in UTF-8`;
  if (/[\p{Cc}\p{Cs}]/u.test(path)) return 'may not hold NUL or other control characters';
  if (path.includes('\uFFFD')) return 'must be text in UTF-8';
  if (path.includes('\\')) return 'may not hold a backslash: directories are divided by /';
  if (/\p{Cf}/u.test(path)) return 'may not hold characters that cannot be seen, such as U+200B';
  if (path.startsWith('/')) return 'must be relative to the directory of the skill';
  if (/^[a-z]:/i.test(path)) return 'may not begin with a drive';
  const names = path.split('/');
  if (names.length > NAMES_MAX) return `may have at most ${NAMES_MAX} names between slashes`;
  for (const name of names) {
    const fault = faultOfName(name);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOfName(name: string): string | null {
  if (name === '') return 'may not have an empty name between slashes, or at its end';
  if (name === '.' || name === '..') return 'may not hold . or .., which could leave the directory';
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) {
    return `may have names of at most ${NAME_BYTES_MAX} bytes in UTF-8`;
  }
  if (NOT_ON_WINDOWS.test(name)) return 'may not hold any of : < > " | ? *, which Windows has not';
  // which are left out there, so that ".. " is ".."
  if (/[. ]$/.test(name)) return 'may not have a name that ends with a dot or a blank, which Windows has not';
  if (DEVICE.test(name)) return 'may not have a name that is a device on Windows, such as con or aux.txt';
  return null;
}

/** Without the `./` that some tools begin every path with. */
export const withoutDots = (path: string): string => path.replace(/^(?:\.\/)+/, '');

/** Whether it is nothing of the skill, but what systems leave: `.DS_Store`, and `__MACOSX/`. */
export const isLeftBySystem = (path: string): boolean =>
  path.split('/').some((name) => LEFT_BY_SYSTEMS.has(name));

/** The same for paths that some file systems cannot tell apart: by the case of letters, or how accents are written. */
export const foldedPath = (path: string): string =>
  path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');

/** In the order of their bytes in UTF-8, which is that of no language. */
export const comparePaths = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

/** The directories that all of the paths lie in, with a slash at the end; empty where there is none. */
export function commonDirectory([first = '', ...others]: readonly string[]): string {
  const names = first.split('/').slice(0, -1);
  let shared = names.length;
  for (const path of others) {
    const found = path.split('/').slice(0, -1);
    let same = 0;
    while (same < shared && names[same] === found[same]) same++;
    shared = same;
  }
  return names
    .slice(0, shared)
    .map((name) => `${name}/`)
    .join('');
}
