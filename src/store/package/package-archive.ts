import { pipeline } from 'node:stream';
import { crc32, createGunzip } from 'node:zlib';
import {
  ARCHIVE_FILES_MAX,
  ArchiveError,
  BLOCK_BYTES,
  checkPath,
  paddingOf,
  readHeader,
  readPax,
  tarHeaders,
} from './tar-header';

export { ARCHIVE_FILES_MAX, ArchiveError } from './tar-header';

/** A file to pack. */
export interface ArchiveEntry {
  /** Relative, with `/` between names. At most 4,096 bytes in UTF-8. */
  path: string;
  /** Less than 8 GiB. */
  size_bytes: number;
  content: () => AsyncIterable<Buffer>;
}

/** A file of an archive that is being read. */
export interface ArchivedFile {
  path: string;
  size_bytes: number;
  /** Can be read once, and only before the next file. */
  content: AsyncIterable<Buffer>;
}

/** Magic number, method deflate, no flags, no time, unknown operating system (RFC 1952). */
const GZIP_HEADER = Buffer.from('1f8b08000000000000ff', 'hex');
const GZIP_TRAILER_BYTES = 8;
/** The longest stored block of deflate (RFC 1951, section 3.2.4). */
const STORED_BYTES = 65_535;
const STORED_HEADER_BYTES = 5;

/** Two zero blocks end an archive. */
const END_BYTES = 2 * BLOCK_BYTES;
/** GNU tar pads archives to 10 KiB. More zeros are rejected, because a small archive could unpack to zeros for hours. */
const PADDING_BYTES_MAX = 1024 * 1024;

/**
 * Streams a reproducible tar.gz: the same entries give the same bytes, independently of time, system and versions. The
 * data is stored without compression, because the output of zlib differs between its versions.
 *
 * Throws `ArchiveError` for an unsafe or duplicate path, for more than 10,000 entries, for a file of 8 GiB or more, and
 * for a content that does not match its declared size.
 */
export async function* packArchive(
  entries: readonly ArchiveEntry[],
): AsyncGenerator<Buffer, void, undefined> {
  const total = tarBytes(entries);
  yield GZIP_HEADER;
  let crc = 0;
  let written = 0;
  let blockLeft = 0;
  for await (let chunk of tar(entries)) {
    crc = crc32(chunk, crc);
    while (chunk.length > 0) {
      if (blockLeft === 0) {
        blockLeft = Math.min(STORED_BYTES, total - written);
        yield storedHeader(blockLeft, written + blockLeft === total);
      }
      const part = chunk.subarray(0, blockLeft);
      yield part;
      blockLeft -= part.length;
      written += part.length;
      chunk = chunk.subarray(part.length);
    }
  }
  const trailer = Buffer.alloc(GZIP_TRAILER_BYTES);
  trailer.writeUInt32LE(crc, 0);
  trailer.writeUInt32LE(total % 2 ** 32, 4);
  yield trailer;
}

/** Yields the chunks of a stream until a signal is aborted, then throws the reason of the signal. */
export async function* untilAborted(
  signal: AbortSignal,
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of bytes) {
    signal.throwIfAborted();
    yield chunk;
  }
  signal.throwIfAborted();
}

/** Returns the size of the archive in bytes, without reading any content. Errors: those of `packArchive`. */
export function archiveBytes(entries: readonly ArchiveEntry[]): number {
  const bytes = tarBytes(entries);
  const blocks = Math.ceil(bytes / STORED_BYTES);
  return GZIP_HEADER.length + blocks * STORED_HEADER_BYTES + bytes + GZIP_TRAILER_BYTES;
}

function tarBytes(entries: readonly ArchiveEntry[]): number {
  if (entries.length > ARCHIVE_FILES_MAX) throw tooManyFiles();
  const paths = new Set<string>();
  let bytes = END_BYTES;
  for (const entry of entries) {
    addPath(paths, entry.path);
    bytes += tarHeaders(entry).length + entry.size_bytes + paddingOf(entry.size_bytes);
  }
  return bytes;
}

async function* tar(entries: readonly ArchiveEntry[]): AsyncGenerator<Buffer, void, undefined> {
  for (const entry of entries) {
    yield tarHeaders(entry);
    let left = entry.size_bytes;
    for await (const chunk of entry.content()) {
      left -= chunk.length;
      if (left < 0) break;
      yield chunk;
    }
    if (left !== 0) {
      throw new ArchiveError(
        `The content of ${JSON.stringify(entry.path)} does not match its declared size.`,
      );
    }
    yield Buffer.alloc(paddingOf(entry.size_bytes));
  }
  yield Buffer.alloc(END_BYTES);
}

function storedHeader(bytes: number, isLast: boolean): Buffer {
  const header = Buffer.alloc(STORED_HEADER_BYTES);
  header.writeUInt8(isLast ? 1 : 0, 0);
  header.writeUInt16LE(bytes, 1);
  header.writeUInt16LE(~bytes & 0xffff, 3);
  return header;
}

/**
 * Reads an archive in constant memory. The content of each file must be read before the next file, or is skipped. The
 * archive is known to be complete only when the iteration has ended.
 *
 * Accepts any gzip compression of a ustar archive of regular files. Throws `ArchiveError` for links, devices and
 * directories, for unsafe or duplicate paths, for more than 10,000 files, and for an archive that is truncated, damaged,
 * or followed by other bytes. The sizes come from the archive itself: check them against a limit before reading a
 * content.
 */
export async function* unpackArchive(
  bytes: AsyncIterable<Buffer>,
): AsyncGenerator<ArchivedFile, void, undefined> {
  const reader = new TarReader(gunzip(bytes));
  try {
    const paths = new Set<string>();
    for (let header = await reader.header(); header !== null; header = await reader.header()) {
      if (paths.size === ARCHIVE_FILES_MAX) throw tooManyFiles();
      addPath(paths, header.path);
      const content = new FileContent(reader, header.size_bytes);
      yield { ...header, content };
      await content.skip();
      await reader.zeros(paddingOf(header.size_bytes));
    }
    await reader.zeros(BLOCK_BYTES); // the second of the two blocks at the end
    await reader.padding();
  } finally {
    await reader.close();
  }
}

/** Throws for an unsafe path and for a duplicate one. */
function addPath(paths: Set<string>, path: string): void {
  checkPath(path);
  if (paths.has(path)) throw new ArchiveError(`The path ${JSON.stringify(path)} appears twice.`);
  paths.add(path);
}

const tooManyFiles = (): ArchiveError =>
  new ArchiveError(`An archive can have at most ${ARCHIVE_FILES_MAX} files.`);

/** Decompresses gzip data. Unlike zlib alone, rejects zero bytes after the compressed data. */
async function* gunzip(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let read = 0;
  let isRead = false;
  const counted = async function* (): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of bytes) {
      read += chunk.length;
      yield chunk;
    }
    isRead = true;
  };
  const stream = createGunzip();
  try {
    yield* pipeline(counted(), stream, () => undefined) as AsyncIterable<Buffer>;
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    throw new ArchiveError('The archive is not complete, valid gzip data.', { cause: error });
  } finally {
    stream.destroy();
  }
  if (!isRead || stream.bytesWritten !== read) throw new ArchiveError('Unexpected bytes follow the archive.');
}

/** Reads the parts of a tar archive sequentially. */
class TarReader {
  private chunk: Buffer = Buffer.alloc(0);

  constructor(private readonly chunks: AsyncGenerator<Buffer, void, undefined>) {}

  /** Returns the header of the next file, or null at the end. The size is that of the content that follows. */
  async header(): Promise<{ path: string; size_bytes: number } | null> {
    const block = await this.exactly(BLOCK_BYTES);
    if (isZero(block)) return null;
    const { kind, path, size_bytes } = readHeader(block);
    if (kind === 'file') {
      if (/[^ -~]/.test(path)) throw new ArchiveError('A path that is not ASCII needs a pax header.');
      return { path, size_bytes };
    }
    const longPath = readPax(await this.exactly(size_bytes));
    await this.zeros(paddingOf(size_bytes));
    const file = readHeader(await this.exactly(BLOCK_BYTES));
    if (file.kind !== 'file') throw new ArchiveError('A pax header follows another.');
    return { path: longPath, size_bytes: file.size_bytes };
  }

  /** Returns 1 to `max` bytes, or none at the end of the data. */
  async some(max: number): Promise<Buffer> {
    while (this.chunk.length === 0) {
      const { value, done } = await this.chunks.next();
      if (done) return this.chunk;
      this.chunk = value;
    }
    const part = this.chunk.subarray(0, max);
    this.chunk = this.chunk.subarray(part.length);
    return part;
  }

  private async exactly(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let left = bytes; left > 0;) {
      const part = await this.some(left);
      if (part.length === 0) throw truncated();
      parts.push(part);
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  async zeros(bytes: number): Promise<void> {
    if (!isZero(await this.exactly(bytes))) throw new ArchiveError('Padding in the archive is not zero.');
  }

  /** Reads the rest of the data, which must be zeros. */
  async padding(): Promise<void> {
    let bytes = 0;
    for (let part = await this.some(Infinity); part.length > 0; part = await this.some(Infinity)) {
      bytes += part.length;
      if (!isZero(part) || bytes > PADDING_BYTES_MAX) {
        throw new ArchiveError('Unexpected bytes follow the archive.');
      }
    }
  }

  async close(): Promise<void> {
    await this.chunks.return();
  }
}

const truncated = (): ArchiveError => new ArchiveError('The archive ends early.');

const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0);

/** The content of a file in an archive. */
class FileContent implements AsyncIterable<Buffer> {
  private isSkipped = false;

  constructor(
    private readonly reader: TarReader,
    private left: number,
  ) {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, undefined> {
    for (;;) {
      if (this.isSkipped) {
        throw new Error('The content of an archived file must be read before the next file.');
      }
      if (this.left === 0) return;
      yield await this.next();
    }
  }

  /** Reads the rest of the content, which the consumer has not read. */
  async skip(): Promise<void> {
    this.isSkipped = true;
    while (this.left > 0) await this.next();
  }

  private async next(): Promise<Buffer> {
    const chunk = await this.reader.some(this.left);
    if (chunk.length === 0) throw truncated();
    this.left -= chunk.length;
    return chunk;
  }
}
