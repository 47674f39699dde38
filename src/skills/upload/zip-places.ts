import { type Entry, type LocalFileHeader, parseExtraFields } from 'yauzl';
import { shown } from '../format/skill-files';
import { SkillFault } from '../format/skill.fault';

const UNICODE_PATH_FIELD = 0x7075;
/** Before the path in that field: a version and a checksum. */
const UNICODE_PATH_FROM = 5;

const ZIP64_FIELD = 0x0001;
const IN_ZIP64 = 0xffffffff;

/** The checksum and the sizes stand behind the bytes. */
const DESCRIBED_BEHIND = 1 << 3;
const NAMES_IN_UTF8 = 1 << 11;
/** Encryption, of three kinds, a descriptor behind, and patches: not how hard it was compressed. */
const FLAGS_THAT_MATTER = (1 << 0) | DESCRIBED_BEHIND | (1 << 5) | (1 << 6) | (1 << 13);

/** The signature of a descriptor, which it may go without. */
const DESCRIPTOR = Buffer.from('PK\x07\x08', 'latin1');

/** An entry, and where its bytes lie in the archive. */
export interface PlacedEntry {
  entry: Entry;
  /** Without the slash at the end of a directory's. */
  path: string;
  isDirectory: boolean;
  from: number;
  dataFrom: number;
  to: number;
  /** Whether the header before its bytes tells its checksum and its sizes. */
  isDescribedBefore: boolean;
}

/** Of an entry's checksum and sizes. */
type Described = Pick<Entry, 'crc32' | 'compressedSize' | 'uncompressedSize'>;
type ExtraFields = Entry['extraFields'];

/** Holds what stands before the bytes of an entry to what the directory says: programs read the one or the other. */
export function isSameBefore(entry: Entry, local: LocalFileHeader, path: string): boolean {
  const extraFields = parseExtraFields(local.extraField);
  if (!local.fileName.equals(entry.fileNameRaw)) throw twoNames(path);
  checkNames(entry.fileNameRaw, extraFields, path);
  const isAscii = entry.fileNameRaw.every((byte) => byte < 0x80);
  const flags = isAscii ? FLAGS_THAT_MATTER : FLAGS_THAT_MATTER | NAMES_IN_UTF8;
  if (((entry.generalPurposeBitFlag ^ local.generalPurposeBitFlag) & flags) !== 0) throw otherwise(path);
  if (entry.compressionMethod !== local.compressionMethod) throw otherwise(path);
  const told = describedBy(local, extraFields);
  const members = ['crc32', 'compressedSize', 'uncompressedSize'] as const;
  if (members.every((member) => told[member] === entry[member])) return true;
  const isLeftOut = members.every((member) => told[member] === entry[member] || told[member] === 0);
  if (!isLeftOut || !isDescribedBehind(entry)) throw otherwise(path);
  return false;
}

/** That no field has another path, as which some programs would unpack the entry. */
export function checkNames(name: Buffer, extraFields: ExtraFields, path: string): void {
  for (const { id, data } of extraFields) {
    if (id === UNICODE_PATH_FIELD && !data.subarray(UNICODE_PATH_FROM).equals(name)) throw twoNames(path);
  }
}

/**
 * Each entry has bytes of its own, which follow those before, from the beginning of the archive to its directory:
 * otherwise a few could stand for many files, or files be hidden from those who go by the directory.
 */
export function checkPlaces(bytes: Buffer, entries: readonly PlacedEntry[], directoryAt: number): void {
  const places = entries.toSorted((one, other) => one.from - other.from);
  const first = places[0]?.from ?? directoryAt;
  if (first !== 0) throw new SkillFault('The archive begins with bytes that belong to no file of it');
  for (const [index, place] of places.entries()) {
    const next = places[index + 1]?.from ?? directoryAt;
    if (place.to > next)
      throw new SkillFault(`${shown(place.path)} overlaps with other parts of the archive`);
    if (isEndOf(bytes.subarray(place.to, next), place)) continue;
    throw new SkillFault(`${shown(place.path)} is followed by bytes that belong to no file of the archive`);
  }
}

/** Whether that is nothing, or the descriptor of the entry, in one of the four forms that there are. */
function isEndOf(bytes: Buffer, { entry, isDescribedBefore }: PlacedEntry): boolean {
  if (bytes.length === 0) return isDescribedBefore;
  if (!isDescribedBehind(entry)) return false;
  const isSigned = [16, 24].includes(bytes.length);
  if (isSigned && !bytes.subarray(0, DESCRIPTOR.length).equals(DESCRIPTOR)) return false;
  const told = isSigned ? bytes.subarray(DESCRIPTOR.length) : bytes;
  const { crc32, compressedSize, uncompressedSize } = entry;
  if (told.length === 12) {
    return (
      told.readUInt32LE(0) === crc32 &&
      told.readUInt32LE(4) === compressedSize &&
      told.readUInt32LE(8) === uncompressedSize
    );
  }
  return (
    told.length === 20 &&
    told.readUInt32LE(0) === crc32 &&
    told.readBigUInt64LE(4) === BigInt(compressedSize) &&
    told.readBigUInt64LE(12) === BigInt(uncompressedSize)
  );
}

const isDescribedBehind = ({ generalPurposeBitFlag }: Entry): boolean =>
  (generalPurposeBitFlag & DESCRIBED_BEHIND) !== 0;

/** Sizes that stand in the field of zip64 are there in this order. */
function describedBy(
  { crc32, compressedSize, uncompressedSize }: LocalFileHeader,
  extraFields: ExtraFields,
): Described {
  const field = extraFields.find(({ id }) => id === ZIP64_FIELD)?.data ?? Buffer.alloc(0);
  let at = 0;
  const large = (size: number): number => {
    if (size !== IN_ZIP64) return size;
    at += 8;
    return Number(field.readBigUInt64LE(at - 8));
  };
  return { crc32, uncompressedSize: large(uncompressedSize), compressedSize: large(compressedSize) };
}

const twoNames = (path: string): SkillFault =>
  new SkillFault(`${shown(path)} has another name in another place of the archive`);

const otherwise = (path: string): SkillFault =>
  new SkillFault(
    `${shown(path)} has another size, checksum, compression or encryption in another place of the archive`,
  );
