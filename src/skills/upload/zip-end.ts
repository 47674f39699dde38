/** Of the records at the end of an archive, see APPNOTE.TXT, sections 4.3.14 to 4.3.16. */
const END = Buffer.from('PK\x05\x06', 'latin1');
const END_BYTES = 22;
const LOCATOR = Buffer.from('PK\x06\x07', 'latin1');
const LOCATOR_BYTES = 20;
/** What the size of the zip64 record does not count: its signature, and itself. */
const UNCOUNTED_BYTES = 12;

const IN_ZIP64 = new Set([0xffff, 0xffffffff]);

/** The directory of an archive, as it was read. */
export interface ReadDirectory {
  /** Where it begins, and where its last entry ends. */
  from: number;
  to: number;
  entries: number;
}

/** What a record at the end says of the directory. */
interface Told {
  at: number;
  disks: number[];
  counts: number[];
  size: number;
  from: number;
}

/**
 * Whether the archive ends as its directory does: with all of its entries counted, and no bytes between. Programs find
 * the entries by the count, by the size, or by reading on, and would otherwise not find the same.
 */
export function endsWith(bytes: Buffer, { from, to, entries }: ReadDirectory): boolean {
  const end = endAt(bytes);
  const large = largeEndAt(bytes, end.at);
  const isSame = (told: number, is: number): boolean => told === is || (large !== null && IN_ZIP64.has(told));
  const isRight =
    end.disks.every((disk) => isSame(disk, 0)) &&
    end.counts.every((count) => isSame(count, entries)) &&
    isSame(end.size, to - from) &&
    isSame(end.from, from);
  if (!large) return isRight && to === end.at;
  return (
    isRight &&
    to === large.at &&
    large.disks.every((disk) => disk === 0) &&
    large.counts.every((count) => count === entries) &&
    large.size === to - from &&
    large.from === from &&
    large.endsAt === end.at - LOCATOR_BYTES
  );
}

/** As the library finds it: the last one that there is. */
function endAt(bytes: Buffer): Told {
  const at = bytes.lastIndexOf(END, bytes.length - END_BYTES);
  return {
    at,
    disks: [bytes.readUInt16LE(at + 4), bytes.readUInt16LE(at + 6)],
    counts: [bytes.readUInt16LE(at + 8), bytes.readUInt16LE(at + 10)],
    size: bytes.readUInt32LE(at + 12),
    from: bytes.readUInt32LE(at + 16),
  };
}

/** The record of zip64, which the library reads wherever there is one. */
function largeEndAt(bytes: Buffer, endAt: number): (Told & { endsAt: number }) | null {
  const locatorAt = endAt - LOCATOR_BYTES;
  if (locatorAt < 0 || !bytes.subarray(locatorAt, locatorAt + 4).equals(LOCATOR)) return null;
  const at = Number(bytes.readBigUInt64LE(locatorAt + 8));
  return {
    at,
    endsAt: at + UNCOUNTED_BYTES + Number(bytes.readBigUInt64LE(at + 4)),
    disks: [bytes.readUInt32LE(at + 16), bytes.readUInt32LE(at + 20)],
    counts: [Number(bytes.readBigUInt64LE(at + 24)), Number(bytes.readBigUInt64LE(at + 32))],
    size: Number(bytes.readBigUInt64LE(at + 40)),
    from: Number(bytes.readBigUInt64LE(at + 48)),
  };
}
