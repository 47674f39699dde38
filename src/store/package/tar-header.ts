/** The block size of tar archives, in bytes. */
export const BLOCK_BYTES = 512;

/** The maximum number of files in an archive. */
export const ARCHIVE_FILES_MAX = 10_000;

/** The longest path, in bytes of UTF-8. */
const PATH_BYTES_MAX = 4096;
/** A pax header holds one path, its length and its key. */
const PAX_BYTES_MAX = PATH_BYTES_MAX + 16;
/** The largest size that the 11 octal digits of a header can express, in bytes. */
const SIZE_MAX = 8 ** 11 - 1;

const NAME_BYTES = 100;
const PREFIX_BYTES = 155;

const FILE = '0';
const PAX = 'x';
/** The name that Python gives to pax headers. Readers ignore it. */
const PAX_NAME = '././@PaxHeader';

/** Thrown for an unreadable archive, and for files that cannot be packed. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

/** The path and size of a file in an archive. */
export interface TarEntry {
  path: string;
  /** At most 8 GiB less one byte. */
  size_bytes: number;
}

/**
 * Returns the headers of a file: a ustar header (POSIX.1-1988), preceded by a pax header (POSIX.1-2001) if the path is
 * long or not ASCII. The headers do not depend on time or user. Throws `ArchiveError` for an unsafe path or a size over
 * 8 GiB.
 */
export function tarHeaders({ path, size_bytes }: TarEntry): Buffer {
  checkPath(path);
  if (!Number.isSafeInteger(size_bytes) || size_bytes < 0 || size_bytes > SIZE_MAX) {
    throw new ArchiveError(`${JSON.stringify(path)} has ${size_bytes} bytes. The limit is 8 GiB.`);
  }
  const split = splitPath(path);
  if (split) return ustar(split.name, split.prefix, size_bytes, FILE);
  const record = paxRecord(path);
  const shortened = path
    .replace(/[^ -~]/gu, '_')
    .slice(-NAME_BYTES)
    .replace(/^\/+/, '');
  return Buffer.concat([
    ustar(PAX_NAME, '', record.length, PAX),
    record,
    Buffer.alloc(paddingOf(record.length)),
    ustar(shortened, '', size_bytes, FILE),
  ]);
}

/** Returns the number of zero bytes that pad a content to whole blocks. */
export const paddingOf = (bytes: number): number => (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;

/** Returns the two parts of a path in a ustar header, or null for a path that needs a pax header. */
function splitPath(path: string): { name: string; prefix: string } | null {
  if (/[^ -~]/u.test(path)) return null;
  if (path.length <= NAME_BYTES) return { name: path, prefix: '' };
  const slash = path.indexOf('/', path.length - NAME_BYTES - 1);
  if (slash < 0 || slash > PREFIX_BYTES) return null;
  return { name: path.slice(slash + 1), prefix: path.slice(0, slash) };
}

/** Returns a pax record. The length at its start includes the digits of the length itself. */
function paxRecord(path: string): Buffer {
  const rest = ` path=${path}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes;
  while (bytes + String(length).length !== length) length = bytes + String(length).length;
  return Buffer.from(`${length}${rest}`);
}

function ustar(name: string, prefix: string, size: number, type: string): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0, 'latin1');
  header.write('0000644', 100, 'latin1');
  header.write('0000000', 108, 'latin1'); // user
  header.write('0000000', 116, 'latin1'); // group
  header.write(size.toString(8).padStart(11, '0'), 124, 'latin1');
  header.write('00000000000', 136, 'latin1'); // time
  header.write(type, 156, 'latin1');
  header.write('ustar\0' + '00', 257, 'latin1');
  header.write('0000000', 329, 'latin1'); // device
  header.write('0000000', 337, 'latin1');
  header.write(prefix, 345, 'latin1');
  header.write(`${checksumOf(header)}\0 `, 148, 'latin1');
  return header;
}

/** Returns the sum of the bytes of a header as six octal digits. The checksum field itself counts as spaces. */
function checksumOf(header: Buffer): string {
  let sum = 8 * 0x20;
  for (const [index, byte] of header.entries()) if (index < 148 || index >= 156) sum += byte;
  return sum.toString(8).padStart(6, '0');
}

/** A parsed header, of a file or of the pax record that precedes the header of a file. */
export interface ReadHeader {
  kind: 'file' | 'pax';
  path: string;
  size_bytes: number;
}

/** Reads a header. Throws `ArchiveError` for anything but a regular file or its pax header, and for a damaged header. */
export function readHeader(header: Buffer): ReadHeader {
  if (!header.subarray(148, 156).equals(Buffer.from(`${checksumOf(header)}\0 `, 'latin1'))) {
    throw new ArchiveError('A tar header has a wrong checksum.');
  }
  if (header.toString('latin1', 257, 265) !== 'ustar\0' + '00') {
    throw new ArchiveError('A tar header has a format other than ustar.');
  }
  const size = header.toString('latin1', 124, 136);
  if (!/^[0-7]{11}[\0 ]$/.test(size)) throw new ArchiveError('A tar header has an invalid size.');
  const size_bytes = parseInt(size, 8);
  const prefix = textAt(header, 345, PREFIX_BYTES);
  const name = textAt(header, 0, NAME_BYTES);
  const path = prefix === '' ? name : `${prefix}/${name}`;
  const type = header.toString('latin1', 156, 157);
  if (type !== FILE && type !== PAX) {
    const quoted = JSON.stringify(path);
    throw new ArchiveError(`${quoted} has the type ${JSON.stringify(type)}. Only regular files are allowed.`);
  }
  if (type === PAX && size_bytes > PAX_BYTES_MAX) {
    throw new ArchiveError(`A pax header has ${size_bytes} bytes. The limit is ${PAX_BYTES_MAX}.`);
  }
  return { kind: type === FILE ? 'file' : 'pax', path, size_bytes };
}

function textAt(header: Buffer, offset: number, bytes: number): string {
  const field = header.subarray(offset, offset + bytes);
  const end = field.indexOf(0);
  return field.toString('latin1', 0, end < 0 ? bytes : end);
}

/** Returns the path in a pax header. Throws `ArchiveError` unless it contains exactly one path and nothing else. */
export function readPax(record: Buffer): string {
  const path = /^\d+ path=(.+)\n$/s.exec(record.toString('utf8'))?.[1];
  if (path === undefined || !paxRecord(path).equals(record)) {
    throw new ArchiveError('A pax header must hold exactly one path, in UTF-8.');
  }
  return path;
}

/** Throws `ArchiveError` for a path that could leave the directory into which the archive is unpacked. */
export function checkPath(path: string): void {
  const fault = faultOfArchivedPath(path);
  if (fault !== null) throw new ArchiveError(`The path ${JSON.stringify(path.slice(0, 200))} ${fault}.`);
}

// Not the same as `faultOfPath`, which checks paths within a component. Paths in an archive start with the directory of
// the
// component, so they may be longer, and names that only Windows forbids are accepted when reading.
function faultOfArchivedPath(path: string): string | null {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `is longer than ${PATH_BYTES_MAX} bytes`;
  if (/[\p{Cc}\p{Cs}]/u.test(path)) return 'contains a control character or is not Unicode';
  if (path.includes('\\')) return 'contains a backslash';
  if (path.startsWith('/')) return 'is absolute';
  if (path.split('/').some((name) => name === '' || name === '.' || name === '..')) {
    return 'contains an empty name, . or ..';
  }
  return null;
}
