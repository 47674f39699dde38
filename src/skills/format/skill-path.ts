/** The limits of file systems for a path and for one name in it, in bytes of UTF-8. */
const PATH_BYTES_MAX = 1024;
const NAME_BYTES_MAX = 255;

/** The most names in a path, because each prefix is looked up among all files. */
const NAMES_MAX = 64;

/** Characters that Windows allows in no name. A colon would name a stream of a file, or a drive. */
const NOT_ON_WINDOWS = /[:<>"|?*]/;

/** Names of Windows devices, which stay devices with spaces and an extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

/** Files that systems add to directories, and that nobody means to send. */
const SYSTEM_FILES = new Set(['.DS_Store', '__MACOSX']);

/**
 * Returns what is wrong with the path of a file in a skill, or null. A valid path is a place inside the directory on every
 * system that may unpack it.
 */
export function faultOfPath(path: string): string | null {
  if (path === '') return 'is empty';
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `can have at most ${PATH_BYTES_MAX} bytes in UTF-8`;
  if (/[\p{Cc}\p{Cs}]/u.test(path)) return 'must not contain NUL or other control characters';
  if (path.includes('\uFFFD')) return 'must be UTF-8';
  if (path.includes('\\')) return 'must not contain a backslash. Separate directories with /';
  if (/\p{Cf}/u.test(path)) return 'must not contain invisible characters, such as U+200B';
  if (path.startsWith('/')) return 'must be relative to the directory of the skill';
  if (/^[a-z]:/i.test(path)) return 'must not begin with a drive';
  const names = path.split('/');
  if (names.length > NAMES_MAX) return `can have at most ${NAMES_MAX} names between slashes`;
  for (const name of names) {
    const fault = faultOfName(name);
    if (fault !== null) return fault;
  }
  return null;
}

function faultOfName(name: string): string | null {
  if (name === '') return 'must not have an empty name between slashes or at its end';
  if (name === '.' || name === '..') return 'must not contain . or .., which could leave the directory';
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) {
    return `can have names of at most ${NAME_BYTES_MAX} bytes in UTF-8`;
  }
  if (NOT_ON_WINDOWS.test(name)) return 'must not contain any of : < > " | ? *, which Windows does not allow';
  // Windows drops these, so that ".. " would be "..".
  if (/[. ]$/.test(name))
    return 'must not have a name that ends with a dot or a space, which Windows does not allow';
  if (DEVICE.test(name)) return 'must not have the name of a Windows device, such as con or aux.txt';
  return null;
}

/** Removes the `./` that some tools put before every path. */
export const withoutDots = (path: string): string => path.replace(/^(?:\.\/)+/, '');

/** Returns whether a path is a file that a system added: `.DS_Store`, or anything in `__MACOSX/`. */
export const isSystemFile = (path: string): boolean => path.split('/').some((name) => SYSTEM_FILES.has(name));

/** Returns the same string for paths that differ only in case or Unicode normalization. */
export const foldedPath = (path: string): string =>
  path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');

/** Compares paths by their bytes in UTF-8, independently of the locale. */
export const comparePaths = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Returns the parent directories that all paths share, with a slash at the end, or an empty string. */
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
