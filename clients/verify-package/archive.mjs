// Reads the tar.gz of a package as a stream. Accepts only what the service writes: regular files with safe paths.
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';

const BLOCK_BYTES = 512;
const FILES_MAX = 10_000;
const PATH_BYTES_MAX = 4096;
/** A pax header holds one path, its length and its key. */
const PAX_BYTES_MAX = PATH_BYTES_MAX + 16;
/** GNU tar pads archives to 10 KiB. More zeros are refused, because a small archive could unpack to them for hours. */
const PADDING_BYTES_MAX = 1024 * 1024;

/** Names of Windows devices, which stay devices with spaces and an extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

/** A fault in a package, and where it is. */
export class Fault extends Error {
  constructor(where, what) {
    super(`${where}: ${what}`);
    this.where = where;
    this.what = what;
  }
}

const broken = (what) => new Fault('archive', what);

/**
 * Yields the files of an archive: `path`, `size` in bytes, and `content`, which can be read once, before the next file.
 * Throws a Fault for a damaged archive, and for a path that could leave the directory where the archive is unpacked or
 * that some file systems cannot tell from another. Only the end of the iteration shows that the archive is complete.
 *
 * @param chunks the bytes of the archive
 */
export async function* filesOf(chunks) {
  const reader = new Reader(inflated(chunks));
  const paths = new Paths();
  try {
    for (let file = await reader.header(); file !== null; file = await reader.header()) {
      paths.add(file.path);
      const content = reader.content(file.size);
      yield { ...file, content };
      for await (const piece of content) void piece;
      await reader.zeros(-file.size & (BLOCK_BYTES - 1));
    }
    await reader.zeros(BLOCK_BYTES); // two zero blocks end an archive
    await reader.padding();
  } finally {
    await reader.chunks.return();
  }
}

/** zlib accepts zero bytes after the compressed data. They are refused here. */
async function* inflated(chunks) {
  let read = 0;
  let isRead = false;
  const counted = async function* () {
    for await (const chunk of chunks) {
      read += chunk.length;
      yield chunk;
    }
    isRead = true;
  };
  const stream = createGunzip();
  try {
    yield* pipeline(counted(), stream, () => undefined);
  } catch (error) {
    if (!String(error.code).startsWith('Z_')) throw error;
    throw broken('is not complete, valid gzip data');
  } finally {
    stream.destroy();
  }
  if (!isRead || stream.bytesWritten !== read) throw broken('is followed by other bytes');
}

class Reader {
  chunk = Buffer.alloc(0);

  constructor(chunks) {
    this.chunks = chunks;
  }

  /** Returns 1 to `max` bytes, or none at the end of the data. */
  async some(max) {
    while (this.chunk.length === 0) {
      const { value, done } = await this.chunks.next();
      if (done) return this.chunk;
      this.chunk = value;
    }
    const part = this.chunk.subarray(0, max);
    this.chunk = this.chunk.subarray(part.length);
    return part;
  }

  async *content(bytes) {
    for (let left = bytes; left > 0;) {
      const part = await this.some(left);
      if (part.length === 0) throw broken('ends early');
      left -= part.length;
      yield part;
    }
  }

  async exactly(bytes) {
    const parts = [];
    for await (const part of this.content(bytes)) parts.push(part);
    return Buffer.concat(parts);
  }

  async zeros(bytes) {
    if (!isZero(await this.exactly(bytes))) throw broken('has padding bytes that are not zero');
  }

  /** Reads to the end of the data, which is zeros. */
  async padding() {
    let bytes = 0;
    for (let part = await this.some(Infinity); part.length > 0; part = await this.some(Infinity)) {
      bytes += part.length;
      if (!isZero(part) || bytes > PADDING_BYTES_MAX)
        throw broken('has bytes after its end, other than padding of at most 1 MiB of zeros');
    }
  }

  /** Returns the path and size of the next file, or null at the end of the archive. */
  async header() {
    const block = await this.exactly(BLOCK_BYTES);
    if (isZero(block)) return null;
    const { type, path, size } = readHeader(block);
    if (type === '0') {
      if (/[^ -~]/.test(path))
        throw new Fault(quoted(path), 'has a path that is not ASCII, but no pax header');
      return { path, size };
    }
    if (size > PAX_BYTES_MAX)
      throw broken(`has a pax header of ${size} bytes. The limit is ${PAX_BYTES_MAX}`);
    const longPath = readPax(await this.exactly(size));
    await this.zeros(-size & (BLOCK_BYTES - 1));
    const file = readHeader(await this.exactly(BLOCK_BYTES));
    if (file.type !== '0') throw broken('has a pax header without a file after it');
    return { path: longPath, size: file.size };
  }
}

const isZero = (bytes) => bytes.every((byte) => byte === 0);

function readHeader(block) {
  const field = (offset, bytes) => block.toString('latin1', offset, offset + bytes);
  const text = (offset, bytes) => field(offset, bytes).replace(/\0.*$/s, '');
  let sum = 8 * 0x20;
  for (const [at, byte] of block.entries()) if (at < 148 || at >= 156) sum += byte;
  if (field(148, 8) !== `${sum.toString(8).padStart(6, '0')}\0 `) {
    throw broken('has a tar header with a wrong checksum');
  }
  if (field(257, 8) !== 'ustar\x0000')
    throw broken('has a tar header of another format. Packages of the store use the format ustar');
  const path = [text(345, 155), text(0, 100)].filter((part) => part !== '').join('/');
  const type = field(156, 1);
  if (type !== '0' && type !== 'x') {
    throw new Fault(quoted(path), 'is a link, a directory or a device. Only regular files are allowed');
  }
  if (!/^[0-7]{11}[\0 ]$/.test(field(124, 12))) throw new Fault(quoted(path), 'has an invalid size');
  return { type, path, size: parseInt(field(124, 11), 8) };
}

function readPax(record) {
  const text = record.toString('utf8');
  const [, length, path] = /^(\d+) path=(.+)\n$/s.exec(text) ?? [];
  if (path === undefined || length !== String(record.length) || !Buffer.from(text).equals(record)) {
    throw broken('has a pax header that is not exactly one path in UTF-8');
  }
  return path;
}

/** The paths of an archive. */
class Paths {
  /** Each file and directory with its spelling. Keys are equal for names that only case or normalization tells apart. */
  known = new Map();
  count = 0;

  add(path) {
    const fault = faultOfPath(path);
    if (fault !== null) throw new Fault(quoted(path), fault);
    if (++this.count > FILES_MAX) throw broken(`has more than ${FILES_MAX} files`);
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
      this.addPlace(path.slice(0, end), true);
    }
    this.addPlace(path, false);
  }

  addPlace(path, isDirectory) {
    const key = path.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
    const other = this.known.get(key);
    if (other === undefined) {
      this.known.set(key, { path, isDirectory });
    } else if (other.path !== path) {
      throw new Fault(quoted(path), `is the same as ${quoted(other.path)} on some file systems`);
    } else if (!isDirectory || !other.isDirectory) {
      throw new Fault(
        quoted(path),
        isDirectory === other.isDirectory ? 'appears twice' : 'is a file and a directory',
      );
    }
  }
}

function faultOfPath(path) {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `has a path of more than ${PATH_BYTES_MAX} bytes`;
  if (/[\p{Cc}\p{Cs}]/u.test(path)) return 'has a control character in its path';
  if (path.includes('\\')) return 'has a backslash in its path';
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return 'has an absolute path';
  for (const name of path.split('/')) {
    if (name === '') return 'has an empty name in its path';
    // Windows drops dots and spaces at the end of a name, so that ".. " would be "..".
    if (/^\.[. ]*$/.test(name) || name.trim() === '') return 'has a name of dots or spaces in its path';
    if (DEVICE.test(name)) return 'has the name of a Windows device in its path';
  }
  return null;
}

/** Quotes a path for a message, shortened and without invisible characters. */
export const quoted = (path) =>
  JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path).replace(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    '\uFFFD',
  );
