import { crc32, deflateRawSync } from 'node:zlib';

/** An entry of an archive, as a hostile hand may write it. What is not given is as it should be. */
export interface RawEntry {
  name: string | Buffer;
  content?: string | Buffer;
  /** 0 stored, 8 deflated; as its bytes are, unless `packed` says otherwise. */
  method?: number;
  /** In place of the bytes that the content comes to. */
  packed?: Buffer;
  flags?: number;
  crc?: number;
  /** What it says that it is unpacked. */
  size?: number;
  /** In stat.h's form, of Unix. */
  mode?: number;
  /** The name where its bytes lie. */
  localName?: string;
  /** Where it says that its bytes lie. */
  offset?: number;
  extra?: Buffer;
  /** What stands before its bytes in place of the same. */
  local?: Partial<Common> & { extra?: Buffer };
  /** Follows its bytes. */
  behind?: Buffer;
}

/** What the end says of the directory, in place of what is so. */
interface RawEnd {
  comment?: string;
  countHere?: number;
  count?: number;
  size?: number;
  from?: number;
  /** Stands between the directory and the end. */
  between?: Buffer;
}

const UTF8 = 1 << 11;

/** Writes a zip archive byte by byte. */
export function zipOf(entries: readonly RawEntry[], told: RawEnd = {}): Buffer {
  const parts: Buffer[] = [];
  const central: Buffer[] = [];
  let at = 0;
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? '');
    const method = entry.method ?? 0;
    const packed = entry.packed ?? (method === 8 ? deflateRawSync(content) : content);
    const common = commonOf(entry, content, packed, method);
    const name = Buffer.from(entry.name);
    const localName = Buffer.from(entry.localName ?? entry.name);
    const localExtra = entry.local?.extra ?? Buffer.alloc(0);
    const inPlace = { ...common, ...entry.local };
    const local = Buffer.concat([
      header(30, 0x04034b50, inPlace, 4, localName.length, localExtra.length),
      localName,
      localExtra,
      packed,
      entry.behind ?? Buffer.alloc(0),
    ]);
    const extra = entry.extra ?? Buffer.alloc(0);
    const listed = header(46, 0x02014b50, common, 6, name.length, extra.length);
    listed.writeUInt16LE((3 << 8) | 20, 4);
    listed.writeUInt32LE(((entry.mode ?? 0) << 16) >>> 0, 38);
    listed.writeUInt32LE(entry.offset ?? at, 42);
    central.push(listed, name, extra);
    parts.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(central);
  const { comment = '', between = Buffer.alloc(0) } = told;
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(told.countHere ?? entries.length, 8);
  end.writeUInt16LE(told.count ?? entries.length, 10);
  end.writeUInt32LE(told.size ?? directory.length, 12);
  end.writeUInt32LE(told.from ?? at, 16);
  end.writeUInt16LE(comment.length, 20);
  return Buffer.concat([...parts, directory, between, end, Buffer.from(comment)]);
}

/** A field of an entry. */
export function extraField(id: number, data: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(id, 0);
  head.writeUInt16LE(data.length, 2);
  return Buffer.concat([head, data]);
}

interface Common {
  flags: number;
  method: number;
  crc: number;
  packed: number;
  size: number;
}

const commonOf = (entry: RawEntry, content: Buffer, packed: Buffer, method: number): Common => ({
  flags: entry.flags ?? UTF8,
  method,
  crc: entry.crc ?? crc32(content),
  packed: packed.length,
  size: entry.size ?? content.length,
});

function header(
  length: number,
  signature: number,
  { flags, method, crc, packed, size }: Common,
  at: number,
  nameLength: number,
  extraLength: number,
): Buffer {
  const bytes = Buffer.alloc(length);
  bytes.writeUInt32LE(signature, 0);
  bytes.writeUInt16LE(20, at);
  bytes.writeUInt16LE(flags, at + 2);
  bytes.writeUInt16LE(method, at + 4);
  bytes.writeUInt32LE(crc, at + 10);
  bytes.writeUInt32LE(packed, at + 14);
  bytes.writeUInt32LE(size, at + 18);
  bytes.writeUInt16LE(nameLength, at + 22);
  bytes.writeUInt16LE(extraLength, at + 24);
  return bytes;
}
