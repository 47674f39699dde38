/** What the headers of an entry contain. */
export interface ZipEntry {
  /** At most 65,535 bytes in UTF-8. */
  path: string;
  size_bytes: number;
  /** Unsigned. */
  crc32: number;
}

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END = 0x06054b50;

const LOCAL_HEADER_BYTES = 30;
const CENTRAL_HEADER_BYTES = 46;
const END_BYTES = 22;

/** Version 2.0 of the format, which has directories. */
const VERSION_NEEDED = 20;
/** The same version on Unix, so that readers interpret the attributes as Unix file modes. */
const VERSION_MADE = (3 << 8) | VERSION_NEEDED;
const NAMES_IN_UTF8 = 1 << 11;
const STORED = 0;
/** 1980-01-01 00:00, the earliest time that the format can express. */
const DAY = (1 << 5) | 1;
const TIME = 0;
/** A regular file that its owner can write and everybody can read. */
const ATTRIBUTES = (0o100644 << 16) >>> 0;

/** Returns the size of an archive. The limits are 4 GiB and 65,535 entries (APPNOTE.TXT, section 4.3). */
export const storedZipBytes = (entries: readonly ZipEntry[]): number =>
  entries.reduce(
    (sum, { path, size_bytes }) =>
      sum + LOCAL_HEADER_BYTES + CENTRAL_HEADER_BYTES + 2 * Buffer.byteLength(path) + size_bytes,
    END_BYTES,
  );

/**
 * Streams a zip archive of uncompressed entries. The same entries give the same bytes, independently of time, time zone and
 * versions. Readers can unpack the archive as a stream.
 *
 * Zip libraries either hold each entry in memory, or write its checksum after its content. In the second case, streaming
 * readers such as Java's `ZipInputStream` cannot find the end of an uncompressed entry.
 *
 * @param chunks the contents in the order of the entries. No chunk spans two entries.
 */
export async function* storedZip(
  entries: readonly ZipEntry[],
  chunks: AsyncIterator<Buffer, void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.path);
    central.push(centralHeader(entry, name, offset));
    yield localHeader(entry, name);
    for (let left = entry.size_bytes; left > 0;) {
      const { value: chunk } = await chunks.next();
      if (!chunk || chunk.length > left)
        throw new Error(`The content of ${entry.path} does not match its declared size.`);
      left -= chunk.length;
      yield chunk;
    }
    offset += LOCAL_HEADER_BYTES + name.length + entry.size_bytes;
  }
  const directory = Buffer.concat(central);
  yield directory;
  yield endRecord(entries.length, directory.length, offset);
}

function localHeader(entry: ZipEntry, name: Buffer): Buffer {
  const header = Buffer.alloc(LOCAL_HEADER_BYTES);
  header.writeUInt32LE(LOCAL_HEADER, 0);
  putCommon(header, 4, entry, name);
  return Buffer.concat([header, name]);
}

function centralHeader(entry: ZipEntry, name: Buffer, offset: number): Buffer {
  const header = Buffer.alloc(CENTRAL_HEADER_BYTES);
  header.writeUInt32LE(CENTRAL_HEADER, 0);
  header.writeUInt16LE(VERSION_MADE, 4);
  putCommon(header, 6, entry, name);
  header.writeUInt32LE(ATTRIBUTES, 38);
  header.writeUInt32LE(offset, 42);
  return Buffer.concat([header, name]);
}

/** Writes the part that both headers share, from the version needed to the length of the name. No extra fields. */
function putCommon(header: Buffer, at: number, { size_bytes, crc32 }: ZipEntry, name: Buffer): void {
  header.writeUInt16LE(VERSION_NEEDED, at);
  header.writeUInt16LE(NAMES_IN_UTF8, at + 2);
  header.writeUInt16LE(STORED, at + 4);
  header.writeUInt16LE(TIME, at + 6);
  header.writeUInt16LE(DAY, at + 8);
  header.writeUInt32LE(crc32, at + 10);
  header.writeUInt32LE(size_bytes, at + 14);
  header.writeUInt32LE(size_bytes, at + 18);
  header.writeUInt16LE(name.length, at + 22);
}

function endRecord(count: number, directoryBytes: number, directoryAt: number): Buffer {
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(directoryBytes, 12);
  end.writeUInt32LE(directoryAt, 16);
  return end;
}
