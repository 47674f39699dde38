/** What the headers of an entry tell. */
export interface ZipEntry {
  /** Without what a zip archive cannot have: at most 65,535 bytes in UTF-8. */
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

/** 2.0: directories, and nothing newer. */
const VERSION_NEEDED = 20;
/** The same, made on Unix, so that the attributes are those of a file there. */
const VERSION_MADE = (3 << 8) | VERSION_NEEDED;
const NAMES_IN_UTF8 = 1 << 11;
const STORED = 0;
/** 1980-01-01, the first day that there is; at 00:00. */
const DAY = (1 << 5) | 1;
const TIME = 0;
/** A regular file that its owner may write, and everybody read. */
const ATTRIBUTES = (0o100644 << 16) >>> 0;

/** How long the archive of these entries is. At most 4 GiB and 65,535 entries, see APPNOTE.TXT, section 4.3. */
export const storedZipBytes = (entries: readonly ZipEntry[]): number =>
  entries.reduce(
    (sum, { path, size_bytes }) =>
      sum + LOCAL_HEADER_BYTES + CENTRAL_HEADER_BYTES + 2 * Buffer.byteLength(path) + size_bytes,
    END_BYTES,
  );

/**
 * A zip archive of entries that are stored as they are: of the same ones, the same bytes, whatever the time, its zone
 * and the version of anything. It is made piece by piece, and can be unpacked as it comes.
 *
 * Libraries write an entry as a whole, or with its checksum behind it, which leaves those who unpack as it comes, such
 * as Java's `ZipInputStream`, unable to tell where it ends.
 *
 * @param pieces of the contents, in the order of the entries, none of two of them
 */
export async function* storedZip(
  entries: readonly ZipEntry[],
  pieces: AsyncIterator<Buffer, void, undefined>,
): AsyncGenerator<Buffer, void, undefined> {
  const central: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.path);
    central.push(centralHeader(entry, name, offset));
    yield localHeader(entry, name);
    for (let left = entry.size_bytes; left > 0;) {
      const { value: piece } = await pieces.next();
      if (!piece || piece.length > left) throw new Error(`The content of ${entry.path} is not of its size.`);
      left -= piece.length;
      yield piece;
    }
    offset += LOCAL_HEADER_BYTES + name.length + entry.size_bytes;
  }
  const directory = Buffer.concat(central);
  yield directory;
  yield endOf(entries.length, directory.length, offset);
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

/** What both headers have, from the version that is needed to the length of the name. No extra fields. */
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

function endOf(count: number, directoryBytes: number, directoryAt: number): Buffer {
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32LE(END, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(directoryBytes, 12);
  end.writeUInt32LE(directoryAt, 16);
  return end;
}
