import { crc32, deflateRawSync } from 'node:zlib';

/** An entry of an archive that may be hostile. Absent members get correct values. */
export interface RawEntry {
  name: string | Buffer;
  content?: string | Buffer;
  /** 0 stored, 8 deflated. */
  method?: number;
  /** Replaces the bytes of the content. */
  packed?: Buffer;
  flags?: number;
  crc?: number;
  /** The declared size after unpacking. */
  size?: number;
  /** The mode on Unix (stat.h). */
  mode?: number;
  /** The extra fields in the central directory. */
  extra?: Buffer;
  /** The system of the archiver (`version made by`). Default: Unix. */
  host?: number;
}

const UTF8 = 1 << 11;

/** Writes a zip archive byte by byte. */
export function zipOf(entries: readonly RawEntry[]): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const content = Buffer.from(entry.content ?? '');
    const packed = entry.packed ?? (entry.method === 8 ? deflateRawSync(content) : content);
    const local = Buffer.concat([header(30, 0x04034b50, 4, entry, content, packed, name), name, packed]);
    const listed = header(46, 0x02014b50, 6, entry, content, packed, name);
    const { extra = Buffer.alloc(0), host = 3 } = entry;
    listed.writeUInt16LE((host << 8) | 20, 4);
    listed.writeUInt16LE(extra.length, 30);
    listed.writeUInt32LE(((entry.mode ?? 0) << 16) >>> 0, 38);
    listed.writeUInt32LE(at, 42);
    central.push(listed, name, extra);
    parts.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}

/** Writes the fields that both headers share. */
function header(
  length: number,
  signature: number,
  at: number,
  { flags = UTF8, method = 0, crc, size }: RawEntry,
  content: Buffer,
  packed: Buffer,
  name: Buffer,
): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUInt32LE(signature, 0);
  bytes.writeUInt16LE(20, at);
  bytes.writeUInt16LE(flags, at + 2);
  bytes.writeUInt16LE(method, at + 4);
  bytes.writeUInt32LE(crc ?? crc32(content), at + 10);
  bytes.writeUInt32LE(packed.length, at + 14);
  bytes.writeUInt32LE(size ?? content.length, at + 18);
  bytes.writeUInt16LE(name.length, at + 22);
  return bytes;
}

/** The Unicode path that Info-ZIP adds to a name in another encoding (extra field 0x7075). */
export function unicodePath(path: string, name: Buffer): Buffer {
  const field = Buffer.alloc(9);
  field.writeUInt16LE(0x7075, 0);
  field.writeUInt16LE(5 + Buffer.byteLength(path), 2);
  field.writeUInt8(1, 4);
  field.writeUInt32LE(crc32(name), 5);
  return Buffer.concat([field, Buffer.from(path)]);
}
