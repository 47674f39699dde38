import { createHash } from 'node:crypto';

/** The limits of file systems for a path and for one name in it, in bytes of UTF-8. */
const PATH_BYTES_MAX = 1024;
const NAME_BYTES_MAX = 255;

/** Maximum number of names in a path. Limited because each prefix is looked up among all files. */
const NAMES_MAX = 64;

/** Characters that Windows does not allow in names. A colon would name a stream of a file, or a drive. */
const NOT_ON_WINDOWS = /[:<>"|?*]/;

/** Names of Windows devices, which remain devices with spaces and an extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

/**
 * Returns the fault of the path of a file in a skill or a package, or null. A valid path is inside the directory on every
 * system that may unpack it.
 */
export function faultOfPath(path: string): string | null {
  if (path === '') return 'must not be empty';
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `must have at most ${PATH_BYTES_MAX} bytes in UTF-8`;
  if (/[\p{Cc}\p{Cs}]/u.test(path)) return 'must not contain NUL or other control characters';
  if (path.includes('\uFFFD')) return 'must be UTF-8';
  if (path.includes('\\')) return 'must not contain a backslash. Separate directories with /';
  if (/\p{Cf}/u.test(path)) return 'must not contain invisible characters, such as U+200B';
  if (path.startsWith('/')) return 'must be relative to the directory';
  if (/^[a-z]:/i.test(path)) return 'must not begin with a drive';
  const names = path.split('/');
  if (names.length > NAMES_MAX) return `must have at most ${NAMES_MAX} names between slashes`;
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
    return `must have names of at most ${NAME_BYTES_MAX} bytes in UTF-8`;
  }
  if (NOT_ON_WINDOWS.test(name)) return 'must not contain any of : < > " | ? *, which Windows does not allow';
  // Windows drops these, so that ".. " would be "..".
  if (/[. ]$/.test(name))
    return 'must not have a name that ends with a dot or a space, which Windows does not allow';
  if (DEVICE.test(name)) return 'must not have the name of a Windows device, such as con or aux.txt';
  return null;
}

/** Returns the same string for paths that differ only in case or Unicode normalization. */
export const foldedPath = (path: string): string =>
  path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');

/** Compares paths by their bytes in UTF-8, independently of the locale. */
export const comparePaths = (one: string, other: string): number =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

/**
 * Returns the first path that conflicts with another path on some file system, because the paths differ only in case or
 * Unicode normalization, or because one path is a file and a parent of the other. Null if no paths conflict.
 */
export function clashOf(paths: readonly string[]): { index: number; detail: string } | null {
  const seen = new Map<string, string>();
  for (const [index, path] of paths.entries()) {
    const folded = foldedPath(path);
    const other = seen.get(folded);
    if (other !== undefined) return { index, detail: sameAs(path, other) };
    seen.set(folded, path);
  }
  for (const [index, path] of paths.entries()) {
    const folded = foldedPath(path);
    for (let at = folded.indexOf('/'); at >= 0; at = folded.indexOf('/', at + 1)) {
      const file = seen.get(folded.slice(0, at));
      if (file === undefined) continue;
      return { index, detail: `${quotedPath(path)} is inside ${quotedPath(file)}, which is a file` };
    }
  }
  return null;
}

const sameAs = (path: string, other: string): string =>
  path === other
    ? `${quotedPath(path)} appears twice`
    : `${quotedPath(path)} and ${quotedPath(other)} are the same on file systems that ignore case or Unicode normalization`;

const QUOTED_MAX = 100;

/** Quotes a path for a message, shortened and without invisible characters. */
export function quotedPath(path: string): string {
  const text = path.slice(0, QUOTED_MAX) + (path.length > QUOTED_MAX ? '…' : '');
  return `"${text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '\uFFFD')}"`;
}

/**
 * Returns the SHA-256 over paths and contents, in hexadecimal. Each file, in the order of the bytes of the paths, adds the
 * length of its path in UTF-8 (four bytes, big-endian), the path, and the SHA-256 of its content (32 bytes). The lengths
 * keep different directories from hashing the same bytes.
 *
 * @param files sorted by path
 */
export function sourceDigest(files: readonly { path: string; sha256: string }[]): string {
  const hash = createHash('sha256');
  for (const { path, sha256 } of files) {
    const name = Buffer.from(path);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(name.length);
    hash.update(length).update(name).update(sha256, 'hex');
  }
  return hash.digest('hex');
}
